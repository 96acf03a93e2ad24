// Schedules of re-validations on a real Temporal: next times, overlap, catch-up, backfill (spec: orchestration
// "Re-validation"). The scripted CLI answers.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  backfillSchedule,
  createSchedule,
  deleteSchedule,
  listSchedules,
  readSchedule,
  triggerSchedule,
  updateSchedule,
  type ScheduleRequest,
} from '../../bounded/revalidation-schedules.ts';
import { cancelRevalidation, listRevalidations } from '../../bounded/revalidations.ts';
import { nextTimes, readCron } from '../../domain/revalidation/cron.ts';
import { scheduleWorkflowId } from '../../domain/revalidation/contract.ts';
import { ada, until } from '../support/planner.ts';
import { startTestRevalidations, testMachine, type TestRevalidations } from '../support/revalidation.ts';

const long = 120_000;
const elsewhere = { machine: 'another', env: {} };
let runs: TestRevalidations;
beforeAll(async () => {
  runs = await startTestRevalidations();
  await runs.startHost();
});
afterAll(async () => {
  expect(runs.living()).toEqual([]);
  await runs.close();
});

afterEach(async () => {
  for (const { id } of await listSchedules(db(), ada, undefined)) await remove(id);
});

const db = () => runs.planner.database;
const create = (more: Partial<ScheduleRequest> = {}) =>
  createSchedule(db(), ada, { repo: 'shop', host: 'codex', role: 'deep_reasoner', cron: '17 3 * * 1', ...more }, { place: elsewhere });
const synced = (id: string) =>
  until('the engine to have it', async () => {
    const now = await readSchedule(db(), ada, id);
    return now.in_effect && now;
  }, 40_000);
const engine = (id: string) => runs.planner.client.schedule.getHandle(scheduleWorkflowId(id));
const validations = async () => (await listRevalidations(db(), ada, { limit: 50 }, elsewhere)).items;
const ended = (count: number) =>
  until(`${count} re-validations to end`, async () => {
    const items = await validations();
    return items.length === count && items.every((one) => one.ended_at !== null) && items;
  }, long);
const remove = async (id: string): Promise<void> => {
  await deleteSchedule(db(), ada, id);
  await until('the engine to forget it', () => engine(id).describe().then(() => false, () => true));
};

describe('a schedule in the engine', () => {
  test('has the times that the cron expression says, and the policies: skip, a catch-up window, a jitter', async () => {
    const { id, next_times: foreseen } = await create({ jitter_seconds: 0, catchup_seconds: 3_600 });
    const row = await synced(id);
    const described = await engine(id).describe();
    const read = readCron('17 3 * * 1');
    const wanted = read.ok ? nextTimes(read.cron, new Date(), 5).map((time) => time.toISOString()) : [];
    expect(described.info.nextActionTimes.slice(0, 5).map((time) => time.toISOString())).toEqual(wanted);
    expect(row.next_times).toEqual(wanted);
    expect(foreseen).toEqual(wanted);
    expect(described.policies).toMatchObject({ overlap: 'SKIP', catchupWindow: 3_600_000, pauseOnFailure: false });
    expect(described.action).toMatchObject({ workflowType: 'revalidateRunner', args: [{ schedule: id }] });

    await updateSchedule(db(), ada, id, { cron: '@daily', jitter_seconds: 600, note: 'nightly' });
    expect(await synced(id)).toMatchObject({ cron: '0 0 * * *', jitter_seconds: 600, note: 'nightly' });
    const changed = await engine(id).describe();
    expect(changed.spec.jitter).toBe(600_000);
    expect(JSON.stringify(changed.raw)).not.toContain('nightly');
    for (const time of changed.info.nextActionTimes) {
      expect(time.getTime() % 86_400_000).toBeLessThanOrEqual(600_000);
    }
  });

  test('is paused and goes on', async () => {
    const { id } = await create({ paused: true });
    expect(await synced(id)).toMatchObject({ paused: true, next_times: [] });
    expect((await engine(id).describe()).state.paused).toBe(true);
    await updateSchedule(db(), ada, id, { paused: false });
    expect((await synced(id)).next_times.length).toBeGreaterThan(0);
    expect((await engine(id).describe()).state.paused).toBe(false);
  });

  test('is made again where the engine has lost it', async () => {
    const { id } = await create();
    await synced(id);
    await engine(id).delete();
    await db().query(`UPDATE revalidation_schedules SET looked_at = now() - interval '2 minutes' WHERE id = $1`, [id]);
    await until('the engine to have it again', () => engine(id).describe().then(() => true, () => false));
  });

  test('one a role; deleted, the role may have another one, and it is shown no more', async () => {
    const first = await create();
    await expect(create()).rejects.toMatchObject({ code: 'already_exists' });
    await remove(first.id);
    await expect(readSchedule(db(), ada, first.id)).rejects.toMatchObject({ code: 'not_found' });
    const second = await create();
    expect((await listSchedules(db(), ada, 'WEB')).map(({ id }) => id)).toEqual([second.id]);
    await synced(second.id);
  });
});

describe('what cannot be scheduled is said at once, and nothing is scheduled', () => {
  const refused: [string, Partial<ScheduleRequest>, RegExp][] = [
    ['a schedule that cannot be parsed', { cron: 'every monday' }, /it has 2 fields.*Give five fields/],
    ['a time that never comes', { cron: '0 0 31 2 *' }, /it never comes/],
    ['a jitter of a day', { jitter_seconds: 86_400 }, /jitter_seconds must be a whole number from 0 to 3600/],
    ['a budget too high', { max_budget_usd: 11 }, /at most 10/],
    ['several at once', { cron: 'x', role: 'king', catchup_seconds: 1 }, /it has 1 fields[^]*catchup_seconds[^]*role must be/],
  ];
  test.each(refused)('%s', async (_, request, why) => {
    await expect(create(request)).rejects.toMatchObject({ code: 'invalid_argument', message: expect.stringMatching(why) });
    expect(await listSchedules(db(), ada, undefined)).toEqual([]);
  });

  test('a role that is not verified, where the repository is at hand', async () => {
    const asked = { repo: 'shop', host: 'codex', role: 'fast_worker', cron: '@daily' };
    const work = createSchedule(db(), ada, asked, { place: { machine: testMachine, env: runs.env } });
    await expect(work).rejects.toThrow(/No identity is configured for fast_worker on codex/);
    expect(await listSchedules(db(), ada, undefined)).toEqual([]);
  });

  test('nobody without the right schedules, changes or sees one', async () => {
    const { id } = await create();
    const eve = { subject: 'eve', kind: 'human' } as const;
    const reader = { ...ada, actions: ['bounded_run.read', 'project.read'] as const };
    await expect(readSchedule(db(), eve, id)).rejects.toMatchObject({ code: 'not_found' });
    await expect(triggerSchedule(db(), eve, id)).rejects.toMatchObject({ code: 'not_found' });
    await expect(deleteSchedule(db(), { ...reader, actions: [...reader.actions] }, id)).rejects.toMatchObject({ code: 'forbidden' });
    await synced(id);
  });
});

describe('what a schedule starts', () => {
  test('triggered, it re-validates; triggered again meanwhile, that is skipped; its claim names the schedule', async () => {
    runs.play('slow-success', 'slow-success', 'success');
    const { id } = await create();
    await synced(id);
    await triggerSchedule(db(), ada, id);
    const [first] = await until('the first', async () => {
      const items = await validations();
      return items.length > 0 && items;
    });
    await triggerSchedule(db(), ada, id);
    await until('the second to be skipped', async () => (await engine(id).describe()).info.numActionsSkippedOverlap > 0);
    const items = await ended(1);
    expect(items[0]).toMatchObject({ validation_id: first!.validation_id, schedule: id, claim: 'holds', asked_by: 'ada' });
    expect((await engine(id).describe()).info.numActionsTaken).toBe(1);
  }, long);

  test('backfilled, it makes up for each time that has passed, one after another', async () => {
    // Quickly over, and nothing is paid: the identity is not there.
    const { id } = await create({ role: 'fast_worker', cron: '0 12 * * *' });
    await synced(id);
    const day = 86_400_000;
    const noon = Math.floor(Date.now() / day) * day - day + 43_200_000;
    const from = new Date(noon - 2 * day - 60_000).toISOString();
    const to = new Date(noon - day + 60_000).toISOString();
    expect((await backfillSchedule(db(), ada, id, { from, to })).times).toHaveLength(2);
    const items = await ended(3);
    expect(items.slice(0, 2).map(({ status, role, schedule }) => [status, role, schedule])).toEqual([
      ['rejected', 'fast_worker', id],
      ['rejected', 'fast_worker', id],
    ]);
    await expect(backfillSchedule(db(), ada, id, { from: to, to: from })).rejects.toThrow(/must be earlier/);
    const month = new Date(noon - 30 * day).toISOString();
    await expect(backfillSchedule(db(), ada, id, { from: month, to })).rejects.toThrow(/more than 10 times/);
    const soon = new Date(Date.now() + day).toISOString();
    await expect(backfillSchedule(db(), ada, id, { from, to: soon })).rejects.toThrow(/future/);
  }, long);

  test('spec: bounded-claude 9.7: while one that somebody asked for is under way, a time of the role is skipped', async () => {
    runs.play('idle');
    const validation = await runs.validate();
    const { id } = await create();
    await synced(id);
    await triggerSchedule(db(), ada, id);
    await until('the engine to have started it', async () => (await engine(id).describe()).info.numActionsTaken > 0);
    const [action] = (await engine(id).describe()).info.recentActions;
    const { workflow } = (action as unknown as { action: { workflow: { workflowId: string } } }).action;
    expect(await runs.planner.client.workflow.getHandle(workflow.workflowId).result()).toBeNull();
    await cancelRevalidation(db(), ada, validation);
    await runs.concluded(validation);
    expect(await validations()).toHaveLength(4);
  }, long);
});

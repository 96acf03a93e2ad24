// Re-validations and their schedules through REST and the client (spec: bounded-claude 9, planner 5, 10).

import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApi, type Api } from '../api/server.ts';
import { createRest, type Rest } from '../client/index.ts';
import { systemActor } from '../domain/actor.ts';
import { reportSchema } from '../domain/revalidation/report.ts';
import { transaction } from '../store/database.ts';
import { listen, type Listener } from '../store/listener.ts';
import { countClaims } from '../store/revalidations.ts';
import { projectByKey } from '../store/projects.ts';
import { bindRole } from '../store/role-bindings.ts';
import { createSubject, createToken } from '../store/tokens.ts';
import { measureFacts } from '../telemetry/metrics.ts';
import { measureClaims } from '../telemetry/revalidation-metrics.ts';
import { until } from './support/planner.ts';
import { startTestRevalidations, type TestRevalidations } from './support/revalidation.ts';

const long = 120_000;
const people = ['ada', 'viewer', 'stranger'] as const;
let runs: TestRevalidations;
let api: Api;
let listener: Listener;
const registry = new Registry();
const rest = {} as Record<(typeof people)[number], Rest>;

beforeAll(async () => {
  runs = await startTestRevalidations();
  await runs.startHost({ tidyMs: 300 });
  const { database } = runs.planner;
  measureFacts(registry, database.facts);
  listener = await listen(database.url);
  api = await startApi({
    database,
    listener,
    engine: runs.planner.engine,
    port: 0,
    model: { name: 'none', demo: true },
    checkAnswers: true,
    temporal: { ui: 'http://127.0.0.1:8233', namespace: 'default' },
  });
  await transaction(database, async (tx) => {
    const project = await projectByKey(tx, 'WEB');
    for (const subject of ['viewer', 'stranger']) await createSubject(tx, { subject, kind: 'human', name: subject });
    await bindRole(tx, systemActor, { subject: 'viewer', role: 'viewer', project_id: project.id });
    for (const subject of people) {
      const { token } = await createToken(tx, { subject, expires_at: new Date(Date.now() + 3_600_000) });
      rest[subject] = createRest({ address: api.address, token });
    }
  });
});
afterAll(async () => {
  await api.close();
  await listener.close();
  await runs.close();
});

const asked = { repo: 'shop', host: 'codex', role: 'deep_reasoner' } as const;
const ended = (id: string) =>
  until(`the end of ${id}`, async () => {
    const now = await rest.ada.revalidation(id);
    return now.ended_at !== null && now;
  }, 60_000);
const code = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'ok',
    (error: { code?: string }) => error.code,
  );

describe('a re-validation', () => {
  let id: string;

  test('is started, followed, reported; its failures are acknowledged', async () => {
    runs.play('success', 'slow-success', 'success', 'overloaded');
    const started = await rest.ada.startRevalidation(asked);
    id = started.validation_id;
    expect(started.workflow_url).toContain(`/workflows/revalidate-${id}`);
    await until('its phase', async () => /^run 1 of 3/.test((await rest.ada.revalidation(id)).phase));
    expect(await ended(id)).toMatchObject({ claim: 'pending', failures: [{ kind: 'upstream_error', attempt: 4 }], project: 'WEB' });
    await rest.ada.acknowledgeRevalidation(id, { failure: 1, note: 'overloaded' });
    expect(await rest.ada.revalidation(id)).toMatchObject({ claim: 'fails', failures: [{ inspected_by: 'ada', note: 'overloaded' }] });
    expect(await rest.ada.revalidationReport(id)).toContain(`# Re-validation ${id}`);
    const json = reportSchema.parse(JSON.parse(await rest.ada.revalidationReport(id, { form: 'json' })));
    expect(json).toMatchObject({ validation_id: id, claim: 'fails' });
    expect(JSON.parse(await runs.reported(id, 'fails'))).toEqual(json);
  }, long);

  test('its runs are runs like others', async () => {
    const { attempts } = await rest.ada.revalidation(id);
    const run = await rest.ada.run(attempts[1]!.run);
    expect(run).toMatchObject({ run_id: `${id}-2-recovery`, status: 'succeeded', attempts: 2 });
    expect(run.packet_chars).toBeGreaterThanOrEqual(23_000);
  });

  test('spec: bounded-claude 9.8: its numbers are metrics, of this process and of the whole installation', async () => {
    const { database } = runs.planner;
    measureClaims(registry, () => countClaims(database));
    const text = await registry.metrics();
    expect(text).toContain('partner_revalidation_total{status="completed",claim="pending"} 1');
    for (const [purpose, outcome, kind, count] of [
      ['fresh', 'valid', 'none', 1],
      ['interrupted', 'interrupted', 'interrupted', 1],
      ['recovery', 'valid', 'none', 1],
      ['fresh', 'failed', 'upstream_error', 1],
    ]) {
      const labels = `{purpose="${purpose}",outcome="${outcome}",kind="${kind}"}`;
      expect(text).toContain(`partner_revalidation_attempts_total${labels} ${count}`);
    }
    expect(text).toMatch(/^partner_revalidation_seconds_count\{status="completed"\} 1$/m);
    expect(text).toMatch(/^partner_revalidation_cost_usd_total \d/m);
    expect(text).toContain('partner_revalidation_claims{claim="fails"} 1');
    expect(text).toContain('partner_revalidation_claims{claim="holds"} 0');
  });

  test('is listed newest first, page by page', async () => {
    runs.play('idle');
    const { validation_id: second } = await rest.ada.startRevalidation({ ...asked, role: 'arbiter' });
    await rest.ada.cancelRevalidation(second);
    await ended(second);
    const { items, next } = await rest.ada.revalidations({ project: 'WEB', limit: 1 });
    expect(items.map(({ validation_id }) => validation_id)).toEqual([second]);
    const rest2 = await rest.ada.revalidations({ project: 'WEB', limit: 1, after: next! });
    expect(rest2.items.map(({ validation_id }) => validation_id)).toEqual([id]);
    expect(rest2.next).toBeUndefined();
    expect(await code(rest.ada.revalidations({ after: 'validation-none' }))).toBe('invalid_argument');
  }, long);

  test('is seen by a viewer, who may start, stop and acknowledge nothing; a stranger finds none', async () => {
    expect(await rest.viewer.revalidation(id)).toMatchObject({ validation_id: id });
    expect(await code(rest.viewer.startRevalidation(asked))).toBe('forbidden');
    expect(await code(rest.viewer.cancelRevalidation(id))).toBe('forbidden');
    expect(await code(rest.viewer.acknowledgeRevalidation(id))).toBe('forbidden');
    for (const work of [
      () => rest.stranger.revalidation(id),
      () => rest.stranger.revalidationReport(id),
      () => rest.stranger.startRevalidation(asked),
      () => rest.stranger.cancelRevalidation(id),
      () => rest.stranger.acknowledgeRevalidation(id),
      () => rest.ada.revalidation('validation-none'),
    ]) {
      expect(await code(work())).toBe('not_found');
    }
    expect((await rest.stranger.revalidations()).items).toEqual([]);
  });
});

test('a schedule is made, changed, triggered, backfilled and deleted; only where that is allowed', async () => {
  const made = await rest.ada.createRevalidationSchedule({ ...asked, role: 'fast_worker', cron: '@daily', jitter_seconds: 0 });
  expect(made).toMatchObject({ cron: '0 0 * * *', jitter_seconds: 0, catchup_seconds: 43_200, paused: false });
  expect(made.next_times).toHaveLength(5);
  expect(await code(rest.ada.createRevalidationSchedule({ ...asked, role: 'fast_worker', cron: '@daily' }))).toBe('already_exists');
  expect(await code(rest.ada.createRevalidationSchedule({ ...asked, cron: 'daily' }))).toBe('invalid_argument');
  const { id } = made;
  await until('the engine to have it', async () => (await rest.ada.revalidationSchedule(id)).in_effect, 40_000);
  expect(await code(rest.viewer.updateRevalidationSchedule(id, { paused: true }))).toBe('forbidden');
  expect(await code(rest.stranger.revalidationSchedule(id))).toBe('not_found');
  expect(await rest.ada.updateRevalidationSchedule(id, { paused: true, note: 'not now' })).toMatchObject({ paused: true, next_times: [] });
  expect(await code(rest.ada.updateRevalidationSchedule(id, { cron: '61 * * * *' }))).toBe('invalid_argument');
  await rest.ada.updateRevalidationSchedule(id, { paused: false });
  await rest.ada.triggerRevalidationSchedule(id);
  const started = await until('what it starts', async () =>
    (await rest.ada.revalidations()).items.find(({ schedule }) => schedule === id), 40_000);
  expect(await ended(started.validation_id)).toMatchObject({ status: 'rejected' });
  const midnight = Math.floor(Date.now() / 86_400_000) * 86_400_000;
  const backfill = { from: new Date(midnight - 60_000).toISOString(), to: new Date(midnight + 1_000).toISOString() };
  expect(await rest.ada.backfillRevalidationSchedule(id, backfill)).toEqual({ times: [new Date(midnight).toISOString()] });
  expect((await rest.viewer.revalidationSchedules({ project: 'WEB' })).items.map((one) => one.id)).toEqual([id]);
  await rest.ada.deleteRevalidationSchedule(id);
  expect((await rest.ada.revalidationSchedules()).items).toEqual([]);
}, long);

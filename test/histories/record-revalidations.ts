// Records the kept histories of re-validations anew: `npm run record-histories`, as record.ts does for turns.

import { mkdir, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSchedule, deleteSchedule, readSchedule, triggerSchedule } from '../../bounded/revalidation-schedules.ts';
import { cancelRevalidation, listRevalidations } from '../../bounded/revalidations.ts';
import { ada, until } from '../support/planner.ts';
import { startTestRevalidations, type TestRevalidations } from '../support/revalidation.ts';

let runs: TestRevalidations;
const folder = new URL('./revalidate-runner/', import.meta.url);
beforeAll(async () => {
  runs = await startTestRevalidations({ backoff: 300, heartbeat: 12_000, hostPatience: 1_500 });
  await mkdir(folder, { recursive: true });
});
afterAll(() => runs.close());

const elsewhere = { machine: 'another', env: {} };

async function keep(name: string, workflowId: string): Promise<void> {
  const handle = runs.planner.client.workflow.getHandle(workflowId);
  await until('the workflow to end', async () => (await handle.describe()).status.name !== 'RUNNING', 30_000);
  const text = historyToJSON(await handle.fetchHistory()).replaceAll(hostname(), 'host');
  await writeFile(new URL(`${name}.json`, folder), `${text}\n`);
}

const workflowOf = async (id: string): Promise<string> => (await runs.validation(id)).workflow.id;

test('host-away', async () => {
  runs.play('success', 'slow-success', 'success');
  const id = await runs.validate();
  await until('it to wait', async () => /waiting/.test((await runs.validation(id)).phase));
  await runs.startHost();
  expect(await runs.concluded(id)).toMatchObject({ claim: 'holds' });
  await keep('host-away', await workflowOf(id));
}, 120_000);

const scenarios: Record<string, string[]> = {
  plain: ['success', 'slow-success', 'success'],
  'failed-runs': ['auth'],
};
test.each(Object.entries(scenarios))('%s', async (name, modes) => {
  runs.play(...modes);
  const id = await runs.validate();
  await runs.concluded(id);
  await keep(name, await workflowOf(id));
}, 120_000);

test('rejected', async () => {
  const id = await runs.validate({ role: 'fast_worker' });
  await runs.concluded(id);
  await keep('rejected', await workflowOf(id));
});

test('cancelled', async () => {
  runs.play('success', 'slow-success', 'idle');
  const id = await runs.validate();
  await until('the recovery', async () => (await runs.validation(id)).attempts.length === 3, 40_000);
  await cancelRevalidation(runs.planner.database, ada, id);
  await runs.concluded(id);
  await keep('cancelled', await workflowOf(id));
}, 120_000);

test('scheduled', async () => {
  runs.play('success', 'slow-success', 'success');
  const { database } = runs.planner;
  const asked = { repo: 'shop', host: 'codex', role: 'deep_reasoner', cron: '@daily' };
  const { id } = await createSchedule(database, ada, asked, { place: elsewhere });
  await until('the engine to have it', async () => (await readSchedule(database, ada, id)).in_effect, 40_000);
  await triggerSchedule(database, ada, id);
  const begun = await until('it to begin', async () => {
    const { items } = await listRevalidations(database, ada, { limit: 10 }, elsewhere);
    return items.find((one) => one.schedule === id);
  }, 40_000);
  await runs.concluded(begun.validation_id);
  await keep('scheduled', begun.workflow.id);
  await deleteSchedule(database, ada, id);
}, 120_000);

test('skipped', async () => {
  runs.play('idle');
  const first = await runs.validate();
  await until('it to be under way', async () => (await runs.validation(first)).status === 'running');
  const workflowId = 'revalidate-skipped';
  await runs.planner.client.workflow.start('revalidateRunner', {
    taskQueue: 'planner',
    workflowId,
    args: [{ schedule: '01a22dd0-3d61-773c-9777-ab01fe0e2827' }],
  });
  await keep('skipped', workflowId);
  await cancelRevalidation(runs.planner.database, ada, first);
  await runs.concluded(first);
}, 60_000);

// Records the kept histories of bounded runs anew: `npm run record-histories`, as record.ts does for turns.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { afterAll, beforeAll, test } from 'vitest';
import { knowsSearchAttributes, until } from '../support/planner.ts';
import { startTestRuns, type TestRuns } from '../support/runs.ts';

let runs: TestRuns;
const folder = new URL('./bounded-claude-plan/', import.meta.url);
beforeAll(async () => {
  runs = await startTestRuns({ backoff: 300, heartbeat: 12_000, hostPatience: 1_500 });
  await knowsSearchAttributes(runs.planner);
  await mkdir(folder, { recursive: true });
});
afterAll(() => runs.close());

async function keep(name: string, run: string, of = runs): Promise<void> {
  const { workflow_id } = await of.read(run);
  const handle = of.planner.client.workflow.getHandle(workflow_id);
  await until('the workflow to end', async () => (await handle.describe()).status.name !== 'RUNNING');
  const text = historyToJSON(await handle.fetchHistory()).replaceAll(hostname(), 'host');
  await writeFile(new URL(`${name}.json`, folder), `${text}\n`);
}

test('host-away', async () => {
  runs.play('success');
  const run = await runs.start({ run_id: 'host-away' });
  await runs.seen(run, (now) => now.failure_kind === 'host_unavailable');
  await runs.startHost();
  await runs.ended(run);
  await keep('host-away', run);
});

const scenarios: Record<string, string[]> = {
  plain: ['success'],
  'with-search-attributes': ['idle', 'auth'],
  failed: ['auth'],
  resumed: ['idle', 'success'],
  exhausted: ['overloaded'],
  'fresh-session': ['idle', 'no-session', 'success'],
};
test.each(Object.entries(scenarios))('%s', async (name, modes) => {
  runs.play(...modes);
  const run = await runs.start({ run_id: name, idle_timeout: 1.5 });
  await runs.ended(run);
  await keep(name, run);
});

test('rejected', async () => {
  const run = await runs.start({ run_id: 'rejected', role: 'fast_worker' });
  await runs.ended(run);
  await keep('rejected', run);
});

test('cancelled', async () => {
  runs.play('idle');
  const run = await runs.start({ run_id: 'cancelled' });
  await runs.seen(run, (now) => now.phase === 'writing');
  await runs.cancel(run);
  await runs.ended(run);
  await keep('cancelled', run);
});

test('cancelled-while-waiting', async () => {
  runs.play('rate-limit');
  const run = await runs.start({ run_id: 'cancelled-while-waiting' });
  await runs.seen(run, (now) => now.phase === 'backing off');
  await runs.cancel(run);
  await runs.ended(run);
  await keep('cancelled-while-waiting', run);
});

test('superseded', async () => {
  runs.play('idle');
  const run = await runs.start({ run_id: 'superseded' });
  await runs.seen(run, (now) => now.phase === 'writing');
  await runs.planner.database.query(`UPDATE bounded_runs SET status = 'failed', ended_at = now() WHERE id = $1`, [run]);
  await keep('superseded', run);
});

test('published-later', async () => {
  runs.play('slow-success');
  mkdirSync(path.join(runs.repo, 'docs'));
  const file = path.join(runs.repo, 'docs/plan.md');
  const run = await runs.start({ run_id: 'published-later', output: 'docs/plan.md' });
  await runs.seen(run, (now) => now.phase === 'writing');
  writeFileSync(file, 'first');
  await runs.ended(run);
  rmSync(file);
  await runs.resume(run);
  await runs.ended(run);
  await keep('published-later', run);
});

test('worker-lost', async () => {
  const away = await startTestRuns({ backoff: 300, heartbeat: 12_000, hostPatience: 60_000 });
  try {
    const worker = await away.spawnHost();
    away.play('idle', 'success');
    const run = await away.start({ run_id: 'worker-lost' });
    await away.seen(run, (now) => now.phase === 'writing');
    worker.kill('SIGKILL');
    await away.startHost();
    await away.ended(run, 40_000);
    await keep('worker-lost', run, away);
  } finally {
    await away.close();
  }
});

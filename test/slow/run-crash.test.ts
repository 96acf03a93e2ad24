// What a bounded run survives: its worker killed, stopped or shut down in each phase, its workflow lost
// (spec: orchestration "The bounded run", bounded-claude 4).

import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startTestRuns, type TestRuns } from '../support/runs.ts';
import { until } from '../support/planner.ts';

let runs: TestRuns;
beforeEach(async () => {
  runs = await startTestRuns();
});
afterEach(async () => {
  await until('every CLI to be gone', async () => runs.living().length === 0, 15_000);
  await runs.close();
});

const writing = (run: string) => runs.seen(run, (now) => now.phase === 'writing');

test('a worker killed while the CLI writes: no CLI outlives it by 15 s, the run goes on in the same session', async () => {
  const worker = await runs.spawnHost();
  runs.play('idle', 'success');
  const run = await runs.start({ run_id: 'killed' });
  await writing(run);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  worker.kill('SIGKILL');
  await until('the CLI to be gone', async () => runs.living().length === 0, 15_000);
  await runs.startHost();
  const ended = await runs.ended(run, 40_000);
  expect(ended).toMatchObject({ status: 'succeeded', attempts: 2 });
  expect(ended.attempt_list[0]).toMatchObject({ status: 'failed', failure_kind: 'worker_lost' });
  expect(ended.attempt_list[0]!.failure_detail).toContain('phase: writing');
  const [first, second] = runs.starts();
  expect(second!.args[second!.args.indexOf('--resume') + 1]).toBe(first!.args[first!.args.indexOf('--session-id') + 1]);
}, 90_000);

test('a finished plan is never bought twice: the worker is killed after the CLI has ended well', async () => {
  const worker = await runs.spawnHost();
  runs.play('result-then-hang', 'success');
  const run = await runs.start({ run_id: 'bought', resume_attempts: 0 });
  await runs.seen(run, (now) => now.phase === 'settling');
  worker.kill('SIGKILL');
  await runs.startHost();
  expect(await runs.ended(run, 40_000)).toMatchObject({ status: 'succeeded', attempts: 1 });
  expect(runs.starts().length).toBe(1);
}, 90_000);

test('a worker stopped while the CLI writes: its CLI ends, another one takes over, and nothing of the first gets in', async () => {
  const zombie = await runs.spawnHost();
  runs.play('idle', 'success');
  const run = await runs.start({ run_id: 'stopped' });
  await writing(run);
  zombie.kill('SIGSTOP');
  await until('the CLI to be gone', async () => runs.living().length === 0, 15_000);
  await runs.startHost();
  expect(await runs.ended(run, 60_000)).toMatchObject({ status: 'succeeded', attempts: 2 });
  await runs.tidied();
  const before = JSON.stringify([await runs.read(run), await runs.outputs(run), runs.metadata('stopped')]);
  zombie.kill('SIGCONT');
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect(JSON.stringify([await runs.read(run), await runs.outputs(run), runs.metadata('stopped')])).toBe(before);
  expect(runs.starts().length).toBe(2);
}, 120_000);

test('a worker that is shut down hands its run over', async () => {
  const first = await runs.startHost({ shutdownGraceMs: 200 });
  runs.play('idle', 'success');
  const run = await runs.start({ run_id: 'handed-over' });
  await writing(run);
  await runs.startHost();
  await first.close();
  const ended = await runs.ended(run, 40_000);
  expect(ended).toMatchObject({ status: 'succeeded', attempts: 2 });
  expect(ended.attempt_list[0]).toMatchObject({ failure_kind: 'worker_lost' });
}, 90_000);

test('a run whose workflow the engine has forgotten is started again, and pays for nothing twice', async () => {
  const worker = await runs.spawnHost();
  runs.play('result-then-hang', 'success');
  const run = await runs.start({ run_id: 'forgotten' });
  const { workflow_id } = await runs.seen(run, (now) => now.phase === 'settling');
  worker.kill('SIGKILL');
  await once(worker, 'exit');
  const { client, temporal } = runs.planner;
  await client.workflowService.deleteWorkflowExecution({
    namespace: temporal.namespace,
    workflowExecution: { workflowId: workflow_id },
  });
  await runs.planner.startWorker({ intervals: { sweep: 200, stuck: 1_000 } });
  await runs.startHost();
  expect(await runs.ended(run, 30_000)).toMatchObject({ status: 'succeeded', attempts: 1 });
  expect(runs.starts().length).toBe(1);
}, 90_000);

test('a run whose workflow was terminated fails, with metadata; a resume goes on', async () => {
  await runs.startHost();
  await runs.planner.startWorker({ intervals: { sweep: 200, stuck: 500 } });
  runs.play('idle', 'success');
  const run = await runs.start({ run_id: 'terminated' });
  const { workflow_id } = await writing(run);
  await runs.planner.client.workflow.getHandle(workflow_id).terminate('by the test');
  expect(await runs.ended(run, 20_000)).toMatchObject({ status: 'failed', failure_kind: 'worker_lost' });
  await runs.tidied();
  expect(runs.metadata('terminated')).toMatchObject({ status: 'failed', failure_kind: 'worker_lost' });
  expect(runs.living()).toEqual([]);
  await runs.resume(run);
  expect(await runs.ended(run, 20_000)).toMatchObject({ status: 'succeeded' });
}, 90_000);

test('a stop that reaches no worker ends the run in the database; its host completes the artifacts when it is back', async () => {
  const zombie = await runs.spawnHost();
  await runs.planner.startWorker({ intervals: { cancel: 200, force: 1_000 } });
  runs.play('idle');
  const run = await runs.start({ run_id: 'unreached' });
  await writing(run);
  zombie.kill('SIGSTOP');
  await runs.cancel(run);
  expect(await runs.ended(run, 10_000)).toMatchObject({ status: 'cancelled' });
  await runs.startHost();
  await runs.tidied();
  expect(runs.metadata('unreached')).toMatchObject({ status: 'cancelled', failure_kind: 'cancelled' });
  expect(runs.file('.partner/runs/unreached/recovery.md')).toContain('--resume unreached');
  const last = (await runs.outputs(run)).at(-1)!;
  expect(last.body).toEqual({ type: 'done', status: 'cancelled', failure_kind: 'cancelled' });
}, 60_000);

test('a run whose row somebody has locked holds up no other stop', async () => {
  const zombie = await runs.spawnHost();
  await runs.planner.startWorker({ intervals: { cancel: 200, force: 1_000 } });
  runs.play('idle', 'idle');
  const locked = await runs.start({ run_id: 'locked' });
  const other = await runs.start({ run_id: 'other' });
  await writing(locked);
  await writing(other);
  zombie.kill('SIGSTOP');
  await runs.cancel(locked);
  await runs.cancel(other);
  const client = await runs.planner.database.pool.connect();
  try {
    await client.query('SET idle_in_transaction_session_timeout = 0');
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM bounded_runs WHERE id = $1 FOR UPDATE', [locked]);
    expect(await runs.ended(other, 8_000)).toMatchObject({ status: 'cancelled' });
  } finally {
    await client.query('ROLLBACK');
    client.release(true);
  }
  expect(await runs.ended(locked, 8_000)).toMatchObject({ status: 'cancelled' });
}, 60_000);

test('a plan whose file cannot be created is kept, told, and created by a resume that pays nothing', async () => {
  await runs.startHost();
  runs.play('slow-success', 'auth');
  mkdirSync(path.join(runs.repo, 'docs'));
  const run = await runs.start({ run_id: 'blocked', output: 'docs/plan.md' });
  await writing(run);
  writeFileSync(path.join(runs.repo, 'docs/plan.md'), 'somebody was faster');
  const ended = await runs.ended(run);
  expect(ended).toMatchObject({ status: 'failed', failure_kind: 'host_unavailable' });
  expect(ended.failure_detail).toMatch(/plan is finished and kept in PostgreSQL, but its file could not be created: .*never overwritten/);
  expect(ended.attempt_list[0]).toMatchObject({ status: 'succeeded' });
  expect(runs.file('docs/plan.md')).toBe('somebody was faster');
  await runs.tidied();
  rmSync(path.join(runs.repo, 'docs/plan.md'));
  await runs.resume(run);
  expect(await runs.ended(run)).toMatchObject({ status: 'succeeded', attempts: 1 });
  expect(runs.file('docs/plan.md')).toBe(ended.attempt_list[0]!.checkpoint);
  expect(runs.starts().length).toBe(1);
}, 60_000);

test("at a worker's start a directory whose run ended without metadata is completed", async () => {
  const first = await runs.startHost();
  runs.play('auth');
  const run = await runs.start({ run_id: 'orphan' });
  await runs.ended(run);
  await runs.tidied();
  await first.close();
  const file = path.join(runs.repo, '.partner/runs/orphan/metadata.json');
  rmSync(file);
  await runs.startHost();
  expect(existsSync(file)).toBe(true);
  expect(runs.metadata('orphan')).toMatchObject({ status: 'failed', failure_kind: 'authentication' });
}, 60_000);

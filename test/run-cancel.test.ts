// A stop in each phase: within 5 s, no CLI is left, and a cancelled run stays cancelled (spec: orchestration "Cancel").

import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestRuns, type TestRuns } from './support/runs.ts';
import { until } from './support/planner.ts';
import type { TurnWorker } from '../worker/turn-worker.ts';

let runs: TestRuns;
let host: TurnWorker;
beforeAll(async () => {
  runs = await startTestRuns({ backoff: 60_000, heartbeat: 12_000, hostPatience: 1_500 });
  host = await runs.startHost();
});
afterAll(async () => {
  expect(runs.living()).toEqual([]);
  await runs.close();
});

async function stopped(run: string): Promise<void> {
  const asked = Date.now();
  await runs.cancel(run);
  expect(await runs.ended(run, 5_000)).toMatchObject({ status: 'cancelled', failure_kind: 'cancelled' });
  expect(Date.now() - asked).toBeLessThan(5_000);
  await until('every CLI to be gone', async () => runs.living().length === 0, 5_000);
}

test('while the CLI writes: its text is kept, and a person may resume it', async () => {
  runs.play('idle', 'success');
  const run = await runs.start({ run_id: 'writing' });
  await runs.seen(run, (now) => now.phase === 'writing');
  await stopped(run);
  const [attempt] = (await runs.read(run)).attempt_list;
  expect(attempt!.checkpoint).toContain('# Plan Checkpoint');
  await until('its artifacts', async () => existsSync(path.join(runs.repo, '.partner/runs/writing/recovery.md')));
  expect(runs.metadata('writing')).toMatchObject({ status: 'cancelled', failure_kind: 'cancelled' });
  expect(runs.file('.partner/runs/writing/recovery.md')).toContain('--resume writing');
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(runs.starts().length).toBe(1);
  await runs.resume(run);
  expect(await runs.ended(run)).toMatchObject({ status: 'succeeded', attempts: 2 });
});

test('while a CLI that ignores every polite signal writes', async () => {
  runs.play('ignores-sigterm');
  const run = await runs.start({ run_id: 'stubborn' });
  await runs.seen(run, (now) => now.phase === 'writing');
  await runs.cancel(run);
  expect(await runs.ended(run, 10_000)).toMatchObject({ status: 'cancelled' });
  expect(runs.living()).toEqual([]);
});

test('while it waits for its next attempt', async () => {
  runs.play('overloaded', 'success');
  const run = await runs.start({ run_id: 'waiting' });
  await runs.seen(run, (now) => now.phase === 'backing off');
  await stopped(run);
  expect(runs.starts().length).toBe(1);
});

test('right after it was asked for', async () => {
  runs.play('idle');
  const run = await runs.start({ run_id: 'at-once' });
  await stopped(run);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(runs.living()).toEqual([]);
  expect(await runs.read(run)).toMatchObject({ status: 'cancelled' });
  await runs.tidied();
  expect(existsSync(path.join(runs.repo, '.partner/plans/.at-once.md.claim'))).toBe(false);
  expect(existsSync(path.join(runs.repo, '.partner/runs/at-once'))).toBe(false);
});

test('again and again: it is told once', async () => {
  runs.play('idle');
  const run = await runs.start({ run_id: 'often' });
  await runs.seen(run, (now) => now.phase === 'writing');
  await Promise.all([1, 2, 3].map(() => runs.cancel(run)));
  await runs.ended(run);
  await runs.cancel(run);
  expect((await runs.outputs(run)).filter((output) => output.body.type === 'done').length).toBe(1);
});

test('from the Temporal UI', async () => {
  runs.play('idle');
  const run = await runs.start({ run_id: 'operator' });
  const { workflow_id } = await runs.seen(run, (now) => now.phase === 'writing');
  await runs.planner.client.workflow.getHandle(workflow_id).cancel();
  expect(await runs.ended(run, 5_000)).toMatchObject({ status: 'cancelled' });
});

test('spec: orchestration: while no worker of its host is there; until then the run waits, and says why', async () => {
  await host.close();
  runs.play('success');
  const run = await runs.start({ run_id: 'no-host' });
  await runs.seen(run, (now) => now.phase === 'waiting for host' && now.failure_kind === 'host_unavailable');
  await stopped(run);
  const other = await runs.start({ run_id: 'host-comes-back' });
  await runs.seen(other, (now) => now.failure_kind === 'host_unavailable');
  host = await runs.startHost();
  expect(await runs.ended(other)).toMatchObject({ status: 'succeeded', attempts: 1 });
  expect((await runs.read(other)).failure_kind).toBeUndefined();
});

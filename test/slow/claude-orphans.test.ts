// What a worker, its guard and its CLI leave when several of them go at once, and whose sweep ends it: nothing outlives
// the worker for long, nothing of another installation is touched, nothing is started late (spec: bounded-claude 4).

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installationOf } from '../../bounded/host.ts';
import type { GuardFile } from '../../claude/guard-protocol.ts';
import { allPids, guardName, processStat, variableOf } from '../../claude/proc.ts';
import { recoverAttempt, sealAttempt } from '../../claude/recover.ts';
import { superviseAttempt } from '../../claude/supervise.ts';
import { sweepOrphans } from '../../claude/sweep.ts';
import type { AttemptPlan } from '../../claude/types.ts';
import { createBench, until, watch, type Bench, type Worker } from '../support/bounded-attempt.ts';
import { startTestRuns } from '../support/runs.ts';

let bench: Bench;
beforeAll(() => void (bench = createBench()));
afterAll(() => {
  expect(bench.living()).toEqual([]);
  bench.remove();
});

const guardOf = (plan: AttemptPlan): GuardFile =>
  JSON.parse(readFileSync(path.join(plan.runDir, 'guard.json'), 'utf8')) as GuardFile;

/** Guards of the worker that live, stopped or not. */
const guardsOf = ({ pid }: Pick<Worker, 'pid'>): number[] =>
  allPids().filter((one) => {
    const [, worker] = variableOf(one, guardName)?.split('.') ?? [];
    return worker === String(pid) && processStat(one)?.state !== 'Z';
  });

/** A CLI that writes and whose worker and guard are gone. */
async function orphaned(installation: string): Promise<AttemptPlan> {
  const plan = await bench.plan('idle', { installation });
  const worker = bench.worker(plan);
  const printed = path.join(plan.runDir, 'stdout.jsonl');
  await until('its text', () => existsSync(printed) && readFileSync(printed, 'utf8').includes('text_delta'));
  const { pid } = guardOf(plan);
  process.kill(pid, 'SIGSTOP');
  worker.process.kill('SIGKILL');
  process.kill(pid, 'SIGKILL');
  await until('their end', () => guardsOf(worker).length === 0);
  return plan;
}

describe('spec: bounded-claude 4: two installations on one computer', () => {
  test("one's sweep leaves the other's orphans alone, its own it ends", async () => {
    const [mine, other] = [await orphaned('mine'), await orphaned('other')];
    expect((await sweepOrphans('mine')).map((one) => one.marker)).toEqual([guardOf(mine).marker]);
    expect(bench.living(mine.runId)).toEqual([]);
    expect(bench.living(other.runId)).toHaveLength(1);
    expect((await sweepOrphans('other')).map((one) => one.marker)).toEqual([guardOf(other).marker]);
    expect(bench.living(other.runId)).toEqual([]);
  }, 40_000);

  test('have different names, each the same at every start', async () => {
    const [one, two] = await Promise.all([startTestRuns(), startTestRuns()]);
    const names = await Promise.all([one, two, one].map((runs) => installationOf(runs.planner.database)));
    expect(names[0]).toMatch(/^[0-9a-f]{12}$/);
    expect(names[2]).toBe(names[0]);
    expect(names[1]).not.toBe(names[0]);
    await Promise.all([one.close(), two.close()]);
  }, 60_000);
});

describe('spec: bounded-claude 4: nothing outlives its worker by more than 15 s', () => {
  test('an orphan is ended by another worker of the installation, within seconds and without a new start', async () => {
    const runs = await startTestRuns();
    await runs.startHost({ sweepMs: 200 });
    const plan = await orphaned(await installationOf(runs.planner.database));
    await until('the sweep', () => bench.living(plan.runId).length === 0, 5_000);
    expect(await recoverAttempt(plan)).toMatchObject({ success: false, failure: 'worker_lost' });
    await runs.close();
  }, 60_000);

  test('a guard that is stopped when its worker hands the run back is ended with its CLI', async () => {
    const plan = await bench.plan('idle');
    const control = new AbortController();
    const running = superviseAttempt(plan, watch().hooks(control.signal));
    const printed = path.join(plan.runDir, 'stdout.jsonl');
    await until('its text', () => existsSync(printed) && readFileSync(printed, 'utf8').includes('text_delta'));
    const { pid } = guardOf(plan);
    process.kill(pid, 'SIGSTOP');
    control.abort('lost');
    expect(await running).toMatchObject({ success: false, failure: 'worker_lost' });
    const left = (): number => bench.living(plan.runId).length + guardsOf({ pid: process.pid }).length;
    await until('the end of both', () => left() === 0, 15_000);
    expect(await recoverAttempt(plan)).toMatchObject({ success: false, failure: 'worker_lost' });
  }, 40_000);

  test('a guard that was stopped before it said a word is ended by the sweep, once its worker is gone', async () => {
    const plan = await bench.plan('success');
    const worker = bench.worker(plan);
    await until('its guard', () => guardsOf(worker).length === 1);
    const [guard = 0] = guardsOf(worker);
    process.kill(guard, 'SIGSTOP');
    expect(existsSync(path.join(plan.runDir, 'guard.json'))).toBe(false);
    expect(await sweepOrphans(bench.installation)).toEqual([]);
    worker.process.kill('SIGKILL');
    await until('the end of the worker', () => worker.process.signalCode !== null);
    expect(processStat(guard)?.state).toBe('T');
    expect((await sweepOrphans(bench.installation)).map(({ pids }) => pids)).toEqual([[guard]]);
    expect(guardsOf(worker)).toEqual([]);
  }, 40_000);
});

describe('spec: bounded-claude 4: no CLI is started late', () => {
  test('an attempt that a successor has sealed is started by nobody, however often it is recovered', async () => {
    const plan = await bench.plan('success');
    expect(await sealAttempt(plan.runDir)).toBe(true);
    expect(await recoverAttempt(plan)).toBeUndefined();
    expect(await sealAttempt(plan.runDir)).toBe(true);
    expect(await superviseAttempt(plan, watch().hooks())).toMatchObject({
      success: false,
      detail: 'This attempt was started before; it is never started twice.',
    });
    expect(bench.starts(plan.session.id)).toBe(0);
  });

  test('nor is one whose artifacts are complete, also where its seal is removed', async () => {
    const plan = await bench.plan('success');
    writeFileSync(path.join(plan.runDir, 'checkpoint.md'), '');
    expect(await superviseAttempt(plan, watch().hooks())).toMatchObject({ success: false, returncode: null });
    expect(bench.starts(plan.session.id)).toBe(0);
    expect(existsSync(path.join(plan.runDir, 'guard.json'))).toBe(false);
  });

  test('an attempt that a guard has begun cannot be sealed', async () => {
    const plan = await bench.plan('success');
    const worker = bench.worker(plan);
    await until('its guard', () => existsSync(path.join(plan.runDir, 'guard.json')));
    expect(await sealAttempt(plan.runDir)).toBe(false);
    await until('its outcome', () => worker.outcome() !== undefined);
    expect(worker.outcome()?.outcome.success).toBe(true);
  }, 40_000);

  test("a guard's file that cannot be read counts as begun: the recovery ends, and says worker_lost", async () => {
    const plan = await bench.plan('success');
    writeFileSync(path.join(plan.runDir, 'guard.json'), '');
    expect(await sealAttempt(plan.runDir)).toBe(false);
    expect(await recoverAttempt(plan)).toMatchObject({ success: false, failure: 'worker_lost' });
  });
});

test('a test that waits is told what its look throws: it does not wait for ever', async () => {
  const file = path.join(bench.root, 'half.json');
  writeFileSync(file, '1');
  const waiting = until('a whole file', () => JSON.parse(readFileSync(file, 'utf8')) === 2, 3_000);
  rmSync(file);
  await expect(waiting).rejects.toThrow('ENOENT');
  await sleep(50);
});

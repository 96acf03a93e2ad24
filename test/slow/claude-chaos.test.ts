// 200 attempts, each with a kill of worker, guard or CLI at a random moment: no orphan, no second CLI, nothing finished
// is lost (spec: bounded-claude 4).

import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { GuardFile } from '../../claude/guard-protocol.ts';
import { recoverAttempt } from '../../claude/recover.ts';
import { sweepOrphans } from '../../claude/sweep.ts';
import type { AttemptPlan } from '../../claude/types.ts';
import { createBench, until, type Bench } from '../support/bounded-attempt.ts';

let bench: Bench;
beforeAll(() => void (bench = createBench()));
afterAll(() => bench.remove());

const victims = ['worker', 'guard', 'cli', 'worker and guard', 'worker stopped'] as const;

const guardOf = (plan: AttemptPlan): GuardFile | undefined => {
  try {
    return JSON.parse(readFileSync(path.join(plan.runDir, 'guard.json'), 'utf8')) as GuardFile;
  } catch {
    return undefined;
  }
};

const kill = (pid: number | null | undefined): void => {
  try {
    if (pid) process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended before.
  }
};

const isWhole = (file: string): boolean => existsSync(file) && /"type":"result".*\n$/s.test(readFileSync(file, 'utf8'));

async function attempt(index: number): Promise<string> {
  const mode = index % 3 === 0 ? 'ignores-sigterm' : 'slow-success';
  const plan = await bench.plan(mode, { limits: { idleMs: 20_000 } });
  const worker = bench.worker(plan);
  const victim = victims[index % victims.length];
  await sleep(300 + Math.random() * 1_200);
  const guard = guardOf(plan);
  const finished = isWhole(path.join(plan.runDir, 'stdout.jsonl'));
  if (victim === 'worker stopped') worker.process.kill('SIGSTOP');
  if (victim === 'guard' || victim === 'worker and guard') kill(guard?.pid);
  if (victim === 'worker' || victim === 'worker and guard') worker.process.kill('SIGKILL');
  if (victim === 'cli') kill(guard?.group);
  if (victim === 'cli' || victim === 'guard') await until('an outcome', () => worker.outcome() !== undefined, 40_000);
  if (victim === 'worker and guard') await sweepOrphans(bench.installation);
  const outcome = worker.outcome()?.outcome ?? (await recoverAttempt(plan));
  worker.process.kill('SIGKILL');
  await until('the end of the group', () => bench.living(plan.runId).length === 0, 15_000);
  expect(bench.starts(plan.session.id)).toBeLessThanOrEqual(1);
  if (finished) expect([victim, outcome?.success]).toEqual([victim, true]);
  if (outcome) expect(await recoverAttempt(plan)).toEqual(outcome);
  return `${victim}: ${outcome === undefined ? 'never started' : outcome.success ? 'success' : outcome.failure}`;
}

test('200 attempts', async () => {
  const ends: string[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < 200) ends.push(await attempt(next++));
  };
  await Promise.all([lane(), lane(), lane(), lane()]);
  expect(bench.living()).toEqual([]);
  expect(ends).toHaveLength(200);
  const kinds = new Set(ends.map((end) => end.split(': ')[1]));
  for (const kind of kinds)
    expect(['success', 'worker_lost', 'claude_error', 'idle_timeout', 'never started']).toContain(kind);
  expect(kinds).toContain('success');
  expect(kinds).toContain('worker_lost');
}, 900_000);

// No CLI and no child of it outlives its worker, whatever is killed or stopped; nothing finished is bought twice
// (spec: bounded-claude 4).

import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GuardFile } from '../../claude/guard-protocol.ts';
import { recoverAttempt } from '../../claude/recover.ts';
import { superviseAttempt } from '../../claude/supervise.ts';
import { sweepOrphans } from '../../claude/sweep.ts';
import type { AttemptOutcome, AttemptPlan } from '../../claude/types.ts';
import { createBench, until, watch, type Bench, type Worker } from '../support/bounded-attempt.ts';

let bench: Bench;
beforeAll(() => void (bench = createBench()));
afterAll(() => {
  expect(bench.living()).toEqual([]);
  bench.remove();
});

const kindOf = (outcome: AttemptOutcome | undefined): string | undefined =>
  outcome?.success ? 'success' : outcome?.failure;
const guardOf = (plan: AttemptPlan): GuardFile =>
  JSON.parse(readFileSync(path.join(plan.runDir, 'guard.json'), 'utf8')) as GuardFile;
const printed = (plan: AttemptPlan): string => {
  const file = path.join(plan.runDir, 'stdout.jsonl');
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
};

/** A worker whose CLI has printed what is looked for. */
async function working(mode: string, has = 'text_delta'): Promise<{ plan: AttemptPlan; worker: Worker }> {
  const plan = await bench.plan(mode, { limits: { settleMs: 60_000 } });
  const worker = bench.worker(plan);
  await until(`${mode} printed ${has}`, () => printed(plan).includes(has));
  return { plan, worker };
}

/** Seconds until nothing of the run lives. */
async function secondsToEnd(plan: AttemptPlan): Promise<number> {
  const since = performance.now();
  await until('the end of the group', () => bench.living(plan.runId).length === 0);
  return (performance.now() - since) / 1_000;
}

describe.concurrent('spec: bounded-claude 4: the worker is lost', () => {
  test.each(['idle', 'ignores-sigterm', 'busy-loop', 'stopped', 'grandchild-idle'])(
    'killed by SIGKILL, its CLI in mode %s: within 15 s nothing lives; recovery says worker_lost, twice the same',
    async (mode) => {
      const { plan, worker } = await working(mode, 'message_start');
      worker.process.kill('SIGKILL');
      expect(await secondsToEnd(plan)).toBeLessThan(15);
      const recovered = await recoverAttempt(plan);
      expect(kindOf(recovered)).toBe('worker_lost');
      expect(await recoverAttempt(plan)).toEqual(recovered);
    },
    40_000,
  );

  test('spec: bounded-claude 4.6: stopped by SIGSTOP, which closes nothing: within 15 s nothing lives; awake, it says worker_lost', async () => {
    const { plan, worker } = await working('ignores-sigterm');
    worker.process.kill('SIGSTOP');
    expect(await secondsToEnd(plan)).toBeLessThan(15);
    worker.process.kill('SIGCONT');
    await until('its outcome', () => worker.outcome() !== undefined);
    expect(kindOf(worker.outcome()?.outcome)).toBe('worker_lost');
  }, 60_000);

  test('a successor ends a guard whose worker still holds the pipe before it judges', async () => {
    const { plan, worker } = await working('idle');
    worker.process.kill('SIGSTOP');
    expect(kindOf(await recoverAttempt(plan))).toBe('worker_lost');
    expect(bench.living(plan.runId)).toEqual([]);
    worker.process.kill('SIGKILL');
  }, 40_000);
});

// One after the other: a sweep finds whatever is unguarded in this file.
describe("spec: bounded-claude 4: the sweep at a worker's start", () => {
  test('spec: bounded-claude 4.8: worker and guard killed together: the CLI lives on, and the sweep at the next start ends it', async () => {
    const { plan, worker } = await working('grandchild-idle', 'message_start');
    const { pid, marker } = guardOf(plan);
    process.kill(pid, 'SIGSTOP');
    worker.process.kill('SIGKILL');
    process.kill(pid, 'SIGKILL');
    await sleep(500);
    const left = bench.living(plan.runId);
    expect(left).toHaveLength(2);
    const swept = (await sweepOrphans(bench.installation)).find((one) => one.marker === marker);
    expect(swept?.pids.toSorted()).toEqual(left.toSorted());
    expect(bench.living(plan.runId)).toEqual([]);
    expect(kindOf(await recoverAttempt(plan))).toBe('worker_lost');
  }, 40_000);

  test('worker killed while its guard is stopped: the sweep ends both guard and CLI', async () => {
    const { plan, worker } = await working('idle');
    const { pid, marker } = guardOf(plan);
    process.kill(pid, 'SIGSTOP');
    worker.process.kill('SIGKILL');
    await sleep(300);
    expect((await sweepOrphans(bench.installation)).map((one) => one.marker)).toContain(marker);
    expect(bench.living(plan.runId)).toEqual([]);
    expect(existsSync(`/proc/${pid}/exe`)).toBe(false);
  }, 40_000);

  test('leaves a run alone whose guard and worker live', async () => {
    const { plan, worker } = await working('slow-success');
    expect((await sweepOrphans(bench.installation)).map((one) => one.marker)).not.toContain(guardOf(plan).marker);
    await until('its outcome', () => worker.outcome() !== undefined);
    expect(kindOf(worker.outcome()?.outcome)).toBe('success');
  }, 40_000);
});

describe.concurrent('spec: bounded-claude 4: a finished, paid plan is never bought twice', () => {
  test('spec: bounded-claude 4.7: a plan finished before the worker was killed is the recovered outcome, with its cost', async () => {
    const { plan, worker } = await working('result-then-hang', '"type":"result"');
    worker.process.kill('SIGKILL');
    const recovered = await recoverAttempt(plan);
    expect(recovered).toMatchObject({ success: true, costUsd: 0, numTurns: 1 });
    expect(readFileSync(path.join(plan.runDir, 'checkpoint.md'), 'utf8')).toBe(recovered?.text);
    expect(bench.living(plan.runId)).toEqual([]);
  }, 40_000);

  test('a burst of 10 MiB that ends while the worker is stopped is whole on disk: the plan counts', async () => {
    const plan = await bench.plan('big-burst');
    const worker = bench.worker(plan);
    await until('the guard', () => existsSync(path.join(plan.runDir, 'guard.json')));
    worker.process.kill('SIGSTOP');
    await until('the exit', () => existsSync(path.join(plan.runDir, 'exit.json')), 8_000);
    expect(kindOf(await recoverAttempt(plan))).toBe('success');
    worker.process.kill('SIGKILL');
  }, 40_000);

  test('b13: a run that was cancelled before the worker was killed stays cancelled', async () => {
    const plan = await bench.plan('ignores-sigterm');
    const control = new AbortController();
    const running = superviseAttempt(plan, watch().hooks(control.signal));
    await until('its text', () => printed(plan).includes('text_delta'));
    control.abort('cancel');
    await running;
    rmSync(path.join(plan.runDir, 'outcome.json'));
    expect(await recoverAttempt(plan)).toMatchObject({
      success: false,
      failure: 'cancelled',
      detail: 'The run was cancelled.',
    });
  }, 40_000);

  test('a CLI that failed by itself before the worker was killed keeps its own kind', async () => {
    const plan = await bench.plan('budget');
    await superviseAttempt(plan, watch().hooks());
    rmSync(path.join(plan.runDir, 'outcome.json'));
    expect(kindOf(await recoverAttempt(plan))).toBe('budget_exceeded');
  });

  test('an attempt is never started twice: the second start gives the outcome of the first', async () => {
    const plan = await bench.plan('success');
    const first = await superviseAttempt(plan, watch().hooks());
    expect(first.success).toBe(true);
    expect(await superviseAttempt(plan, watch().hooks())).toEqual(first);
    expect(await recoverAttempt(plan)).toEqual(first);
    expect(bench.starts(plan.session.id)).toBe(1);
  });

  test('an attempt whose guard was lost before its CLI got a prompt is started anew', async () => {
    const plan = await bench.plan('success');
    const guard: GuardFile = {
      boot_id: 'another',
      pid: 1,
      start_time: '1',
      group: null,
      attempt: 1,
      marker: '0.1.1.1.none',
    };
    writeFileSync(path.join(plan.runDir, 'guard.json'), JSON.stringify(guard));
    expect(kindOf(await superviseAttempt(plan, watch().hooks()))).toBe('success');
  });

  test('an attempt whose CLI was never started has nothing to recover', async () => {
    expect(await recoverAttempt(await bench.plan('success'))).toBeUndefined();
  });

  test('events.jsonl holds every event once, whether the worker was lost or not', async () => {
    const { plan, worker } = await working('result-then-hang', '"type":"result"');
    worker.process.kill('SIGKILL');
    await recoverAttempt(plan);
    const lines = readFileSync(path.join(plan.runDir, 'events.jsonl'), 'utf8').trim().split('\n');
    const numbers = lines.map((line) => (JSON.parse(line) as { n: number }).n);
    expect(numbers).toEqual(
      printed(plan)
        .trim()
        .split('\n')
        .map((_, index) => index + 1),
    );
  }, 40_000);
});

describe.concurrent('spec: bounded-claude 4: the guard is lost', () => {
  test('killed: the worker ends the group by itself and says worker_lost', async () => {
    const { plan, worker } = await working('ignores-sigterm');
    process.kill(guardOf(plan).pid, 'SIGKILL');
    expect(await secondsToEnd(plan)).toBeLessThan(5);
    await until('its outcome', () => worker.outcome() !== undefined);
    expect(kindOf(worker.outcome()?.outcome)).toBe('worker_lost');
  }, 40_000);

  test('killed after the result: the plan counts', async () => {
    const { plan, worker } = await working('result-then-hang', '"type":"result"');
    process.kill(guardOf(plan).pid, 'SIGKILL');
    await until('its outcome', () => worker.outcome() !== undefined);
    expect(kindOf(worker.outcome()?.outcome)).toBe('success');
  }, 40_000);

  test('stopped: a cancel ends guard and group all the same', async () => {
    const plan = await bench.plan('ignores-sigterm');
    const control = new AbortController();
    const running = superviseAttempt(plan, watch().hooks(control.signal));
    await until('its text', () => printed(plan).includes('text_delta'));
    process.kill(guardOf(plan).pid, 'SIGSTOP');
    control.abort('cancel');
    expect(kindOf(await running)).toBe('cancelled');
    expect(bench.living(plan.runId)).toEqual([]);
  }, 40_000);
});

describe.concurrent('spec: bounded-claude 4: ended by us', () => {
  const ended = async (
    mode: string,
    reason: string,
    twice = false,
  ): Promise<{ plan: AttemptPlan; outcome: AttemptOutcome; ms: number }> => {
    const plan = await bench.plan(mode);
    const control = new AbortController();
    const running = superviseAttempt(plan, watch().hooks(control.signal));
    await until('its text', () => printed(plan).includes('text_delta'));
    const since = performance.now();
    control.abort(reason);
    if (twice) control.abort(reason);
    return { plan, outcome: await running, ms: performance.now() - since };
  };

  test('reports b07, spec: bounded-claude 4.9: a cancel of a CLI that ignores SIGINT and SIGTERM is bounded by grace, kill and reap', async () => {
    const { outcome, ms, plan } = await ended('ignores-sigterm', 'cancel', true);
    expect(kindOf(outcome)).toBe('cancelled');
    expect(ms).toBeLessThan(8_000);
    expect(bench.living(plan.runId)).toEqual([]);
  }, 40_000);

  test('an interruption on purpose is `interrupted`, and the text so far is kept', async () => {
    const { outcome } = await ended('idle', 'interrupt');
    expect(kindOf(outcome)).toBe('interrupted');
    expect(outcome.text).toContain('# Plan Checkpoint');
  }, 40_000);

  test('a worker that hands the run back waits for nobody; the guard ends the group, a successor judges', async () => {
    const { plan, outcome, ms } = await ended('ignores-sigterm', 'lost');
    expect(kindOf(outcome)).toBe('worker_lost');
    expect(ms).toBeLessThan(1_500);
    expect(await secondsToEnd(plan)).toBeLessThan(6);
    expect(kindOf(await recoverAttempt(plan))).toBe('worker_lost');
  }, 40_000);

  test('b11: a cancel before the start starts nothing; a cancel after the end changes nothing', async () => {
    const plan = await bench.plan('success');
    const outcome = await superviseAttempt(plan, watch().hooks(AbortSignal.abort('cancel')));
    expect(kindOf(outcome)).toBe('cancelled');
    expect(existsSync(path.join(plan.runDir, 'guard.json'))).toBe(false);
    const control = new AbortController();
    const later = await superviseAttempt(await bench.plan('success'), watch().hooks(control.signal));
    control.abort('cancel');
    expect(kindOf(later)).toBe('success');
  });

  test('a plan whose result came before a cancel is cancelled all the same: the cause decides', async () => {
    const plan = await bench.plan('result-then-hang', { limits: { settleMs: 60_000 } });
    const control = new AbortController();
    const running = superviseAttempt(plan, watch().hooks(control.signal));
    await until('its result', () => printed(plan).includes('"type":"result"'));
    control.abort('cancel');
    expect(kindOf(await running)).toBe('cancelled');
  }, 40_000);

  test('spec: bounded-claude 4.10: the wall limit', async () => {
    const plan = await bench.plan('ping-only', { limits: { wallMs: 1_000 } });
    expect(kindOf(await superviseAttempt(plan, watch().hooks()))).toBe('wall_timeout');
  }, 40_000);

  test('a03: of six parallel runs only the one that stalls times out', async () => {
    const modes = ['success', 'thinking-only', 'idle', 'slow-success', 'burst', 'success'];
    const plans = await Promise.all(modes.map((mode) => bench.plan(mode, { limits: { idleMs: 8_000 } })));
    const outcomes = await Promise.all(plans.map((plan) => superviseAttempt(plan, watch().hooks())));
    expect(outcomes.map(kindOf)).toEqual(['success', 'success', 'idle_timeout', 'success', 'success', 'success']);
  }, 60_000);
});

describe('spec: bounded-claude 4: the process', () => {
  test('spec: bounded-claude 4.6: the guard is known on disk; the CLI has a group, a marker and no descriptor of the guard', async () => {
    const { plan, worker } = await working('idle');
    const guard = guardOf(plan);
    const cli = bench.living(plan.runId)[0] ?? 0;
    expect(guard).toMatchObject({
      group: cli,
      attempt: 1,
      pid: expect.any(Number),
      start_time: expect.stringMatching(/^\d+$/),
    });
    expect(readFileSync(`/proc/${cli}/environ`, 'utf8').split('\0')).toContain(`PARTNER_RUN_MARKER=${guard.marker}`);
    expect(readlinkSync(`/proc/${cli}/cwd`)).toBe(plan.workDir);
    const inherited = (fd: number): string | undefined => {
      try {
        return readlinkSync(`/proc/${cli}/fd/${fd}`);
      } catch {
        return undefined;
      }
    };
    const guards = readdirSync(`/proc/${guard.pid}/fd`).map((fd) => readlinkSync(`/proc/${guard.pid}/fd/${fd}`));
    const sockets = readdirSync(`/proc/${cli}/fd`)
      .map(Number)
      .filter((fd) => fd > 2)
      .map(inherited);
    expect(sockets.filter((one) => one?.startsWith('socket:') && guards.includes(one))).toEqual([]);
    for (const name of ['guard.json', 'stdout.jsonl', 'events.jsonl']) {
      expect(statSync(path.join(plan.runDir, name)).mode & 0o777).toBe(0o600);
    }
    worker.process.kill('SIGKILL');
    await secondsToEnd(plan);
  }, 40_000);

  test('a35: a missing working directory is named, and so is a CLI that is gone', async () => {
    const gone = path.join(bench.root, 'gone');
    const noFolder = await superviseAttempt(await bench.plan('success', { workDir: gone }), watch().hooks());
    expect(noFolder).toMatchObject({ success: false, detail: `The working directory ${gone} does not exist.` });
    const cli = { path: gone, version: '2.1.332', sha256: '' };
    const noCli = await superviseAttempt(await bench.plan('success', { cli }), watch().hooks());
    expect(noCli).toMatchObject({
      success: false,
      failure: 'claude_error',
      detail: `${gone} could not be started (ENOENT).`,
    });
  });

  test('a burst of 10 MiB in one go is read whole, by a worker under 150 MB', async () => {
    const plan = await bench.plan('big-burst');
    const worker = bench.worker(plan);
    await until('its outcome', () => worker.outcome() !== undefined);
    const { outcome, peakBytes } = worker.outcome() ?? {};
    expect(kindOf(outcome)).toBe('success');
    expect(printed(plan).length).toBeGreaterThan(10 * 1024 * 1024);
    expect(peakBytes).toBeLessThan(150_000_000);
  }, 40_000);

  test('a rejected rate limit tells when to try again', async () => {
    const outcome = await superviseAttempt(await bench.plan('rate-limit'), watch().hooks());
    expect(outcome.retryAfterMs).toBeGreaterThan(20_000);
    expect(outcome.retryAfterMs).toBeLessThanOrEqual(30_000);
  });

  test('at most about four states a second, and each phase once entered is told', async () => {
    const seen = watch();
    const outcome = await superviseAttempt(await bench.plan('thinking-only'), seen.hooks());
    expect([...new Set(seen.states.map(({ phase }) => phase))]).toEqual([
      'starting',
      'waiting',
      'thinking',
      'writing',
      'settling',
    ]);
    expect(seen.states.length).toBeLessThan(outcome.durationMs / 200 + 10);
  });
});

describe('spec: bounded-claude 7: what an attempt writes', () => {
  const secret = ['gh', 'p_', 'aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC2dF4gH6'].join('');

  test.each(['secret-split-deltas', 'secret-split-events', 'secret-in-error'])(
    '%s: no part of it is shown or kept',
    async (mode) => {
      const seen = watch();
      const plan = await bench.plan(mode);
      const outcome = await superviseAttempt(plan, seen.hooks());
      const kept = ['events.jsonl', 'checkpoint.md', 'outcome.json'].map((name) =>
        readFileSync(path.join(plan.runDir, name), 'utf8'),
      );
      const told = [JSON.stringify(seen.changes), JSON.stringify(outcome), ...kept].join('\n');
      expect(told).toContain('[redacted');
      expect(told).not.toContain(secret.slice(4, 12));
      expect(told).not.toContain(secret.slice(-8));
    },
  );

  test('spec: bounded-claude 7.2: events.jsonl holds no text, no thinking and no packet', async () => {
    const plan = await bench.plan('thinking-only');
    await superviseAttempt(plan, watch().hooks());
    const events = readFileSync(path.join(plan.runDir, 'events.jsonl'), 'utf8');
    for (const part of ['hm ', 'health check', '# Plan Checkpoint']) expect(events).not.toContain(part);
    expect(events).toContain('"delta":"thinking_delta"');
  });

  test.each(['events.jsonl', 'stdout.jsonl'])(
    'a full disk under %s ends nothing: the plan is told, with a warning',
    async (name) => {
      const plan = await bench.plan('success');
      symlinkSync('/dev/full', path.join(plan.runDir, name));
      const outcome = await superviseAttempt(plan, watch().hooks());
      expect(kindOf(outcome)).toBe('success');
      expect(outcome.warnings.join('\n')).toContain('ENOSPC');
    },
  );
});

// 200 bounded runs while workers, commands, guards and CLIs are killed, stopped and shut down at random times of a seeded
// clock. CHAOS_SEED and CHAOS_RUNS change a run. (issue: "200 scripted runs with a random kill ...")

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { installationOf } from '../../bounded/host.ts';
import type { RunDetails, RunView } from '../../bounded/read.ts';
import { allPids, guardName, processStat, variableOf } from '../../claude/proc.ts';
import { metadataSchema } from '../../domain/bounded/metadata.ts';
import { checkPlan } from '../../domain/bounded/plan.ts';
import { readAttempts } from '../../store/attempts.ts';
import { until } from '../support/planner.ts';
import { listAll, startTestRuns, type TestRuns } from '../support/runs.ts';

const seed = Number(process.env['CHAOS_SEED'] ?? 20_261_130);
const total = Number(process.env['CHAOS_RUNS'] ?? 200);
const command = fileURLToPath(new URL('../support/run-command.ts', import.meta.url));
const scripted = fileURLToPath(new URL('../support/scripted-claude.mjs', import.meta.url));

let runs: TestRuns;
let installation: string;
beforeEach(async () => {
  runs = await startTestRuns({ backoff: 200, heartbeat: 12_000, hostPatience: 300_000 });
  installation = await installationOf(runs.planner.database);
});
afterEach(() => runs.close());

/** mulberry32: the same numbers for the same seed. */
function random(from: number): () => number {
  let state = from;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const modes = [
  'success', 'success', 'slow-success', 'slow-success', 'slow-success', 'secret-split-deltas', 'result-then-hang', 'idle',
  'overloaded', 'upstream-stall', 'grandchild-success', 'grandchild-idle', 'ignores-sigterm', 'no-session', 'malformed-plan',
];

/** A CLI that tells when another one of its run still lives: the run's working directory is theirs alone. */
function watchfulCli(): string {
  const file = path.join(runs.home, 'claude');
  mkdirSync(path.join(runs.home, 'alive'));
  const script = `#!/bin/sh
if [ "$1" != --version ]; then
  mine="$HOME/alive/$(basename "$PWD")"
  if [ -f "$mine" ]; then
    read -r other < "$mine"
    if [ -d "/proc/$other" ] && ! grep -q '^State:.*Z' "/proc/$other/status" 2>/dev/null; then echo "$PWD $other $$" >> "$HOME/overlaps"; fi
  fi
  echo $$ > "$mine"
fi
exec "${process.execPath}" "${scripted}" "$@"
`;
  writeFileSync(file, script);
  chmodSync(file, 0o755);
  return file;
}

const isAlive = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null;

class Strikes {
  readonly log = new Map<string, number>();
  readonly #pick: () => number;
  readonly #workers: ChildProcess[] = [];

  constructor(pick: () => number) {
    this.#pick = pick;
  }

  #note(what: string): void {
    this.log.set(what, (this.log.get(what) ?? 0) + 1);
  }

  async fill(): Promise<void> {
    this.#workers.splice(0, Infinity, ...this.#workers.filter(isAlive));
    while (this.#workers.length < 2) this.#workers.push(await runs.spawnHost());
  }

  async strike(): Promise<void> {
    const kind = this.#pick();
    if (kind < 0.45) return this.#strikeCli();
    const victim = this.#workers[Math.floor(this.#pick() * this.#workers.length)]!;
    if (kind < 0.7) {
      this.#note('worker killed');
      victim.kill('SIGKILL');
      await until('the worker to be gone', async () => !isAlive(victim));
    } else if (kind < 0.85) {
      this.#note('worker stopped');
      victim.kill('SIGSTOP');
      void sleep(1_000 + this.#pick() * 15_000).then(() => victim.kill('SIGCONT'));
    } else {
      this.#note('worker shut down');
      victim.kill('SIGTERM');
    }
    await this.fill();
  }

  #strikeCli(): void {
    const pids = this.#pick() < 0.3 ? guards() : runs.living();
    const pid = pids[Math.floor(this.#pick() * pids.length)];
    if (pid === undefined) return;
    const signal = this.#pick() < 0.7 ? 'SIGKILL' : 'SIGSTOP';
    this.#note(`${pids.length > 0 && runs.living().includes(pid) ? 'CLI' : 'guard'} ${signal}`);
    try {
      process.kill(pid, signal);
    } catch {
      // Gone by itself.
    }
  }
}

/** Living guards of this test's runs, whether their workers live or not. */
const guards = (): number[] =>
  allPids().filter((pid) => variableOf(pid, guardName)?.split('.')[3] === installation && processStat(pid)?.state !== 'Z');

/** Starts all runs by commands that are killed again and again. */
async function command200(pick: () => number): Promise<number> {
  const ids = Array.from({ length: total }, (_, index) => `chaos-${index}`);
  for (let killed = 0; ; killed++) {
    const child = spawn(process.execPath, [command], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DATABASE_URL: runs.planner.url, RUN_IDS: ids.join(',') },
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), 6_000 + pick() * 12_000);
    const [code] = (await once(child, 'exit')) as [number | null];
    clearTimeout(timer);
    if (code === 0) return killed;
  }
}

const span = (from: string, to: string | undefined): number => (Date.parse(to ?? from) - Date.parse(from)) / 1_000;

function slowest(items: RunView[]): string[] {
  const lasted = items.map((run) => ({ run, seconds: span(run.created_at, run.ended_at) }));
  lasted.sort((a, b) => b.seconds - a.seconds);
  return lasted.slice(0, 5).map(({ run, seconds }) => `${run.run_id} ${seconds.toFixed(1)} s, ${run.attempts} attempts, ${run.status}`);
}

async function check(run: RunDetails): Promise<void> {
  expect(['succeeded', 'failed', 'cancelled']).toContain(run.status);
  const attempts = await readAttempts(runs.planner.database, run.id);
  expect(attempts.map((attempt) => attempt.attempt)).toEqual(attempts.map((_, index) => index + 1));
  for (const attempt of attempts) {
    const folder = path.join(runs.repo, '.partner/runs', attempt.attempt === 1 ? run.run_id : `${run.run_id}.r${attempt.attempt}`);
    // A worker may be lost between the attempt's row and its directory: then nothing was started, nothing is told there.
    if (!existsSync(folder)) {
      expect(attempt).toMatchObject({ failure_kind: 'worker_lost', cost_usd: 0, outcome: { durationMs: 0 } });
      continue;
    }
    const metadata = metadataSchema.parse(JSON.parse(readFileSync(path.join(folder, 'metadata.json'), 'utf8')));
    expect(metadata).toMatchObject({ run_id: run.run_id, attempt: attempt.attempt, requested_session_id: attempt.session_id });
    expect(metadata.status).toBe(attempt.attempt === attempts.length ? run.status : attempt.status);
    expect(readFileSync(path.join(folder, 'checkpoint.md'), 'utf8')).toBe(attempt.checkpoint);
    // A finished plan is the end: it is not bought again.
    if (attempt.status === 'succeeded') expect(attempt.attempt).toBe(attempts.length);
    else expect(attempt.outcome?.numTurns === 1 && attempt.outcome.returncode === 0 && checkPlan(attempt.checkpoint).ok).toBe(false);
  }
  const plan = path.join(runs.repo, run.output);
  expect(existsSync(plan)).toBe(run.status === 'succeeded');
  if (run.status === 'succeeded') expect(readFileSync(plan, 'utf8')).toBe(attempts.at(-1)!.checkpoint);
  const outputs = await runs.outputs(run.id);
  expect(outputs.map((output) => output.output)).toEqual(outputs.map((_, index) => index + 1));
  expect(outputs.filter((output) => output.body.type === 'done').length).toBe(1);
}

test(`${total} runs under random strikes: each ends, none is bought twice, nothing is left`, { timeout: 900_000 }, async () => {
  const pick = random(seed);
  runs.env['PARTNER_CLAUDE_BIN'] = watchfulCli();
  runs.play(...Array.from({ length: total * 3 }, () => modes[Math.floor(pick() * modes.length)]!), 'success');
  const strikes = new Strikes(pick);
  await strikes.fill();
  let striking = true;
  const began = Date.now();
  const struck = (async () => {
    while (striking) {
      await sleep(400 + pick() * 1_600);
      await strikes.strike();
    }
  })();
  const commands = await Promise.race([command200(pick), struck.then(() => Promise.reject(new Error('no more strikes')))]);
  const open = (): Promise<number> =>
    runs.planner.database
      .query<{ open: number }>(`SELECT count(*) AS open FROM bounded_runs WHERE status IN ('pending', 'running')`)
      .then((rows) => rows[0]!.open);
  striking = false;
  await struck;
  await until('all runs to end', async () => (await open()) === 0, 400_000);
  await runs.startHost();
  await runs.tidied();
  await until('every CLI to be gone', async () => runs.living().length === 0, 20_000);
  await until('every guard to be gone', async () => guards().length === 0, 20_000);
  const { items } = await listAll(runs);
  const seconds = Math.round((Date.now() - began) / 1_000);
  const ends = Object.groupBy(items, (run) => `${run.status} ${run.failure_kind ?? ''}`);
  const counted = Object.fromEntries(Object.entries(ends).map(([name, some]) => [name, some?.length]));
  const facts = { seed, seconds, commands_killed: commands, strikes: Object.fromEntries(strikes.log), starts: runs.starts().length };
  console.log(JSON.stringify({ ...facts, ends: counted, slowest: slowest(items) }));
  expect(items.length).toBe(total);
  expect(existsSync(path.join(runs.home, 'overlaps')) ? readFileSync(path.join(runs.home, 'overlaps'), 'utf8') : '').toBe('');
  for (const { id } of items) await check(await runs.read(id));
  expect(items.filter((run) => run.status === 'succeeded').length).toBeGreaterThan(total / 4);
});

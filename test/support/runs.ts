// Bounded runs for a test: a planner of its own, a repository with an identity, the scripted CLI, workers of the
// repository's host in this process or as processes of their own.

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { cancelRun, listRuns, readRun, readRunOutputs, registerRepository, resumeRun, startRun } from '../../bounded/index.ts';
import type { RunDetails } from '../../bounded/read.ts';
import type { NewRunRequest } from '../../bounded/runs.ts';
import type { RunTimings } from '../../domain/run.ts';
import type { StoredRunOutput } from '../../domain/run-output.ts';
import { transaction } from '../../store/database.ts';
import { startHostWorker, type HostWorkerOptions } from '../../worker/host-worker.ts';
import type { TurnWorker, TurnWorkerOptions } from '../../worker/turn-worker.ts';
import { packet, withEnvironment } from './bounded-attempt.ts';
import { ada, startTestPlanner, until, type TestPlanner } from './planner.ts';

const scripted = fileURLToPath(new URL('scripted-claude.mjs', import.meta.url));
const workerProgram = fileURLToPath(new URL('run-worker.ts', import.meta.url));

export const model = 'claude-opus-4-8';
export const testMachine = 'test-host';

export interface CliStart {
  pid: number;
  mode: string;
  args: string[];
  cwd: string;
  at: number;
}

export interface TestRuns {
  planner: TestPlanner;
  repo: string;
  home: string;
  env: NodeJS.ProcessEnv;
  /** The n-th CLI of a test takes the n-th mode, then the last one again. */
  play(...modes: string[]): void;
  startHost(options?: Partial<HostWorkerOptions>): Promise<TurnWorker>;
  /** Both workers as a process of their own, ready. */
  spawnHost(): Promise<ChildProcess>;
  /** What the workers that are processes of their own said on stderr. */
  workerLog(): string;
  start(request?: Partial<NewRunRequest>): Promise<string>;
  cancel(run: string): Promise<void>;
  resume(run: string, change?: { role?: string; approval?: string }): Promise<void>;
  read(run: string): Promise<RunDetails>;
  /** Waits for the run's end. */
  ended(run: string, ms?: number): Promise<RunDetails>;
  /** Waits until the predicate holds of the run. */
  seen(run: string, predicate: (run: RunDetails) => boolean, ms?: number): Promise<RunDetails>;
  /** Waits until the host has completed the files of all runs that have ended. */
  tidied(): Promise<void>;
  outputs(run: string): Promise<StoredRunOutput[]>;
  /** What a watcher sees of an attempt's text. */
  shown(run: string, attempt: number): Promise<string>;
  /** Every start of the scripted CLI. */
  starts(): CliStart[];
  /** Living CLIs and their children. */
  living(): number[];
  file(name: string): string;
  metadata(name: string): Record<string, unknown>;
  close(): Promise<void>;
}

/** Short, so that a test need not wait for minutes. */
export const quick: Partial<RunTimings> = { backoff: 50, heartbeat: 12_000, hostPatience: 4_000 };

/** `shared`: of the worker on the shared queue. */
export async function startTestRuns(
  timings: Partial<RunTimings> = quick,
  shared: Partial<TurnWorkerOptions> = {},
): Promise<TestRuns> {
  const planner = await startTestPlanner();
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'runs-')));
  const [repo, home] = ['repo', 'home'].map((name) => path.join(root, name)) as [string, string];
  for (const folder of [repo, home]) mkdirSync(folder);
  mkdirSync(path.join(repo, '.partner'));
  writeFileSync(path.join(repo, '.partner', 'config.toml'), identities());
  const workerLog = path.join(root, 'workers.log');
  const env = { PATH: process.env['PATH'], HOME: home, PARTNER_CLAUDE_BIN: scripted };
  const { alias } = await transaction(planner.database, (tx) =>
    registerRepository(tx, { machine: testMachine, path: repo, project: 'WEB', alias: 'shop' }),
  );
  await planner.startWorker({ runTimings: timings, ...shared });
  const workers: TurnWorker[] = [];
  const children: ChildProcess[] = [];
  const warnings: string[] = [];
  const warn = (message: string, error?: unknown): void => void warnings.push(`${message} ${String(error ?? '')}`);
  const { database } = planner;
  const runs: TestRuns = {
    planner,
    repo,
    home,
    env,
    play(...modes) {
      writeFileSync(path.join(home, 'scripted-claude.json'), JSON.stringify({ modes }));
      rmSync(path.join(home, 'scripted-claude.log'), { force: true });
    },
    async startHost(options = {}) {
      const { temporal } = planner;
      const worker = await startHostWorker({ database, temporal, machine: testMachine, env, shutdownGraceMs: 300, warn, ...options });
      workers.push(worker);
      return worker;
    },
    async spawnHost() {
      const child = spawn(process.execPath, [workerProgram], {
        stdio: ['ignore', 'pipe', openSync(workerLog, 'a')],
        env: {
          ...env,
          DATABASE_URL: planner.url,
          TEMPORAL_ADDRESS: planner.temporal.address,
          TEMPORAL_NAMESPACE: planner.temporal.namespace,
          PLANNER_MACHINE: testMachine,
          RUN_TIMINGS: JSON.stringify(timings),
        },
      });
      children.push(child);
      const died = once(child, 'exit').then(([code]) => `it ended with ${code}`);
      const said = once(child.stdout!, 'data').then(([chunk]) => String(chunk));
      const first = await Promise.race([said, died]);
      if (!first.includes('ready')) throw new Error(`the worker did not start: ${first}; ${runs.workerLog().slice(-2_000)}`);
      return child;
    },
    workerLog: () => (existsSync(workerLog) ? readFileSync(workerLog, 'utf8') : ''),
    async start(request = {}) {
      const wanted = { repo: alias, host: 'codex', role: 'deep_reasoner', packet, ...request };
      return (await startRun(database, ada, wanted)).run;
    },
    async cancel(run) {
      await cancelRun(database, ada, { run });
    },
    async resume(run, change = {}) {
      await resumeRun(database, ada, { run, ...change });
    },
    read: (run) => readRun(database, ada, run),
    ended: (run, ms = 30_000) => runs.seen(run, (now) => now.ended_at !== undefined, ms),
    async seen(run, predicate, ms = 20_000) {
      let last: RunDetails | undefined;
      return until(`run ${run}`, async () => {
        last = await runs.read(run);
        return predicate(last) && last;
      }, ms).catch((error: Error) => {
        const { packet: _, limits: __, ...now } = last!;
        throw new Error(`${error.message}: ${JSON.stringify(now)}; warnings: ${warnings.join('; ')}`);
      });
    },
    async tidied() {
      await until('the artifacts', async () => {
        const left = await database.query(
          `SELECT 1 FROM bounded_runs WHERE NOT artifacts_done AND status NOT IN ('pending', 'running')`,
        );
        return left.length === 0;
      });
    },
    outputs: (run) => readRunOutputs(database, run),
    async shown(run, attempt) {
      const texts = (await runs.outputs(run)).filter((output) => output.attempt === attempt);
      return texts.reduce((text, { body }) => (body.type !== 'text' ? text : body.replace ? body.text : text + body.text), '');
    },
    starts() {
      const log = path.join(home, 'scripted-claude.log');
      if (!existsSync(log)) return [];
      return readFileSync(log, 'utf8').trim().split('\n').map((line) => JSON.parse(line) as CliStart);
    },
    living: () => withHome(home),
    file: (name) => readFileSync(path.join(repo, name), 'utf8'),
    metadata: (name) => JSON.parse(runs.file(`.partner/runs/${name}/metadata.json`)) as Record<string, unknown>,
    async close() {
      for (const child of children) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        child.kill('SIGCONT');
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      await Promise.all(workers.map((worker) => worker.close()));
      await planner.close();
      chmodSync(repo, 0o700);
      rmSync(root, { recursive: true, force: true });
    },
  };
  return runs;
}

function identities(): string {
  const table = (role: string, name: string): string =>
    `[hosts.codex.identities.${role}]\nbackend = "claude"\nmodel = "${name}"\neffort = "high"\nverified = true\n`;
  const tables = [table('deep_reasoner', model), table('arbiter', 'claude-fable-5')];
  return `schema_version = 2\n\n${tables.join('\n')}\n`;
}

/** CLIs and what they started: the guards and workers have another argument. */
function withHome(home: string): number[] {
  return withEnvironment(`HOME=${home}`).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'utf8').includes('PARTNER_RUN_MARKER=');
    } catch {
      return false;
    }
  });
}

export const listAll = (runs: TestRuns) => listRuns(runs.planner.database, ada, { project: 'WEB', limit: 500 });

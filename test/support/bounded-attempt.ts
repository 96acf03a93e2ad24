// An attempt of a bounded run in directories of its own, with the scripted CLI; and what still lives of it.

import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRunDir } from '../../claude/artifacts.ts';
import { cliEnvironment } from '../../claude/environment.ts';
import { promptFor } from '../../claude/prompt.ts';
import {
  defaultLimits,
  type AttemptLimits,
  type AttemptOutcome,
  type AttemptPlan,
  type AttemptState,
  type TextChange,
} from '../../claude/types.ts';
import { superviseAttempt } from '../../claude/supervise.ts';

export const scriptedCli = fileURLToPath(new URL('scripted-claude.mjs', import.meta.url));

export const packet =
  [
    '# Partner Bounded Planning Packet',
    '## Goal',
    'Add a health check.',
    '## Non-goals',
    'No metrics.',
    '## Current-State Evidence',
    'There is `server.ts`.',
    '## Constraints',
    'No new package.',
    '## Acceptance',
    'GET /healthz answers 200.',
    '## Open Decisions',
    'none',
    '## Truncation',
    'none',
  ].join('\n\n') + '\n';

export interface Bench {
  root: string;
  /** Its attempts are swept by it alone. */
  installation: string;
  repo: string;
  home: string;
  /** Touched by the scripted CLI and its grandchild as long as they live. */
  heartbeat: string;
  plan(
    mode: string,
    more?: Partial<Omit<AttemptPlan, 'limits'>> & { limits?: Partial<AttemptLimits> },
  ): Promise<AttemptPlan>;
  /** Starts a worker process that supervises the attempt. */
  worker(plan: AttemptPlan): Worker;
  /** Living CLIs and their children: of all attempts of this bench, or of one. */
  living(runId?: string): number[];
  /** How often the scripted CLI was started for a session. */
  starts(session: string): number;
  remove(): void;
}

export function createBench(): Bench {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'bounded-')));
  const [repo, home, work] = ['repo', 'home', 'work'].map((name) => path.join(root, name)) as [string, string, string];
  for (const folder of [repo, home, work]) mkdirSync(folder);
  const heartbeat = path.join(root, 'heartbeat');
  const installation = randomUUID();
  return {
    root,
    installation,
    repo,
    home,
    heartbeat,
    async plan(mode, more = {}) {
      const runId = more.runId ?? `run-${randomUUID().slice(0, 8)}`;
      const attempt = more.attempt ?? 1;
      const environment = {
        ...cliEnvironment({ PATH: process.env['PATH'], HOME: home }),
        SCRIPTED_CLAUDE_MODE: mode,
        SCRIPTED_CLAUDE_HEARTBEAT: heartbeat,
        SCRIPTED_CLAUDE_BENCH: root,
        SCRIPTED_CLAUDE_RUN: runId,
      };
      return {
        runId,
        attempt,
        runDir: more.runDir ?? (await createRunDir(repo, runId, attempt, 0)),
        workDir: work,
        cli: { path: scriptedCli, version: '2.1.332', sha256: '0'.repeat(64) },
        model: 'claude-opus-4-8',
        effort: 'high',
        budgetUsd: 2,
        session: { kind: 'fresh', id: randomUUID() },
        prompt: promptFor({ kind: 'fresh' }, packet),
        environment,
        installation,
        ...more,
        limits: { ...defaultLimits, ...more.limits },
      };
    },
    worker: (plan) => startWorker(root, plan),
    living: (runId) => withEnvironment(runId ? `SCRIPTED_CLAUDE_RUN=${runId}` : `SCRIPTED_CLAUDE_BENCH=${root}`),
    starts: (session) => {
      const log = path.join(home, 'scripted-claude.log');
      return existsSync(log)
        ? readFileSync(log, 'utf8')
            .split('\n')
            .filter((line) => line.includes(session)).length
        : 0;
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

export interface Worker {
  process: ChildProcess;
  pid: number;
  /** The phases that it told so far. */
  phases(): string[];
  outcome(): { outcome: AttemptOutcome; peakBytes: number } | undefined;
}

const workerProgram = fileURLToPath(new URL('attempt-worker.ts', import.meta.url));

function startWorker(root: string, plan: AttemptPlan): Worker {
  const [planFile, outcomeFile] = ['plan', 'outcome'].map((name) => path.join(root, `${plan.runId}.${name}.json`)) as [
    string,
    string,
  ];
  writeFileSync(planFile, JSON.stringify(plan));
  const child = spawn(process.execPath, [workerProgram, planFile, outcomeFile], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  return {
    process: child,
    pid: child.pid ?? 0,
    phases: () => said.split('\n').filter((line) => line !== ''),
    outcome: () => (existsSync(outcomeFile) ? JSON.parse(readFileSync(outcomeFile, 'utf8')) : undefined),
  };
}

/** Living processes, zombies left out, whose environment holds the entry. */
export function withEnvironment(entry: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
        return (
          stat[stat.lastIndexOf(')') + 2] !== 'Z' &&
          readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(entry)
        );
      } catch {
        return false;
      }
    });
}

export interface Watched {
  states: AttemptState[];
  changes: TextChange[];
  /** What a watcher of the changes sees. */
  shown(): string;
}

export function watch(): Watched & { hooks(signal?: AbortSignal): Parameters<typeof superviseAttempt>[1] } {
  const states: AttemptState[] = [];
  const changes: TextChange[] = [];
  return {
    states,
    changes,
    shown: () => changes.reduce((text, change) => ('replace' in change ? change.replace : text + change.append), ''),
    hooks: (signal = new AbortController().signal) => ({
      signal,
      onChange: (state) => void states.push(state),
      onText: (change) => void changes.push(change),
    }),
  };
}

export function until(what: string, check: () => boolean, limitMs = 20_000): Promise<void> {
  const end = performance.now() + limitMs;
  return new Promise((resolve, reject) => {
    // What a look throws ends the wait: thrown in a timer it would end nothing.
    const look = (): void => {
      try {
        if (check()) resolve();
        else if (performance.now() > end) reject(new Error(`Not within ${limitMs} ms: ${what}`));
        else setTimeout(look, 20);
      } catch (error) {
        reject(error);
      }
    };
    look();
  });
}

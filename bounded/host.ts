// What the worker of a repository's computer has for its runs.

import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import path from 'node:path';
import {
  ArtifactError,
  assertInside,
  cliEnvironment,
  findCli,
  type AttemptLimits,
  type CliIdentity,
  type LostAttempt,
} from '../claude/index.ts';
import type { Limits } from '../domain/bounded/limits.ts';
import { parseOutputPath, runPath } from '../domain/bounded/run-id.ts';
import { DomainError } from '../domain/errors.ts';
import type { LiveCalls } from '../planner/live-calls.ts';
import type { AttemptRow } from '../store/attempts.ts';
import type { Database } from '../store/database.ts';
import type { RunRow } from '../store/runs.ts';

export interface HostRoom {
  database: Database;
  machine: string;
  /** By `installationOf`. */
  installation: string;
  /** Where the CLI and the user's identities are looked for, and what the CLI may see of it. */
  env: NodeJS.ProcessEnv;
  /** Attempts that this process supervises, by run: where a stop arrives first. */
  liveRuns: LiveCalls;
  warn(message: string, error?: unknown): void;
}

const demoCli = fileURLToPath(new URL('../claude/demo-cli.mjs', import.meta.url));

/** The demonstration needs the Node that runs this. */
function demoEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const folder = path.dirname(process.execPath);
  return { ...env, PATH: `${folder}${path.delimiter}${env['PATH'] ?? ''}`, PARTNER_CLAUDE_BIN: demoCli };
}

/**
 * Names this installation among those of a computer: its database. The same for all of its workers, for ever; a sweep
 * ends only what was started under the same name.
 */
export async function installationOf(database: Database): Promise<string> {
  const [row] = await database.query<{ name: string }>(
    `SELECT concat_ws(' ', (SELECT min(applied_at) AT TIME ZONE 'UTC' FROM schema_migrations), oid, datname) AS name
       FROM pg_database WHERE datname = current_database()`,
  );
  return createHash('sha256').update(row?.name ?? '').digest('hex').slice(0, 12);
}

/** @throws CliError */
export const cliOf = (room: Pick<HostRoom, 'env'>, run: Pick<RunRow, 'demo'>): Promise<CliIdentity> =>
  findCli(run.demo ? demoEnvironment(room.env) : room.env);

export const environmentOf = (room: HostRoom, run: Pick<RunRow, 'demo'>): Record<string, string> =>
  cliEnvironment(run.demo ? demoEnvironment(room.env) : room.env);

export const runDirOf = (run: Pick<RunRow, 'repo_path' | 'run_id'>, attempt: number): string =>
  path.join(run.repo_path, runPath(run.run_id, attempt));

export const outputOf = (run: Pick<RunRow, 'repo_path' | 'output'>): string => path.join(run.repo_path, run.output);

/**
 * The file of a run's plan with every link resolved: still inside the repository, and still none that is not to be
 * written. @throws ArtifactError
 */
export async function targetOf({ repo_path, output }: Pick<RunRow, 'repo_path' | 'output'>): Promise<string> {
  const file = await assertInside(repo_path, output);
  try {
    parseOutputPath(file, await realpath(repo_path));
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    throw new ArtifactError('outside', `${output} leads to ${file}: ${error.message}`);
  }
  return file;
}

const settleMs = 5_000;

function attemptLimits(limits: Limits): AttemptLimits {
  return {
    wallMs: limits.wall_timeout_seconds * 1_000,
    idleMs: limits.idle_timeout_seconds * 1_000,
    upstreamIdleMs: limits.upstream_idle_seconds * 1_000,
    settleMs,
    maxLineBytes: limits.max_line_bytes,
    maxVisibleCharacters: limits.max_visible_chars,
    maxLogBytes: limits.max_log_bytes,
  };
}

/** What a successor needs to know of an attempt. */
export function planOf(run: RunRow, attempt: AttemptRow): LostAttempt {
  return {
    runId: run.run_id,
    attempt: attempt.attempt,
    runDir: runDirOf(run, attempt.attempt),
    workDir: run.work_dir ?? '',
    cli: attempt.cli,
    model: attempt.identity.model,
    effort: attempt.identity.effort,
    budgetUsd: attempt.budget_usd,
    limits: attemptLimits(run.limits),
    session: { kind: attempt.session_kind, id: attempt.session_id },
  };
}

// Attempts of bounded runs: one row a CLI, its fence, its end (spec: bounded-claude 4, 5, 7).

import type { FailureKind } from '../domain/bounded/failures.ts';
import type { Host, Identity, Role } from '../domain/bounded/identity.ts';
import type { Queryable, Tx } from './database.ts';
import { isOpen, RunLost, runEvent, runIds, tell, type Approval, type Cli, type RunRow } from './runs.ts';

/** What the CLI boundary told of an attempt's end, beside text, warnings and verdict. */
export interface KeptOutcome {
  observed: { session_ids: string[]; models: string[]; cli_version: string | null };
  streamed: { input_tokens: number; output_tokens: number };
  usage: Record<string, unknown> | null;
  costUsd: number | null;
  numTurns: number | null;
  returncode: number | null;
  signal: string | null;
  durationMs: number;
  stderrTail: string;
}

export interface AttemptRow {
  run: string;
  attempt: number;
  cycle: number;
  host: Host;
  role: Role;
  identity: Identity;
  approval: Approval | null;
  session_id: string;
  session_kind: 'fresh' | 'resume';
  /** The session holds the packet already. */
  packet_held: boolean;
  /** USD that this attempt may spend. */
  budget_usd: number;
  cli: Cli;
  status: 'running' | 'succeeded' | 'failed';
  fence: number;
  failure_kind: FailureKind | null;
  failure_detail: string | null;
  checkpoint: string;
  warnings: string[];
  /** Null: no CLI was ever started, or its end is not known yet. */
  outcome: KeptOutcome | null;
  /** Cumulative over the session, as the CLI reports it. */
  session_cost_usd: number | null;
  /** This attempt's share. */
  cost_usd: number;
  cost_estimated: boolean;
  recovery: string | null;
  workflow_run_id: string;
  started_at: string;
  ended_at: string | null;
}

const columns = `run, attempt, cycle, host, role, identity, approval, session_id, session_kind, packet_held, budget_usd,
  cli, status, fence, failure_kind, failure_detail, checkpoint, warnings, outcome, session_cost_usd, cost_usd,
  cost_estimated, recovery, workflow_run_id, started_at, ended_at`;

/** In order. */
export async function readAttempts(q: Queryable, run: string): Promise<AttemptRow[]> {
  return q.query<AttemptRow>(`SELECT ${columns} FROM bounded_attempts WHERE run = $1 ORDER BY attempt`, [run]);
}

/** Whether a run's first attempt is ended on purpose, after its first text (spec: bounded-claude 9). */
export async function interruptsFirst(q: Queryable, run: string): Promise<boolean> {
  const sql = 'SELECT interrupt_first FROM bounded_runs WHERE id = $1';
  return (await q.query<{ interrupt_first: boolean }>(sql, [run]))[0]?.interrupt_first === true;
}

/** Its row is locked. */
export async function markInterrupted(tx: Tx, { run, attempt }: Pick<AttemptRow, 'run' | 'attempt'>): Promise<void> {
  await tx.query('UPDATE bounded_attempts SET interrupted = true WHERE run = $1 AND attempt = $2', [run, attempt]);
}

export type NewAttempt = Pick<
  AttemptRow,
  | 'run' | 'attempt' | 'cycle' | 'host' | 'role' | 'identity' | 'approval' | 'session_id' | 'session_kind'
  | 'packet_held' | 'budget_usd' | 'cli' | 'workflow_run_id'
>;

/** The run's row is locked. */
export async function insertAttempt(tx: Tx, attempt: NewAttempt): Promise<void> {
  const names = Object.keys(attempt) as (keyof NewAttempt)[];
  const json = new Set<keyof NewAttempt>(['identity', 'approval', 'cli']);
  const value = (name: keyof NewAttempt): unknown =>
    json.has(name) && attempt[name] !== null ? JSON.stringify(attempt[name]) : attempt[name];
  await tx.query(
    `INSERT INTO bounded_attempts (${names.join(', ')})
     VALUES (${names.map((_, index) => `$${index + 1}`).join(', ')})`,
    names.map(value),
  );
  await tx.query('UPDATE bounded_runs SET attempts = $2 WHERE id = $1', [attempt.run, attempt.attempt]);
}

/** Takes an attempt over; what an earlier holder writes comes too late. The run's row is locked. */
export async function takeAttempt(tx: Tx, run: string, attempt: number): Promise<AttemptRow> {
  const [row] = await tx.query<AttemptRow>(
    `UPDATE bounded_attempts SET fence = fence + 1 WHERE run = $1 AND attempt = $2 RETURNING ${columns}`,
    [run, attempt],
  );
  if (!row) throw new RunLost();
  return row;
}

/** Locks an attempt that still runs under `fence`. Errors: RunLost. The run's row is locked. */
export async function lockAttempt(tx: Tx, run: string, attempt: number, fence: number): Promise<AttemptRow> {
  const [row] = await tx.query<AttemptRow>(
    `SELECT ${columns} FROM bounded_attempts
     WHERE run = $1 AND attempt = $2 AND fence = $3 AND status = 'running' FOR NO KEY UPDATE`,
    [run, attempt, fence],
  );
  if (!row) throw new RunLost();
  return row;
}

export type AttemptResult = Pick<
  AttemptRow,
  | 'failure_kind'
  | 'failure_detail'
  | 'checkpoint'
  | 'warnings'
  | 'outcome'
  | 'session_cost_usd'
  | 'cost_usd'
  | 'cost_estimated'
> & { status: 'succeeded' | 'failed' };

/** Ends an attempt that is locked: its result, its event, its outputs, the run's cost. */
export async function endAttempt(tx: Tx, run: RunRow, row: AttemptRow, result: AttemptResult): Promise<void> {
  await tx.query(
    `UPDATE bounded_attempts SET status = $3, failure_kind = $4, failure_detail = $5, checkpoint = $6, warnings = $7,
       outcome = $8, session_cost_usd = $9, cost_usd = $10, cost_estimated = $11, ended_at = now()
     WHERE run = $1 AND attempt = $2`,
    [
      row.run,
      row.attempt,
      result.status,
      result.failure_kind,
      result.failure_detail,
      result.checkpoint,
      JSON.stringify(result.warnings),
      result.outcome ? JSON.stringify(result.outcome) : null,
      result.session_cost_usd,
      result.cost_usd,
      result.cost_estimated,
    ],
  );
  await tx.query(
    `UPDATE bounded_runs SET progress_at = now(),
       cost_usd = (SELECT sum(cost_usd) FROM bounded_attempts WHERE run = $1),
       cost_estimated = (SELECT bool_or(cost_estimated) FROM bounded_attempts WHERE run = $1)
     WHERE id = $1`,
    [row.run],
  );
  const { status, failure_kind, failure_detail, cost_usd, cost_estimated } = result;
  // Nothing is told after a run's end.
  if (isOpen(run)) {
    for (const text of result.warnings) tell(tx, run, { type: 'warning', text }, row.attempt);
    tell(tx, run, { type: 'checkpoint', text: result.checkpoint }, row.attempt);
    if (failure_kind) {
      tell(tx, run, { type: 'attempt_failed', failure_kind, failure_detail: failure_detail ?? '' }, row.attempt);
    }
  }
  const facts = { attempt: row.attempt, status, failure_kind, cost_usd, cost_estimated };
  tx.emit(runEvent(run, 'bounded_run.attempt_ended', facts));
  const ids = { ...runIds(run), attempt: row.attempt };
  tx.fact({ kind: 'attempt_ended', ids, failure: failure_kind, cost_usd });
}

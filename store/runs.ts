// Bounded runs and their attempts: one run a run id and repository, its cycle, its end (spec: bounded-claude 1, 5, 7).

import type { Actor } from '../domain/actor.ts';
import { failureSentences, type FailureKind } from '../domain/bounded/failures.ts';
import type { Host, Identity, Role } from '../domain/bounded/identity.ts';
import type { Limits } from '../domain/bounded/limits.ts';
import { DomainError } from '../domain/errors.ts';
import type { RunEnd, RunRef } from '../domain/run.ts';
import type { RunOutputBody } from '../domain/run-output.ts';
import { noteIds, type LogIds } from '../telemetry/log.ts';
import type { Database, Queryable, Tx } from './database.ts';

export interface Approval {
  role: Role;
  text: string;
}

export interface Cli {
  path: string;
  version: string;
  sha256: string;
}

export type RunStatusName = 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled' | 'rejected';

export interface RunRow {
  id: string;
  repository_id: string;
  alias: string;
  machine: string;
  repo_path: string;
  path_hash: string;
  project: string;
  project_id: string;
  organization_id: string;
  run_id: string;
  host: Host;
  role: Role;
  packet: string;
  packet_sha256: string;
  packet_chars: number;
  /** The file that it was read from, as the asker named it; for the command in recovery.md. */
  packet_name: string;
  /** Relative to the repository. */
  output: string;
  limits: Limits;
  lowered: string[];
  budget_usd: number;
  allow_unverified: boolean;
  demo: boolean;
  /** Resolved by the preflight. */
  identity: Identity | null;
  approval: Approval | null;
  cli: Cli | null;
  work_dir: string | null;
  status: RunStatusName;
  phase: string;
  failure_kind: FailureKind | null;
  failure_detail: string | null;
  problems: string[] | null;
  cycle: number;
  attempts: number;
  cost_usd: number;
  cost_estimated: boolean;
  workflow_id: string;
  workflow_run_id: string | null;
  dir_claimed: boolean;
  cancel_requested_at: string | null;
  cancel_by: string | null;
  created_by: string;
  /** Of the request that it comes from, or its last resume. */
  trace_id: string | null;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
  artifacts_done: boolean;
}

const columns = `b.id, b.repository_id, r.alias, r.machine, r.path AS repo_path, r.path_hash, p.key AS project,
  b.project_id, p.organization_id, b.run_id, b.host, b.role, b.packet, b.packet_sha256, b.packet_chars, b.packet_name, b.output,
  b.limits, b.lowered, b.budget_usd, b.allow_unverified, b.demo, b.identity, b.approval, b.cli, b.work_dir, b.status,
  b.phase, b.failure_kind, b.failure_detail, b.problems, b.cycle, b.attempts, b.cost_usd, b.cost_estimated,
  b.workflow_id, b.workflow_run_id, b.dir_claimed, b.cancel_requested_at, b.cancel_by, b.created_by, b.trace_id, b.created_at,
  b.started_at, b.ended_at, b.artifacts_done`;
const tables = `bounded_runs b JOIN repositories r ON r.id = b.repository_id JOIN projects p ON p.id = b.project_id`;

export const isOpen = (row: Pick<RunRow, 'status'>): boolean => row.status === 'pending' || row.status === 'running';

/** Thrown where a write comes too late: the run has ended, or goes on elsewhere. Nothing was written. */
export class RunLost extends Error {
  constructor() {
    super('the run has ended or goes on elsewhere');
  }
}

export async function findRun(q: Queryable, id: string): Promise<RunRow | undefined> {
  const [row] = await q.query<RunRow>(`SELECT ${columns} FROM ${tables} WHERE b.id = $1`, [id]);
  return row;
}

/** Runs of that id, compared without case, in any repository; rejected ones left out. */
export async function findRunsByKey(q: Queryable, key: string, alias?: string): Promise<RunRow[]> {
  return q.query<RunRow>(
    `SELECT ${columns} FROM ${tables}
     WHERE b.run_key = $1 AND b.status <> 'rejected' AND ($2::text IS NULL OR r.alias = $2) ORDER BY b.id DESC`,
    [key, alias ?? null],
  );
}

/** The newest rejected run of that id in each repository. */
export async function findRejectedRuns(q: Queryable, key: string, alias?: string): Promise<RunRow[]> {
  return q.query<RunRow>(
    `SELECT DISTINCT ON (b.repository_id) ${columns} FROM ${tables}
     WHERE b.run_key = $1 AND b.status = 'rejected' AND ($2::text IS NULL OR r.alias = $2)
     ORDER BY b.repository_id, b.id DESC`,
    [key, alias ?? null],
  );
}

/** The runs of some projects, newest first. */
export async function selectRuns(
  q: Queryable,
  wanted: { projects: readonly string[]; limit: number; after?: string | undefined },
): Promise<RunRow[]> {
  return q.query<RunRow>(
    `SELECT ${columns} FROM ${tables}
     WHERE b.project_id = ANY ($1::uuid[]) AND ($2::uuid IS NULL OR b.id < $2) ORDER BY b.id DESC LIMIT $3`,
    [wanted.projects, wanted.after ?? null, wanted.limit],
  );
}

/** Locks the run's row until the transaction ends. */
export async function lockRun(tx: Tx, id: string): Promise<RunRow> {
  const [row] = await tx.query<RunRow>(`SELECT ${columns} FROM ${tables} WHERE b.id = $1 FOR NO KEY UPDATE OF b`, [id]);
  if (!row) throw new DomainError('not_found', 'This run does not exist.');
  noteIds(runIds(row));
  return row;
}

/** What log lines about a run carry. */
export function runIds({ id, workflow_id, trace_id }: RunRow): LogIds {
  return { run: id, workflow: workflow_id, ...(trace_id === null ? {} : { trace_id }) };
}

/** Locks a run that goes on in this cycle. Errors: RunLost. */
export async function lockCycle(tx: Tx, { run, cycle }: RunRef): Promise<RunRow> {
  const row = await lockRun(tx, run);
  if (!isOpen(row) || row.cycle !== cycle) throw new RunLost();
  return row;
}

export type NewRun = Pick<
  RunRow,
  | 'id' | 'repository_id' | 'project_id' | 'run_id' | 'host' | 'role' | 'packet' | 'packet_sha256' | 'packet_chars'
  | 'packet_name' | 'output' | 'limits' | 'lowered' | 'budget_usd' | 'allow_unverified' | 'demo' | 'workflow_id'
  | 'created_by' | 'trace_id'
> & { run_key: string };

/** False when the repository has a run of that id, compared without case; nothing was written then. */
export async function insertRun(tx: Tx, run: NewRun): Promise<boolean> {
  const names = Object.keys(run) as (keyof NewRun)[];
  const json = new Set<keyof NewRun>(['limits', 'lowered']);
  const inserted = await tx.query(
    `INSERT INTO bounded_runs (${names.join(', ')}) VALUES (${names.map((_, index) => `$${index + 1}`).join(', ')})
     ON CONFLICT DO NOTHING RETURNING id`,
    names.map((name) => (json.has(name) ? JSON.stringify(run[name]) : run[name])),
  );
  if (inserted.length === 0) return false;
  await tx.query('INSERT INTO planner_output_counters (session_id) VALUES ($1)', [run.id]);
  tx.notify({ channel: 'runs', id: run.id });
  return true;
}

/** What a run says to its watchers. */
export function tell(tx: Tx, row: Pick<RunRow, 'id' | 'attempts'>, body: RunOutputBody, attempt = row.attempts): void {
  tx.output({ run: row.id, attempt, body });
}

/** Sets what the run does, for people. */
export async function setPhase(tx: Tx, row: RunRow, phase: string, failure?: FailureKind): Promise<void> {
  await tx.query(
    'UPDATE bounded_runs SET phase = $2, failure_kind = $3, failure_detail = $4, progress_at = now() WHERE id = $1',
    [row.id, phase, failure ?? null, failure ? failureSentences[failure] : null],
  );
  tell(tx, row, { type: 'status', phase });
}

/**
 * Ends a run whose row is locked: `error` and `done` are told, its host completes the artifacts. Nothing is written for
 * it afterwards but its artifacts. `rejected`: a resume was refused, the run is what it was before.
 */
export async function finishRun(
  tx: Tx,
  row: RunRow,
  end: Exclude<RunEnd, { status: 'superseded' }>,
  told: { detail?: string; problems?: string[]; rejected?: boolean } = {},
): Promise<void> {
  const failure = end.status === 'failed' ? end.failure : end.status === 'cancelled' ? end.status : undefined;
  const detail = failure ? (told.detail ?? failureSentences[failure]) : (told.problems?.join('\n') ?? null);
  const [ended] = await tx.query<{ seconds: number }>(
    `UPDATE bounded_runs SET status = $2, phase = 'ended', failure_kind = $3, failure_detail = $4, problems = $5,
       ended_at = now(), progress_at = now(), artifacts_done = false WHERE id = $1
     RETURNING extract(epoch FROM now() - coalesce(dispatched_at, created_at))::float8 AS seconds`,
    [row.id, end.status, failure ?? null, detail, told.problems ? JSON.stringify(told.problems) : null],
  );
  const rejected = told.rejected === true || end.status === 'rejected';
  const text = told.problems?.join('\n') ?? detail;
  if (text !== null) tell(tx, row, { type: 'error', text });
  const kind = failure && !rejected ? { failure_kind: failure } : {};
  const status = rejected ? 'rejected' : end.status;
  tell(tx, row, { type: 'done', status, ...kind });
  tx.notify({ channel: 'run_ends', id: row.id });
  tx.fact({ kind: 'run_ended', ids: runIds(row), status, failure: rejected ? null : (failure ?? null), ...ended! });
  if (rejected) return;
  const { attempts, cost_usd } = row;
  const facts = { status: end.status, failure_kind: failure ?? null, attempts, cost_usd };
  tx.emit(runEvent(row, 'bounded_run.ended', facts));
}

export function runEvent(
  row: RunRow,
  type: 'bounded_run.started' | 'bounded_run.attempt_ended' | 'bounded_run.ended',
  payload: Record<string, unknown>,
  actor: Actor = { kind: 'service', subject: `bounded_run:${row.id}`, acting_for: row.created_by },
) {
  return {
    type,
    organization_id: row.organization_id,
    project_id: row.project_id,
    entity_type: 'bounded_run',
    entity_id: row.id,
    entity_key: row.run_id,
    actor,
    payload: { run_id: row.run_id, repo: row.alias, ...payload },
  };
}

/** Ends a run from outside its workflow. False when it had ended, or goes on in another cycle. */
export async function endRunFromOutside(
  tx: Tx,
  { run, cycle }: RunRef,
  end: Exclude<RunEnd, { status: 'superseded' | 'rejected' }>,
  detail?: string,
): Promise<boolean> {
  const row = await lockRun(tx, run);
  if (!isOpen(row) || row.cycle !== cycle) return false;
  await finishRun(tx, row, end, detail === undefined ? {} : { detail });
  return true;
}

export type RunToStart = Pick<
  RunRow,
  'id' | 'cycle' | 'workflow_id' | 'machine' | 'project' | 'role' | 'created_by'
>;

/** Pending runs that no process has begun to start, claimed for this one. */
export async function claimPendingRuns(database: Database, limit: number): Promise<RunToStart[]> {
  return database.query(
    `UPDATE bounded_runs b SET dispatched_at = now(), progress_at = now()
     FROM repositories r, projects p
     WHERE p.id = b.project_id AND r.id = b.repository_id AND b.id IN (
       SELECT id FROM bounded_runs WHERE status = 'pending' AND dispatched_at IS NULL
       ORDER BY id LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED)
     RETURNING b.id, b.cycle, b.workflow_id, r.machine, p.key AS project, b.role, b.created_by`,
    [limit],
  );
}

/** Hands a claimed run back after its start failed. */
export async function releasePendingRun(database: Database, run: string): Promise<void> {
  await database.query(`UPDATE bounded_runs SET dispatched_at = NULL WHERE id = $1 AND status = 'pending'`, [run]);
}

/** Runs with a stop that was asked for and has not happened, with the seconds since. */
export async function flaggedRuns(
  database: Database,
): Promise<(Pick<RunRow, 'id' | 'cycle' | 'workflow_id' | 'cancel_by'> & { age: number })[]> {
  return database.query(
    `SELECT id, cycle, workflow_id, cancel_by, extract(epoch FROM now() - cancel_requested_at)::float8 AS age
     FROM bounded_runs WHERE status IN ('pending', 'running') AND cancel_requested_at IS NOT NULL
     ORDER BY cancel_requested_at LIMIT 500`,
  );
}

/** Runs without progress for `seconds`, claimed so that one process looks at each; looked at again after as long. */
export async function claimStuckRuns(
  database: Database,
  seconds: number,
): Promise<(RunToStart & Pick<RunRow, 'status'>)[]> {
  return database.query(
    `UPDATE bounded_runs b SET progress_at = now() FROM repositories r, projects p
     WHERE p.id = b.project_id AND r.id = b.repository_id AND b.id IN (
       SELECT id FROM bounded_runs
       WHERE status IN ('pending', 'running') AND progress_at < now() - make_interval(secs => $1)
       ORDER BY progress_at LIMIT 100 FOR NO KEY UPDATE SKIP LOCKED)
     RETURNING b.id, b.cycle, b.workflow_id, r.machine, p.key AS project, b.role, b.created_by, b.status`,
    [seconds],
  );
}

/** Runs of a computer that have ended and whose directories are not complete yet. */
export async function untidyRuns(q: Queryable, machine: string): Promise<RunRow[]> {
  return q.query<RunRow>(
    `SELECT ${columns} FROM ${tables} WHERE r.machine = $1 AND NOT b.artifacts_done
       AND b.status NOT IN ('pending', 'running') ORDER BY b.ended_at LIMIT 100`,
    [machine],
  );
}

/** Deletes the outputs of runs that ended more than an hour ago, and says so in the counter row. */
export async function pruneRunOutputs(tx: Tx, keepSeconds = 3_600): Promise<number> {
  const gone = await tx.query<{ session_id: string; number: number }>(
    `WITH old AS (
       UPDATE bounded_runs SET outputs_kept = false
       WHERE id IN (SELECT id FROM bounded_runs
                    WHERE outputs_kept AND ended_at < now() - make_interval(secs => $1)
                      AND status NOT IN ('pending', 'running')
                    ORDER BY ended_at LIMIT 50 FOR NO KEY UPDATE SKIP LOCKED)
       RETURNING id
     ), gone AS (
       DELETE FROM planner_outputs o USING old WHERE o.session_id = old.id RETURNING o.session_id, o.number
     )
     SELECT session_id, max(number) AS number FROM gone GROUP BY session_id ORDER BY session_id`,
    [keepSeconds],
  );
  for (const { session_id, number } of gone) {
    await tx.query('UPDATE planner_output_counters SET pruned = greatest(pruned, $2) WHERE session_id = $1', [
      session_id,
      number,
    ]);
  }
  return gone.length;
}

// Re-validations: what they are bound to, their runs and attempts, their failures (spec: bounded-claude 9).

import type { Actor } from '../domain/actor.ts';
import type { Host, Identity, Role } from '../domain/bounded/identity.ts';
import { DomainError } from '../domain/errors.ts';
import {
  claimOf,
  staleReasons,
  type CurrentHashes,
  type Finding,
  type Judged,
  type JudgedAttempt,
  type Verdict,
} from '../domain/revalidation/claim.ts';
import type { Claim, FindingKind, ValidationStatus } from '../domain/revalidation/contract.ts';
import type { FailureKind } from '../domain/bounded/failures.ts';
import type { Database, Queryable, Tx } from './database.ts';
import type { Cli } from './runs.ts';

export interface ValidationRow {
  id: string;
  repository_id: string;
  alias: string;
  machine: string;
  repo_path: string;
  path_hash: string;
  project: string;
  project_id: string;
  organization_id: string;
  schedule_id: string | null;
  host: Host;
  role: Role;
  budget_usd: number;
  demo: boolean;
  status: ValidationStatus;
  phase: string;
  problems: string[];
  identity: Identity | null;
  cli: Cli | null;
  runner_sha256: string | null;
  identity_sha256: string | null;
  confirmed: boolean | null;
  packets_intact: boolean;
  /** As its report says. */
  claim: Claim;
  report_due: boolean;
  workflow_id: string;
  workflow_run_id: string | null;
  cancel_requested_at: string | null;
  cancel_by: string | null;
  created_by: string;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
}

const columns = `v.id, v.repository_id, r.alias, r.machine, r.path AS repo_path, r.path_hash, p.key AS project,
  v.project_id, p.organization_id, v.schedule_id, v.host, v.role, v.budget_usd, v.demo, v.status, v.phase, v.problems,
  v.identity, v.cli, v.runner_sha256, v.identity_sha256, v.confirmed, v.packets_intact, v.claim, v.report_due,
  v.workflow_id, v.workflow_run_id, v.cancel_requested_at, v.cancel_by, v.created_by, v.created_at, v.started_at,
  v.ended_at`;
const tables = 'revalidations v JOIN repositories r ON r.id = v.repository_id JOIN projects p ON p.id = v.project_id';

export const isUnderWay = ({ status }: Pick<ValidationRow, 'status'>): boolean =>
  status === 'pending' || status === 'running';

export async function findValidation(q: Queryable, id: string): Promise<ValidationRow | undefined> {
  const [row] = await q.query<ValidationRow>(`SELECT ${columns} FROM ${tables} WHERE v.id = $1`, [id]);
  return row;
}

/** Locks it until the transaction ends. Errors: not_found. */
export async function lockValidation(tx: Tx, id: string): Promise<ValidationRow> {
  const sql = `SELECT ${columns} FROM ${tables} WHERE v.id = $1 FOR NO KEY UPDATE OF v`;
  const [row] = await tx.query<ValidationRow>(sql, [id]);
  if (!row) throw new DomainError('not_found', 'This re-validation does not exist.');
  return row;
}

/** That of a workflow run, which a schedule has started. */
export async function validationOfWorkflow(q: Queryable, workflowRunId: string): Promise<ValidationRow | undefined> {
  const sql = `SELECT ${columns} FROM ${tables} WHERE v.workflow_run_id = $1`;
  const [row] = await q.query<ValidationRow>(sql, [workflowRunId]);
  return row;
}

export type NewValidation = Pick<
  ValidationRow,
  | 'id' | 'repository_id' | 'project_id' | 'schedule_id' | 'host' | 'role' | 'budget_usd' | 'demo' | 'workflow_id'
  | 'workflow_run_id' | 'created_by'
>;

/** False: another one of the role is under way; nothing was written. */
export async function insertValidation(tx: Tx, row: NewValidation): Promise<boolean> {
  const names = Object.keys(row) as (keyof NewValidation)[];
  const inserted = await tx.query(
    `INSERT INTO revalidations (${names.join(', ')}) VALUES (${names.map((_, index) => `$${index + 1}`).join(', ')})
     ON CONFLICT DO NOTHING RETURNING id`,
    names.map((name) => row[name]),
  );
  tx.notify({ channel: 'revalidations', id: row.id });
  return inserted.length > 0;
}

/** The one of a role that is under way. */
export async function openValidationOf(
  q: Queryable,
  { repository_id, host, role }: Pick<ValidationRow, 'repository_id' | 'host' | 'role'>,
): Promise<string | undefined> {
  const [row] = await q.query<{ id: string }>(
    `SELECT id FROM revalidations
     WHERE repository_id = $1 AND host = $2 AND role = $3 AND status IN ('pending', 'running')`,
    [repository_id, host, role],
  );
  return row?.id;
}

/** Those of some projects, newest first. */
export async function selectValidations(
  q: Queryable,
  wanted: { projects: readonly string[]; limit: number; after?: ValidationRow | undefined },
): Promise<ValidationRow[]> {
  const { projects, limit, after } = wanted;
  return q.query<ValidationRow>(
    `SELECT ${columns} FROM ${tables}
     WHERE v.project_id = ANY ($1::uuid[]) AND ($2::timestamptz IS NULL OR (v.created_at, v.id) < ($2, $3))
     ORDER BY v.created_at DESC, v.id DESC LIMIT $4`,
    [projects, after?.created_at ?? null, after?.id ?? null, limit],
  );
}

/** What it does, for people. Nothing where it has ended. */
export async function setValidationPhase(q: Queryable, id: string, phase: string): Promise<void> {
  await q.query(
    `UPDATE revalidations SET phase = $2, progress_at = now() WHERE id = $1 AND status IN ('pending', 'running')`,
    [id, phase],
  );
}

export interface ValidationAttempt extends JudgedAttempt {
  run_id: string;
  run: string;
  /** Of the run. */
  attempt: number;
  packet_sha256: string;
  packet_chars: number;
  session_kind: 'fresh' | 'resume';
  cost_usd: number;
  cost_estimated: boolean;
  started_at: string;
  ended_at: string | null;
}

interface AttemptFacts extends Omit<ValidationAttempt, 'number' | 'purpose' | 'same_hashes'> {
  identity: Identity;
  cli_sha256: string;
  interrupt_first: boolean;
  kept_sha256: string | null;
}

/** All attempts of its runs, in order. */
export async function readValidationAttempts(q: Queryable, row: ValidationRow): Promise<ValidationAttempt[]> {
  const found = await q.query<AttemptFacts>(
    `SELECT m.position, b.run_id, b.id AS run, a.attempt, b.interrupt_first, b.packet_sha256, b.packet_chars,
            k.sha256 AS kept_sha256, a.status, a.interrupted, a.failure_kind, a.failure_detail, a.session_id,
            a.session_kind, a.identity, a.cli ->> 'sha256' AS cli_sha256, a.cost_usd, a.cost_estimated, a.started_at,
            a.ended_at
     FROM revalidation_runs m JOIN bounded_runs b ON b.id = m.run JOIN bounded_attempts a ON a.run = b.id
     LEFT JOIN revalidation_packets k ON k.validation = m.validation AND k.position = m.position
     WHERE m.validation = $1 ORDER BY m.position, a.attempt`,
    [row.id],
  );
  return found.map(({ identity, cli_sha256, interrupt_first, kept_sha256, ...facts }, index) => ({
    ...facts,
    number: index + 1,
    purpose: !interrupt_first ? 'fresh' : facts.attempt === 1 ? 'interrupted' : 'recovery',
    same_hashes:
      cli_sha256 === row.cli?.sha256 &&
      identity.model === row.identity?.model &&
      identity.effort === row.identity?.effort &&
      facts.packet_sha256 === kept_sha256,
  }));
}

export interface FailureRow extends Finding {
  inspected_by: string | null;
  inspected_at: string | null;
  note: string | null;
}

export async function readFailures(q: Queryable, validation: string): Promise<FailureRow[]> {
  return q.query<FailureRow>(
    `SELECT number, attempt, kind, detail, inspected_by, inspected_at, note
     FROM revalidation_failures WHERE validation = $1 ORDER BY number`,
    [validation],
  );
}

export async function insertFailures(tx: Tx, validation: string, findings: readonly Finding[]): Promise<void> {
  for (const { number, attempt, kind, detail } of findings) {
    await tx.query(
      `INSERT INTO revalidation_failures (validation, number, attempt, kind, detail) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT DO NOTHING`,
      [validation, number, attempt, kind, detail],
    );
  }
}

export interface PacketRow {
  position: number;
  text: string;
  sha256: string;
  characters: number;
}

export async function readPackets(q: Queryable, validation: string): Promise<PacketRow[]> {
  const sql = `SELECT position, text, sha256, characters FROM revalidation_packets
     WHERE validation = $1 ORDER BY position`;
  return q.query<PacketRow>(sql, [validation]);
}

/** What the repository's computer had when it was looked at last; undefined: never. */
export async function readCurrent(
  q: Queryable,
  { repository_id, host, role, demo }: Pick<ValidationRow, 'repository_id' | 'host' | 'role' | 'demo'>,
): Promise<CurrentHashes | undefined> {
  const [row] = await q.query<CurrentHashes & { id: string }>(
    `SELECT runner_sha256, identity_sha256, cli_sha256 FROM revalidation_current
     WHERE repository_id = $1 AND host = $2 AND role = $3 AND demo = $4`,
    [repository_id, host, role, demo],
  );
  return row;
}

/** A re-validation with all that its claim depends on. */
export interface Known {
  row: ValidationRow;
  attempts: ValidationAttempt[];
  failures: FailureRow[];
  judged: Judged;
  verdict: Verdict;
}

/** `current`: what is there now, where the asker knows better than what was looked at last. */
export async function knownOf(q: Queryable, row: ValidationRow, current?: CurrentHashes): Promise<Known> {
  const attempts = await readValidationAttempts(q, row);
  const failures = await readFailures(q, row.id);
  const { status, problems, confirmed, runner_sha256, identity_sha256, cli } = row;
  const judged: Judged = { status, problems, attempts, confirmed };
  const bound = runner_sha256 && identity_sha256 && cli && { runner_sha256, identity_sha256, cli_sha256: cli.sha256 };
  const stale = staleReasons(bound || null, current ?? (await readCurrent(q, row)), row.packets_intact);
  const open = failures.filter(({ inspected_by }) => inspected_by === null).length;
  return { row, attempts, failures, judged, verdict: claimOf(judged, open, stale) };
}

export function validationEvent(
  row: ValidationRow,
  type: 'revalidation.started' | 'revalidation.ended' | 'revalidation.acknowledged',
  payload: Record<string, unknown>,
  actor: Actor = { kind: 'service', subject: `revalidation:${row.id}`, acting_for: row.created_by },
) {
  return {
    type,
    organization_id: row.organization_id,
    project_id: row.project_id,
    entity_type: 'revalidation',
    entity_id: row.id,
    entity_key: row.id,
    actor,
    payload: { repo: row.alias, host: row.host, role: row.role, ...payload },
  };
}

export type ToStart = Pick<ValidationRow, 'id' | 'workflow_id' | 'project' | 'role' | 'created_by'>;

/** Pending ones that no process has begun to start, claimed for this one. */
export async function claimPendingValidations(database: Database): Promise<ToStart[]> {
  return database.query(
    `UPDATE revalidations v SET dispatched_at = now(), progress_at = now() FROM projects p
     WHERE p.id = v.project_id AND v.id IN (
       SELECT id FROM revalidations WHERE status = 'pending' AND dispatched_at IS NULL
       ORDER BY created_at LIMIT 20 FOR NO KEY UPDATE SKIP LOCKED)
     RETURNING v.id, v.workflow_id, v.role, v.created_by, p.key AS project`,
  );
}

export async function releasePendingValidation(database: Database, id: string): Promise<void> {
  await database.query(`UPDATE revalidations SET dispatched_at = NULL WHERE id = $1 AND status = 'pending'`, [id]);
}

/** With a stop that was asked for and has not happened, with the seconds since. */
export async function flaggedValidations(
  database: Database,
): Promise<(Pick<ToStart, 'id' | 'workflow_id'> & { cancel_by: string | null; age: number })[]> {
  return database.query(
    `SELECT id, workflow_id, cancel_by, extract(epoch FROM now() - cancel_requested_at)::float8 AS age
     FROM revalidations WHERE status IN ('pending', 'running') AND cancel_requested_at IS NOT NULL LIMIT 100`,
  );
}

/** Under way without progress for as long, claimed so that one process looks at each. */
export async function claimStuckValidations(database: Database, seconds: number): Promise<ToStart[]> {
  return database.query(
    `UPDATE revalidations v SET progress_at = now() FROM projects p WHERE p.id = v.project_id AND v.id IN (
       SELECT id FROM revalidations
       WHERE status IN ('pending', 'running') AND progress_at < now() - make_interval(secs => $1)
       LIMIT 100 FOR NO KEY UPDATE SKIP LOCKED)
     RETURNING v.id, v.workflow_id, v.role, v.created_by, p.key AS project`,
    [seconds],
  );
}

/** The newest claim of each role of a computer's repositories that have ended, or of all. */
export async function latestValidations(q: Queryable, machine?: string): Promise<ValidationRow[]> {
  return q.query<ValidationRow>(
    `SELECT DISTINCT ON (v.repository_id, v.host, v.role, v.demo) ${columns} FROM ${tables}
     WHERE ($1::text IS NULL OR r.machine = $1) AND v.runner_sha256 IS NOT NULL
       AND v.status NOT IN ('pending', 'running')
     ORDER BY v.repository_id, v.host, v.role, v.demo, v.created_at DESC, v.id DESC`,
    [machine ?? null],
  );
}

/** Whose report is to be written anew, on this computer. */
export async function reportsDue(q: Queryable, machine: string): Promise<string[]> {
  const rows = await q.query<{ id: string }>(
    `SELECT v.id FROM revalidations v JOIN repositories r ON r.id = v.repository_id
     WHERE v.report_due AND r.machine = $1 LIMIT 20`,
    [machine],
  );
  return rows.map(({ id }) => id);
}

/** How many roles have which newest claim, for metrics. */
export async function countClaims(q: Queryable): Promise<Partial<Record<Claim, number>>> {
  const rows = await q.query<{ claim: Claim; count: number }>(
    `SELECT claim, count(*) AS count FROM (
       SELECT DISTINCT ON (repository_id, host, role, demo) claim FROM revalidations
       WHERE status NOT IN ('pending', 'running')
       ORDER BY repository_id, host, role, demo, created_at DESC, id DESC) latest
     GROUP BY claim`,
  );
  return Object.fromEntries(rows.map(({ claim, count }) => [claim, count]));
}

/** An attempt's own kind, as reports name it. */
export const attemptKind = ({ interrupted, failure_kind }: JudgedAttempt): FailureKind | 'interrupted' | null =>
  interrupted ? 'interrupted' : failure_kind;

export type { FindingKind };

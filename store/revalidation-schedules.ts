// Schedules of re-validations: what is wanted stands here, a worker tells the engine (spec: orchestration).

import type { Host, Role } from '../domain/bounded/identity.ts';
import { DomainError } from '../domain/errors.ts';
import type { Database, Queryable, Tx } from './database.ts';

export interface Backfill {
  from: string;
  to: string;
}

export interface ScheduleRow {
  id: string;
  repository_id: string;
  alias: string;
  machine: string;
  repo_path: string;
  project: string;
  project_id: string;
  organization_id: string;
  host: Host;
  role: Role;
  /** Five fields, UTC. */
  cron: string;
  jitter_seconds: number;
  catchup_seconds: number;
  budget_usd: number;
  demo: boolean;
  paused: boolean;
  note: string;
  deleted: boolean;
  version: number;
  synced_version: number;
  triggers: number;
  backfills: Backfill[];
  next_times: string[];
  missed_catchup: number;
  overlap_skipped: number;
  created_by: string;
  created_at: string;
}

const columns = `s.id, s.repository_id, r.alias, r.machine, r.path AS repo_path, p.key AS project, s.project_id,
  p.organization_id, s.host, s.role, s.cron, s.jitter_seconds, s.catchup_seconds, s.budget_usd, s.demo, s.paused,
  s.note, s.deleted, s.version, s.synced_version, s.triggers, s.backfills, s.next_times, s.missed_catchup,
  s.overlap_skipped, s.created_by, s.created_at`;
const tables = `revalidation_schedules s JOIN repositories r ON r.id = s.repository_id
  JOIN projects p ON p.id = s.project_id`;

export async function findSchedule(q: Queryable, id: string): Promise<ScheduleRow | undefined> {
  const [row] = await q.query<ScheduleRow>(`SELECT ${columns} FROM ${tables} WHERE s.id = $1`, [id]);
  return row;
}

/** Locks one that is not deleted. Errors: not_found. */
export async function lockSchedule(tx: Tx, id: string): Promise<ScheduleRow> {
  const sql = `SELECT ${columns} FROM ${tables} WHERE s.id = $1 AND NOT s.deleted FOR NO KEY UPDATE OF s`;
  const [row] = await tx.query<ScheduleRow>(sql, [id]);
  if (!row) throw new DomainError('not_found', 'This schedule does not exist.');
  return row;
}

/** Those of some projects, by repository and role; deleted ones left out. */
export async function selectSchedules(q: Queryable, projects: readonly string[]): Promise<ScheduleRow[]> {
  return q.query<ScheduleRow>(
    `SELECT ${columns} FROM ${tables} WHERE s.project_id = ANY ($1::uuid[]) AND NOT s.deleted
     ORDER BY r.alias, s.host, s.role, s.id`,
    [projects],
  );
}

export type NewSchedule = Pick<
  ScheduleRow,
  | 'id' | 'repository_id' | 'project_id' | 'host' | 'role' | 'cron' | 'jitter_seconds' | 'catchup_seconds'
  | 'budget_usd' | 'demo' | 'paused' | 'note' | 'next_times' | 'created_by'
>;

/** False: the role has one already; nothing was written. */
export async function insertSchedule(tx: Tx, row: NewSchedule): Promise<boolean> {
  const names = Object.keys(row) as (keyof NewSchedule)[];
  const inserted = await tx.query(
    `INSERT INTO revalidation_schedules (${names.join(', ')})
     VALUES (${names.map((_, index) => `$${index + 1}`).join(', ')}) ON CONFLICT DO NOTHING RETURNING id`,
    names.map((name) => (name === 'next_times' ? JSON.stringify(row[name]) : row[name])),
  );
  tx.notify({ channel: 'revalidations', id: row.id });
  return inserted.length > 0;
}

type Changes = Partial<
  Pick<ScheduleRow, 'cron' | 'jitter_seconds' | 'catchup_seconds' | 'budget_usd' | 'paused' | 'note' | 'deleted'>
> & { next_times?: string[] };

/** Its row is locked. */
export async function changeSchedule(tx: Tx, id: string, changes: Changes): Promise<void> {
  const names = Object.keys(changes) as (keyof Changes)[];
  const sets = names.map((name, index) => `, ${name} = $${index + 2}`).join('');
  await tx.query(
    `UPDATE revalidation_schedules SET version = version + 1, claimed_at = NULL${sets} WHERE id = $1`,
    [id, ...names.map((name) => (name === 'next_times' ? JSON.stringify(changes[name]) : changes[name]))],
  );
  tx.notify({ channel: 'revalidations', id });
}

/** Something is asked of it once. Its row is locked. */
export async function askSchedule(tx: Tx, id: string, asked: 'trigger' | Backfill): Promise<void> {
  const set = asked === 'trigger' ? 'triggers = triggers + 1' : 'backfills = backfills || $2::jsonb';
  const values = asked === 'trigger' ? [id] : [id, JSON.stringify([asked])];
  await tx.query(`UPDATE revalidation_schedules SET claimed_at = NULL, ${set} WHERE id = $1`, values);
  tx.notify({ channel: 'revalidations', id });
}

/**
 * Those of which the engine is to be told something, or which are to be looked at again, claimed for this process: a
 * minute after the last look, and as soon as their next time has come.
 */
export async function claimSchedules(database: Database): Promise<ScheduleRow[]> {
  const claimed = await database.query<{ id: string }>(
    `UPDATE revalidation_schedules SET claimed_at = now() WHERE id IN (
       SELECT id FROM revalidation_schedules
       WHERE (claimed_at IS NULL OR claimed_at < now() - interval '20 seconds')
         AND (version <> synced_version OR triggers > 0 OR backfills <> '[]'
           OR (NOT deleted AND (looked_at < now() - interval '1 minute'
             OR (NOT paused AND (next_times ->> 0)::timestamptz < now()))))
       ORDER BY id LIMIT 50 FOR NO KEY UPDATE SKIP LOCKED)
     RETURNING id`,
  );
  const ids = claimed.map(({ id }) => id);
  if (ids.length === 0) return [];
  return database.query<ScheduleRow>(`SELECT ${columns} FROM ${tables} WHERE s.id = ANY ($1::uuid[])`, [ids]);
}

export interface Looked {
  next_times: string[];
  missed_catchup: number;
  overlap_skipped: number;
}

/** What the engine was told, and what it says. What was asked meanwhile stays asked. */
export async function scheduleSynced(database: Database, row: ScheduleRow, looked: Looked): Promise<void> {
  await database.query(
    `UPDATE revalidation_schedules SET synced_version = $2, triggers = greatest(0, triggers - $3),
       backfills = jsonb_path_query_array(backfills, '$[$from to last]', jsonb_build_object('from', $4::integer)),
       next_times = $5, missed_catchup = $6, overlap_skipped = $7, looked_at = now(), claimed_at = NULL
     WHERE id = $1`,
    [
      row.id,
      row.version,
      row.triggers,
      row.backfills.length,
      JSON.stringify(looked.next_times),
      looked.missed_catchup,
      looked.overlap_skipped,
    ],
  );
}

/** The engine could not be told; some seconds later it is tried again. */
export async function scheduleUnsynced(database: Database, id: string): Promise<void> {
  const set = `UPDATE revalidation_schedules SET claimed_at = now() - interval '17 seconds' WHERE id = $1`;
  await database.query(set, [id]);
}

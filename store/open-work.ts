// What is open in the whole installation, for metrics (docs/metrics.md).

import type { OpenKind, OpenWork } from '../telemetry/metrics.ts';
import type { Queryable } from './database.ts';

const select = (table: string, open: string, active: string): string => `SELECT
  count(*) FILTER (WHERE status = 'pending') AS pending,
  count(*) FILTER (WHERE status = '${active}') AS active,
  coalesce(extract(epoch FROM now() - min(created_at) FILTER (WHERE status = 'pending')), 0)::float8 AS oldest
  FROM ${table} WHERE ${open}`;

const turnsSql = select('planner_turns', `status <> 'ended'`, 'active');
const runsSql = select('bounded_runs', `status IN ('pending', 'running')`, 'running');

export async function readOpenWork(q: Queryable): Promise<OpenWork> {
  const read = async (sql: string): Promise<OpenKind> => {
    const [row] = await q.query<{ pending: number; active: number; oldest: number }>(sql);
    return { pending: row!.pending, active: row!.active, oldestPendingSeconds: row!.oldest };
  };
  const [turns, runs] = await Promise.all([read(turnsSql), read(runsSql)]);
  return { turns, runs };
}

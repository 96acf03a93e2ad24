// What model calls used: one row an attempt, opened when it begins and closed once (spec: planner 9).

import { v7 as uuidv7 } from 'uuid';
import type { Usage } from '../domain/transcript.ts';
import type { Queryable, Tx } from './database.ts';

export type UsagePurpose = 'answer' | 'compaction';
/** ok: answered. error: the call failed. cancelled: a human stopped it. lost: its worker, or its turn, was gone. */
export type UsageEnd = 'ok' | 'error' | 'cancelled' | 'lost';

export interface NewUsage {
  organization_id: string;
  project_id: string;
  session_id: string;
  turn_id: string;
  round: number;
  attempt: number;
  purpose: UsagePurpose;
  provider: string;
  /** As configured. */
  model: string;
  /** Tokens of the request, estimated: what the row holds until it is closed. */
  input: number;
}

/** Opens a row and returns its id. */
export async function openUsage(tx: Tx, call: NewUsage): Promise<string> {
  const id = uuidv7();
  await tx.query(
    `INSERT INTO llm_usage (id, organization_id, project_id, session_id, turn_id, round, attempt, purpose, provider,
                            model, input, estimated)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, true)`,
    [
      id, call.organization_id, call.project_id, call.session_id, call.turn_id, call.round, call.attempt, call.purpose,
      call.provider, call.model, call.input,
    ],
  );
  return id;
}

/** Closes a row that is open; returns whether it was. `estimated`: the provider reported nothing. */
export async function closeUsage(
  q: Queryable,
  id: string,
  end: { status: UsageEnd; usage: Usage; estimated: boolean },
): Promise<boolean> {
  const { input, output, cache_read, cache_write } = end.usage;
  const closed = await q.query(
    `UPDATE llm_usage SET status = $2, input = $3, output = $4, cache_read = $5, cache_write = $6, estimated = $7,
       closed_at = now()
     WHERE id = $1 AND status = 'open' RETURNING id`,
    [id, end.status, input, output, cache_read, cache_write, end.estimated],
  );
  return closed.length > 0;
}

/** A row that nobody closed, as the sweep closes it. */
export interface LostUsage {
  organization: string;
  project: string;
  model: string;
  input: number;
  output: number;
}

/**
 * Closes rows whose process is gone: their turn has ended, or a newer attempt has begun. What was sent was estimated when
 * the row was opened; what came back is, from the text that reached watchers, at 4 characters a token.
 */
export async function closeLostUsage(q: Queryable): Promise<LostUsage[]> {
  return q.query<LostUsage>(
    `WITH lost AS (
       SELECT u.id FROM llm_usage u JOIN planner_turns t ON t.id = u.turn_id
       WHERE u.status = 'open'
         AND (t.status = 'ended'
              OR EXISTS (SELECT 1 FROM llm_usage n WHERE n.turn_id = u.turn_id AND n.opened_at > u.opened_at))
       ORDER BY u.opened_at LIMIT 200 FOR NO KEY UPDATE OF u SKIP LOCKED
     )
     UPDATE llm_usage u SET status = 'lost', estimated = true, closed_at = now(),
       output = CASE WHEN u.purpose = 'compaction' THEN 0 ELSE
         (SELECT coalesce(ceil(sum(length(o.body ->> 'text')) / 4.0), 0) FROM planner_outputs o
          WHERE o.turn_id = u.turn_id AND o.type = 'text' AND o.attempt = u.attempt
            AND o.created_at BETWEEN u.opened_at AND coalesce(
              (SELECT min(n.opened_at) FROM llm_usage n WHERE n.turn_id = u.turn_id AND n.opened_at > u.opened_at),
              'infinity')) END
     FROM lost, organizations g, projects p
     WHERE u.id = lost.id AND g.id = u.organization_id AND p.id = u.project_id
     RETURNING g.key AS organization, p.key AS project, u.model, u.input, u.output`,
  );
}

/** Input, output and cache-write tokens of today (UTC), of calls that run also: what budgets count. */
export async function tokensToday(
  q: Queryable,
  scope: { project_id: string } | { organization_id: string },
): Promise<number> {
  const [column, id] =
    'project_id' in scope ? ['project_id', scope.project_id] : ['organization_id', scope.organization_id];
  const [row] = await q.query<{ tokens: number }>(
    `SELECT coalesce(sum(input + output + cache_write), 0)::bigint AS tokens FROM llm_usage
     WHERE ${column} = $1 AND opened_at >= date_trunc('day', now(), 'UTC')`,
    [id],
  );
  return row!.tokens;
}

export type UsageBy = 'session' | 'model' | 'day';

/** Tokens and calls of one model, within one key where there is one: a session's id, a model's name, a day. */
export interface UsageSum extends Usage {
  key: string;
  model: string;
  calls: number;
  unanswered: number;
  estimated_tokens: number;
}

const keys: Record<UsageBy, { key: string; order: 'ASC' | 'DESC'; follows: '<' | '>' }> = {
  session: { key: 'session_id::text', order: 'DESC', follows: '<' },
  model: { key: 'model COLLATE "C"', order: 'ASC', follows: '>' },
  day: { key: `to_char(opened_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')`, order: 'DESC', follows: '<' },
};

const sums = `count(*) AS calls, count(*) FILTER (WHERE status IN ('error', 'cancelled', 'lost')) AS unanswered,
  sum(input)::bigint AS input, sum(output)::bigint AS output,
  sum(cache_read)::bigint AS cache_read, sum(cache_write)::bigint AS cache_write,
  coalesce(sum(input + output + cache_read + cache_write) FILTER (WHERE estimated), 0)::bigint AS estimated_tokens`;

/** Whole days, UTC, both included: `2026-01-31`. */
export interface Days {
  from: string;
  to: string;
}

const inDays = `opened_at >= $2::date::timestamp AT TIME ZONE 'UTC'
  AND opened_at < ($3::date + 1)::timestamp AT TIME ZONE 'UTC'`;

/** A project's usage by key and model; newest sessions and days first, models by name. At most `limit` keys. */
export async function usageBy(
  q: Queryable,
  project: string,
  by: UsageBy,
  days: Days,
  page: { limit: number; after?: string | undefined },
): Promise<UsageSum[]> {
  const { key, order, follows } = keys[by];
  return q.query<UsageSum>(
    `WITH calls AS (
       SELECT ${key} AS key, model, status, estimated, input, output, cache_read, cache_write
       FROM llm_usage WHERE project_id = $1 AND ${inDays}
     ), page AS (
       SELECT DISTINCT key FROM calls WHERE $4::text IS NULL OR key ${follows} $4 ORDER BY key ${order} LIMIT $5
     )
     SELECT key, model, ${sums} FROM calls JOIN page USING (key) GROUP BY key, model ORDER BY key ${order}, model`,
    [project, days.from, days.to, page.after ?? null, page.limit],
  );
}

/** A project's usage in those days, by model. */
export async function usageTotal(q: Queryable, project: string, days: Days): Promise<UsageSum[]> {
  return q.query<UsageSum>(
    `SELECT '' AS key, model, ${sums} FROM llm_usage WHERE project_id = $1 AND ${inDays} GROUP BY model`,
    [project, days.from, days.to],
  );
}

/** All that a session has used, by model. */
export async function usageOfSession(q: Queryable, session: string): Promise<UsageSum[]> {
  return q.query<UsageSum>(
    `SELECT '' AS key, model, ${sums} FROM llm_usage WHERE session_id = $1 GROUP BY model`,
    [session],
  );
}

/** All that each of these turns has used, by turn and model: retries, failed calls and compaction included. */
export async function usageOfTurns(q: Queryable, turns: readonly string[]): Promise<UsageSum[]> {
  if (turns.length === 0) return [];
  return q.query<UsageSum>(
    `SELECT turn_id::text AS key, model, ${sums} FROM llm_usage WHERE turn_id = ANY ($1::uuid[]) GROUP BY turn_id, model`,
    [turns],
  );
}

// Turns: one open turn a session, its fence, its end. (spec: planner 7, orchestration "The planner turn")

import { plannerActor } from '../domain/actor.ts';
import type { TurnReason } from '../domain/output.ts';
import {
  addUsage,
  toolUses,
  type Block,
  type Message,
  type ToolResultBlock,
  type Usage,
} from '../domain/transcript.ts';
import { maxCallsPerAnswer } from '../domain/turn.ts';
import { noteIds, type LogIds } from '../telemetry/log.ts';
import type { Database, Queryable, Tx } from './database.ts';

export interface TurnRow {
  id: string;
  session_id: string;
  project_id: string;
  /** Its key. */
  project: string;
  organization_id: string;
  human: string;
  message_seq: number;
  status: 'pending' | 'active' | 'ended';
  reason: TurnReason | null;
  workflow_id: string;
  run_id: string | null;
  fence: number;
  round: number;
  call_attempt: number;
  rounds: number;
  usage: Usage;
  failure: string | null;
  cancel_requested_at: string | null;
  cancel_by: string | null;
  /** Of the request that it comes from. */
  trace_id: string | null;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
}

/** What log lines about a turn carry. */
export function turnIds({ id, session_id, trace_id, workflow_id }: TurnRow): LogIds {
  return { turn: id, session: session_id, workflow: workflow_id, ...(trace_id === null ? {} : { trace_id }) };
}

const columns = `t.id, t.session_id, s.project_id, p.key AS project, p.organization_id, t.human, t.message_seq, t.status, t.reason,
  t.workflow_id, t.run_id, t.fence, t.round, t.call_attempt, t.rounds, t.usage, t.failure, t.cancel_requested_at,
  t.cancel_by, t.trace_id, t.created_at, t.started_at, t.ended_at`;
const tables = `planner_turns t JOIN planner_sessions s ON s.id = t.session_id JOIN projects p ON p.id = s.project_id`;

/**
 * Thrown where a write comes too late: the turn has ended, or is gone from the database, or a newer attempt holds its
 * fence. Nothing was written.
 */
export class TurnLost extends Error {
  readonly why: 'ended' | 'stale';
  readonly reason: TurnReason;
  constructor(why: 'ended' | 'stale', reason: TurnReason = 'error') {
    super(why === 'ended' ? 'the turn has ended' : 'a newer attempt holds the turn');
    this.why = why;
    this.reason = reason;
  }
}

export async function findTurn(q: Queryable, turn: string): Promise<TurnRow | undefined> {
  const [row] = await q.query<TurnRow>(`SELECT ${columns} FROM ${tables} WHERE t.id = $1`, [turn]);
  return row;
}

/**
 * Locks the turn's row until the transaction ends. `share`: several may hold it, nobody may end the turn meanwhile.
 * Throws TurnLost where there is none.
 */
export async function lockTurn(tx: Tx, turn: string, mode: 'update' | 'share' = 'update'): Promise<TurnRow> {
  const strength = mode === 'update' ? 'NO KEY UPDATE' : 'SHARE';
  const [row] = await tx.query<TurnRow>(
    `SELECT ${columns} FROM ${tables} WHERE t.id = $1 FOR ${strength} OF t`,
    [turn],
  );
  if (!row) throw new TurnLost('ended');
  noteIds(turnIds(row));
  return row;
}

/** The attempt of an activity, ordered by when the engine scheduled it. */
export interface Attempt {
  scheduledMs: number;
  round: number;
  /** Orders activities that were scheduled in one millisecond: a model call 0, the turn's end 1. */
  rank: 0 | 1;
  attempt: number;
  runId: string;
}

/**
 * Takes the turn over for this attempt and returns its row with the new fence; the turn becomes active. Throws TurnLost
 * when the turn has ended, or when an attempt that was scheduled later holds it.
 */
export async function takeFence(tx: Tx, turn: string, attempt: Attempt): Promise<TurnRow> {
  const row = await lockTurn(tx, turn);
  if (row.status === 'ended') throw new TurnLost('ended', row.reason ?? 'error');
  const order = [attempt.scheduledMs, attempt.round, attempt.rank, attempt.attempt];
  const [taken] = await tx.query<{ fence: number }>(
    `UPDATE planner_turns
     SET fence = fence + 1, fence_order = $2, status = 'active', run_id = $3, progress_at = now(),
         started_at = coalesce(started_at, now())
     WHERE id = $1 AND fence_order < $2::bigint[] RETURNING fence`,
    [turn, order, attempt.runId],
  );
  if (!taken) throw new TurnLost('stale');
  if (row.status === 'pending') {
    tx.emit(turnEvent(row, 'planner.turn_started', { turn: row.id }));
  }
  return { ...row, status: 'active', fence: taken.fence, run_id: attempt.runId };
}

/** Locks the turn for a write of the attempt that holds `fence`; throws TurnLost when it no longer does. */
export async function lockFenced(tx: Tx, turn: string, fence: number): Promise<TurnRow> {
  const row = await lockTurn(tx, turn);
  if (row.status === 'ended') throw new TurnLost('ended', row.reason ?? 'error');
  if (row.fence !== fence) throw new TurnLost('stale');
  return row;
}

/** Opens the next attempt of a model call: counts it, and tells watchers when it is not the first. */
export async function openCall(tx: Tx, row: TurnRow, round: number): Promise<number> {
  const again = row.round === round && row.call_attempt > 0;
  const attempt = again ? row.call_attempt + 1 : 1;
  await tx.query('UPDATE planner_turns SET round = $2, call_attempt = $3, failure = NULL WHERE id = $1', [
    row.id,
    round,
    attempt,
  ]);
  // A failed attempt has told them already; one whose worker was lost could not.
  if (again && row.failure === null) {
    tx.output({ session: row.session_id, turn: row.id, attempt, body: { type: 'retrying', reason: 'worker lost' } });
    tx.fact({ kind: 'retrying', failure: 'worker_lost' });
  }
  return attempt;
}

/** Records why an attempt failed, for humans; `retrying` tells watchers at once that another attempt follows. */
export async function recordFailure(tx: Tx, row: TurnRow, text: string, retrying?: string): Promise<void> {
  await tx.query('UPDATE planner_turns SET failure = $2, progress_at = now() WHERE id = $1', [row.id, text]);
  if (retrying === undefined) return;
  const attempt = row.call_attempt + 1;
  tx.output({ session: row.session_id, turn: row.id, attempt, body: { type: 'retrying', reason: retrying } });
}

interface NewMessage {
  role: 'user' | 'assistant';
  blocks: readonly Block[];
  author?: string;
  round?: number;
  stop_reason?: string;
  model?: string;
  usage?: Usage;
}

/** Appends a message to the session's transcript, with its event and its output; returns its seq. Locks the session. */
export async function appendMessage(
  tx: Tx,
  row: TurnRow,
  message: NewMessage,
  attempt = row.call_attempt,
): Promise<number> {
  const [session] = await tx.query<{ last_seq: number }>(
    'UPDATE planner_sessions SET last_seq = last_seq + 1, updated_at = now() WHERE id = $1 RETURNING last_seq',
    [row.session_id],
  );
  const seq = session!.last_seq;
  await tx.query(
    `INSERT INTO planner_messages (session_id, seq, role, blocks, author, turn_id, round, stop_reason, model, usage)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      row.session_id,
      seq,
      message.role,
      JSON.stringify(message.blocks),
      message.author ?? null,
      row.id,
      message.round ?? null,
      message.stop_reason ?? null,
      message.model ?? null,
      message.usage ? JSON.stringify(message.usage) : null,
    ],
  );
  if (message.usage) {
    await tx.query('UPDATE planner_turns SET usage = $2 WHERE id = $1', [row.id, addUsage(row.usage, message.usage)]);
  }
  tx.output({ session: row.session_id, turn: row.id, attempt: Math.max(attempt, 1), body: { type: 'message', seq } });
  const event = turnEvent(row, 'planner.message', { role: message.role, seq, turn: row.id });
  tx.emit(message.author ? { ...event, actor: { kind: 'human', subject: message.author } } : event);
  return seq;
}

/** The stored message of a round, if there is one. */
export async function roundMessage(
  q: Queryable,
  turn: string,
  round: number,
  role: 'user' | 'assistant',
): Promise<Pick<Message, 'seq' | 'blocks' | 'stop_reason'> | undefined> {
  const [message] = await q.query<Pick<Message, 'seq' | 'blocks' | 'stop_reason'>>(
    'SELECT seq, blocks, stop_reason FROM planner_messages WHERE turn_id = $1 AND round = $2 AND role = $3',
    [turn, round, role],
  );
  return message;
}

export const tooManyCallsText =
  `Not run: an answer may make at most ${maxCallsPerAnswer} tool calls. Make fewer at once.`;

/**
 * Seals a round: one user message with the results of all its calls, in the model's order. Nothing to do when the round
 * is sealed already or made no calls. A call without a result gets `missing` as an error result; without `missing` such
 * a call makes it return false, and nothing is written.
 */
export async function sealRound(tx: Tx, row: TurnRow, round: number, missing?: string): Promise<boolean> {
  const answer = await roundMessage(tx, row.id, round, 'assistant');
  const calls = toolUses(answer?.blocks ?? []);
  if (calls.length === 0) return answer !== undefined;
  if (await roundMessage(tx, row.id, round, 'user')) return true;
  const stored = await tx.query<ToolResultBlock>(
    'SELECT tool_use_id, text, is_error FROM planner_tool_results WHERE turn_id = $1 AND round = $2',
    [row.id, round],
  );
  const byId = new Map(stored.map((result) => [result.tool_use_id, result]));
  const results: ToolResultBlock[] = [];
  for (const [index, call] of calls.entries()) {
    const known = byId.get(call.tool_use_id);
    const text = index < maxCallsPerAnswer ? missing : tooManyCallsText;
    if (known) {
      results.push({ type: 'tool_result', tool_use_id: known.tool_use_id, text: known.text, is_error: known.is_error });
    } else if (text !== undefined) {
      const result = { type: 'tool_result' as const, tool_use_id: call.tool_use_id, text, is_error: true };
      results.push(result);
      tx.output({
        session: row.session_id,
        turn: row.id,
        attempt: Math.max(row.call_attempt, 1),
        body: { ...result, tool: call.name },
      });
    } else {
      return false;
    }
  }
  await appendMessage(tx, row, { role: 'user', blocks: results, round });
  return true;
}

/**
 * Ends a turn whose row is locked: open calls are answered, `error` and `done` are told, the session is free. Ends in
 * the same transaction: nothing can be written for the turn afterwards.
 */
export async function finishTurn(tx: Tx, row: TurnRow, reason: TurnReason, errorText?: string): Promise<void> {
  await sealRound(tx, row, row.round, openCallTexts[reason] ?? openCallTexts.error);
  const [ended] = await tx.query<{ rounds: number; seconds: number }>(
    `UPDATE planner_turns SET status = 'ended', reason = $2, failure = $3, fence = fence + 1, progress_at = now(),
       ended_at = now(), rounds = (SELECT count(*) FROM planner_messages
                                   WHERE turn_id = $1 AND role = 'assistant' AND stop_reason <> 'cancelled')
     WHERE id = $1 RETURNING rounds, extract(epoch FROM ended_at - created_at)::float8 AS seconds`,
    [row.id, reason, errorText ?? null],
  );
  const told = { session: row.session_id, turn: row.id, attempt: Math.max(row.call_attempt, 1) };
  if (errorText !== undefined) tx.output({ ...told, body: { type: 'error', text: errorText } });
  tx.output({ ...told, body: { type: 'done', text: reason } });
  tx.emit(turnEvent(row, 'planner.turn_ended', { turn: row.id, reason }));
  tx.fact({ kind: 'turn_ended', ids: turnIds(row), reason, ...ended! });
}

const openCallTexts = {
  cancelled: 'cancelled',
  max_rounds: 'Not run: the turn reached its limit of rounds.',
  error: 'Not run: the turn ended with an error.',
} as Partial<Record<TurnReason, string>> & { error: string };

/** Ends a turn from outside its workflow, whoever holds its fence. Returns false when it had ended already. */
export async function endFromOutside(
  tx: Tx,
  turn: string,
  reason: 'cancelled' | 'error',
  errorText?: string,
): Promise<boolean> {
  const row = await lockTurn(tx, turn);
  if (row.status === 'ended') return false;
  await finishTurn(tx, row, reason, errorText);
  return true;
}

/** `project`: its key. */
export type TurnToStart = Pick<TurnRow, 'id' | 'session_id' | 'project' | 'human'>;

/** Pending turns that no process has begun to start, claimed for this one. */
export async function claimPending(database: Database, limit: number): Promise<TurnToStart[]> {
  return database.query(
    `WITH claimed AS (
       SELECT id FROM planner_turns WHERE status = 'pending' AND dispatched_at IS NULL
       ORDER BY created_at LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED)
     UPDATE planner_turns t SET dispatched_at = now() FROM claimed, planner_sessions s, projects p
     WHERE t.id = claimed.id AND s.id = t.session_id AND p.id = s.project_id
     RETURNING t.id, t.session_id, t.human, p.key AS project`,
    [limit],
  );
}

/** Hands a claimed turn back after its start failed. */
export async function releasePending(database: Database, turn: string): Promise<void> {
  await database.query(`UPDATE planner_turns SET dispatched_at = NULL WHERE id = $1 AND status = 'pending'`, [turn]);
}

/** Turns with a stop that was asked for and has not happened, with the seconds since. */
export async function flaggedTurns(
  database: Database,
): Promise<(Pick<TurnRow, 'id' | 'cancel_by'> & { age: number })[]> {
  return database.query(
    `SELECT id, cancel_by, extract(epoch FROM now() - cancel_requested_at)::float8 AS age FROM planner_turns
     WHERE status <> 'ended' AND cancel_requested_at IS NOT NULL ORDER BY cancel_requested_at LIMIT 500`,
  );
}

/** Turns without progress for `seconds`, claimed so that one process looks at each; looked at again after as long. */
export async function claimStuck(
  database: Database,
  seconds: number,
): Promise<(TurnToStart & Pick<TurnRow, 'workflow_id'>)[]> {
  return database.query(
    `WITH claimed AS (
       SELECT id FROM planner_turns WHERE status <> 'ended' AND progress_at < now() - make_interval(secs => $1)
       ORDER BY progress_at LIMIT 100 FOR NO KEY UPDATE SKIP LOCKED)
     UPDATE planner_turns t SET progress_at = now() FROM claimed, planner_sessions s, projects p
     WHERE t.id = claimed.id AND s.id = t.session_id AND p.id = s.project_id
     RETURNING t.id, t.session_id, t.human, p.key AS project, t.workflow_id`,
    [seconds],
  );
}

/** Deletes the outputs of turns that ended more than an hour ago, oldest first, and says so in the counter row. */
export async function pruneOutputs(tx: Tx, keepSeconds = 3_600): Promise<number> {
  const pruned = await tx.query<{ session_id: string; number: number; count: number }>(
    `WITH old AS (
       UPDATE planner_turns SET outputs_kept = false
       WHERE id IN (SELECT id FROM planner_turns
                    WHERE outputs_kept AND status = 'ended' AND ended_at < now() - make_interval(secs => $1)
                    ORDER BY ended_at LIMIT 50 FOR NO KEY UPDATE SKIP LOCKED)
       RETURNING id
     ), gone AS (
       DELETE FROM planner_outputs o USING old WHERE o.turn_id = old.id RETURNING o.session_id, o.number
     )
     SELECT session_id, max(number) AS number, count(*) AS count FROM gone GROUP BY session_id ORDER BY session_id`,
    [keepSeconds],
  );
  // One by one, in the order in which all writers of several sessions lock the counters.
  for (const { session_id, number } of pruned) {
    await tx.query('UPDATE planner_output_counters SET pruned = greatest(pruned, $2) WHERE session_id = $1', [
      session_id,
      number,
    ]);
  }
  return pruned.reduce((sum, { count }) => sum + count, 0);
}

function turnEvent(
  row: TurnRow,
  type: 'planner.turn_started' | 'planner.turn_ended' | 'planner.message',
  payload: Record<string, unknown>,
) {
  return {
    type,
    organization_id: row.organization_id,
    project_id: row.project_id,
    entity_type: 'planner_session',
    entity_id: row.session_id,
    actor: plannerActor(row.session_id, row.human),
    payload,
  };
}

// One tool call: its effect and its result in one transaction under (turn, round, tool call id), exactly once.
// (spec: planner 6, orchestration "runTool")

import { plannerActor } from '../domain/actor.ts';
import { storable } from '../domain/text.ts';
import { toolUses, type ToolUseBlock } from '../domain/transcript.ts';
import type { RunToolInput, RunToolOutcome } from '../domain/turn.ts';
import type { EmbedQuery } from '../models/embeddings/index.ts';
import { transaction, type Database } from '../store/database.ts';
import { projectById } from '../store/projects.ts';
import { lockTurn, roundMessage } from '../store/turns.ts';
import { CallFailure } from './model-call.ts';
import { failedBefore, repeatNote } from './repeats.ts';
import { callTool, findTool, isPrepared, prepareTool, type Preparation } from './tools/index.ts';

export interface ToolCallRoom {
  database: Database;
  /** Characters of a result at most. */
  maxOutputCharacters: number;
  /** None: words alone are compared. */
  embedQuery?: EmbedQuery;
}

/** A call that must be prepared before its transaction. */
interface Unprepared {
  context: Omit<Preparation, 'embedQuery'>;
  call: ToolUseBlock;
}

/** Milliseconds that a statement of a tool may take. */
const statementTimeout = 2_000;

/**
 * Runs a call of a committed answer and stores its result. A repeat returns the stored one. A failing call is a stored
 * error result. What is thrown leaves nothing written: failures of the database itself; CallFailure `hole` where the
 * answer is gone from it, TurnLost where the turn is.
 */
export async function toolCall(room: ToolCallRoom, input: RunToolInput): Promise<RunToolOutcome> {
  const begun = performance.now();
  const first = await attempt(room, input, begun);
  if (typeof first === 'string') return first;
  const { context, call } = first;
  const { embedQuery = async () => undefined } = room;
  const made = await prepareTool({ ...context, embedQuery }, call.name, call.input);
  const second = await attempt(room, input, begun, { made });
  if (typeof second !== 'string') throw new Error(`tool ${call.name} was prepared in vain`);
  return second;
}

async function attempt(
  room: ToolCallRoom,
  input: RunToolInput,
  begun: number,
  prepared?: { made: unknown },
): Promise<RunToolOutcome | Unprepared> {
  return transaction<RunToolOutcome | Unprepared>(
    room.database,
    async (tx) => {
      // Shared: calls run side by side, and the turn cannot end under them.
      const turn = await lockTurn(tx, input.turn, 'share');
      if (turn.status === 'ended') return 'ended';
      const answer = await roundMessage(tx, turn.id, input.round, 'assistant');
      const call = toolUses(answer?.blocks ?? [])[input.call];
      if (!call) throw new CallFailure('hole');
      if (turn.cancel_requested_at !== null) return 'cancelled';
      const context = {
        project: await projectById(tx, turn.project_id),
        human: { subject: turn.human, kind: 'human' as const },
        actor: plannerActor(turn.session_id, turn.human),
        maxOutputCharacters: room.maxOutputCharacters,
      };
      if (!prepared && isPrepared(call.name)) return { context, call };
      const key = [turn.id, input.round, call.tool_use_id];
      const [claimed] = await tx.query(
        `INSERT INTO planner_tool_results (turn_id, round, tool_use_id, tool, text, is_error)
         VALUES ($1, $2, $3, $4, '', true) ON CONFLICT DO NOTHING RETURNING 1`,
        [...key, call.name],
      );
      if (!claimed) {
        const [stored] = await tx.query<{ is_error: boolean }>(
          'SELECT is_error FROM planner_tool_results WHERE turn_id = $1 AND round = $2 AND tool_use_id = $3',
          key,
        );
        return stored!.is_error ? 'error' : 'ok';
      }
      const result = await callTool({ ...context, tx, prepared: prepared?.made }, call.name, call.input);
      const before = result.is_error ? await failedBefore(tx, turn.id, input.round, [call]) : 0;
      const text = storable(before > 0 ? result.text + repeatNote(before + 1) : result.text);
      await tx.query(
        'UPDATE planner_tool_results SET text = $4, is_error = $5 WHERE turn_id = $1 AND round = $2 AND tool_use_id = $3',
        [...key, text, result.is_error],
      );
      tx.output({
        session: turn.session_id,
        turn: turn.id,
        attempt: turn.call_attempt,
        body: { type: 'tool_result', tool: call.name, tool_use_id: call.tool_use_id, text, is_error: result.is_error },
      });
      const outcome = result.is_error ? 'error' : 'ok';
      const seconds = (performance.now() - begun) / 1_000;
      tx.fact({ kind: 'tool_call_ended', tool: findTool(call.name)?.name ?? 'unknown', outcome, seconds });
      return outcome;
    },
    { statementTimeout },
  );
}

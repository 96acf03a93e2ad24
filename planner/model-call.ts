// One round's model call: take the turn over, seal the round before, stream the answer, commit it once.
// (spec: orchestration "callModel")

import type { OutputBody, TurnReason } from '../domain/output.ts';
import { storable, storableJson } from '../domain/text.ts';
import { modelView, textOf, toolUses, type Block, type ToolUseBlock } from '../domain/transcript.ts';
import {
  maxCallsPerAnswer,
  type CallModelInput,
  type CallModelOutcome,
  type CallRef,
  type FailureClass,
} from '../domain/turn.ts';
import { ModelError, type ModelAnswer } from '../models/gateway.ts';
import { transaction, type Database, type Tx } from '../store/database.ts';
import { can } from '../store/rights.ts';
import {
  appendMessage,
  finishTurn,
  lockFenced,
  lockTurn,
  openCall,
  recordFailure,
  roundMessage,
  sealRound,
  takeFence,
  TurnLost,
  type Attempt,
  type TurnRow,
} from '../store/turns.ts';
import type { UsageEnd } from '../store/usage.ts';
import { commitPatiently } from './commit.ts';
import { isCompactable, needsCompaction, readContext, type CompactionLimits } from './context.ts';
import type { DeltaWriter } from './deltas.ts';
import {
  openMetered,
  settleFailed,
  settleMetered,
  streamMetered,
  type CallRefused,
  type Gateway,
  type MeteredCall,
} from './metered-call.ts';
import { failedBefore, maxRepeats, repeatedText } from './repeats.ts';
import { findTool } from './tools/index.ts';

export interface ModelCallRoom extends CompactionLimits {
  database: Database;
  deltas: DeltaWriter;
  gateway: Gateway;
  /** Answers with tool calls that are followed by another model call. Default 20: up to 21 calls. */
  maxRounds: number;
  /** Milliseconds for which the commit of an answer is tried again while PostgreSQL is away. */
  commitPatienceMs: number;
}

/** What the activity knows about itself and hears from outside. */
export interface ModelCallSignals {
  attempt: Attempt;
  /** Aborted for any reason for which the provider must be let go. */
  signal: AbortSignal;
  /** After an abort: whether a human or an operator asked for a stop. Otherwise the turn goes on elsewhere. */
  stopped(): boolean;
  /** The turn was lost to another attempt while it streamed. */
  onLost(): void;
  progress(phase: string, characters: number): void;
}

/** A failure for the engine: its class only. The text for humans is in the turn's row. */
export class CallFailure extends Error {
  readonly failure: FailureClass;
  /** For humans; absent: the class's own text. */
  readonly text: string | undefined;
  constructor(failure: FailureClass, text?: string) {
    super(failure);
    this.failure = failure;
    this.text = text;
  }
}

interface OpenCall {
  row: TurnRow;
  call: MeteredCall;
  /** Something of the conversation can be summarized. */
  compactable: boolean;
  /** Nothing has been said in this turn, nor tried to be. */
  silent: boolean;
}

/**
 * Runs a round's model call and commits its answer under (turn, round), or returns what was committed before, or that the
 * conversation must be compacted first. Throws ModelError when the provider fails, CallFailure when the turn cannot go
 * on, the signal's reason when it is to go on elsewhere.
 */
export async function modelCall(
  room: ModelCallRoom,
  input: CallModelInput,
  signals: ModelCallSignals,
): Promise<CallModelOutcome> {
  signals.progress('opening', 0);
  const opened = await transaction(room.database, (tx) => open(tx, room, input, signals.attempt));
  if ('kind' in opened) return opened;
  if ('failure' in opened) throw new CallFailure(opened.failure, opened.text);
  const { row, call } = opened;

  const stream = room.deltas.open(
    { session: row.session_id, turn: row.id, attempt: row.call_attempt, fence: row.fence },
    signals.onLost,
  );
  let answer: ModelAnswer | undefined;
  try {
    signals.progress('waiting', 0);
    answer = await streamMetered(call, {
      signal: signals.signal,
      onText: (delta) => {
        if (opened.silent && stream.text === '') {
          const seconds = Math.max(0, Date.now() - Date.parse(row.created_at)) / 1_000;
          room.database.facts.tell({ kind: 'first_text', seconds });
        }
        stream.push(delta);
        signals.progress('streaming', stream.text.length);
      },
      onProgress: () => signals.progress('streaming', stream.text.length),
    });
  } catch (error) {
    const rest = await stream.finish();
    if (!signals.stopped()) {
      await settleFailed(room.database, room.gateway, call, endOf(error), error);
      if (!opened.compactable || !isTooLong(error)) throw error;
      await noteFailure(room.database, row.id, signals.attempt, error.text, 'context length');
      return { kind: 'compact' };
    }
    return commit(room, signals, call, 'cancelled', (tx) => storeCancelled(tx, row, input.round, stream.text, rest));
  }
  const rest = await stream.finish();
  const complete = answer;
  return commit(room, signals, call, 'ok', (tx) => storeAnswer(tx, room, row, input.round, complete, rest));
}

const isTooLong = (error: unknown): error is ModelError =>
  error instanceof ModelError && error.class === 'context_length';

/** A call that goes on elsewhere, or whose turn is another's, is lost; a provider's failure is an error. */
const endOf = (error: unknown): UsageEnd => (error instanceof ModelError ? 'error' : 'lost');

async function open(
  tx: Tx,
  room: ModelCallRoom,
  input: CallModelInput,
  attempt: Attempt,
): Promise<OpenCall | CallModelOutcome | CallRefused | { failure: FailureClass; text?: undefined }> {
  const before = await lockTurn(tx, input.turn);
  if (before.status === 'ended') return { kind: 'ended', reason: before.reason ?? 'error' };
  const row = await takeFence(tx, input.turn, attempt);
  const stored = await roundMessage(tx, row.id, input.round, 'assistant');
  if (stored?.stop_reason === 'cancelled') return { kind: 'cancelled' };
  if (stored) return outcomeOf(room, input.round, stored.blocks);
  if (row.cancel_requested_at !== null) return { kind: 'cancelled' };
  if (input.round > 0 && !(await sealRound(tx, row, input.round - 1))) return { failure: 'hole' };
  const human = { subject: row.human, kind: 'human' as const };
  if (!(await can(tx, human, 'tracker.write', { project_id: row.project_id }))) return { failure: 'forbidden' };
  const context = await readContext(tx, row, room.gateway.installation);
  const mayCompact = input.compaction === 'possible';
  if (mayCompact && needsCompaction(room, context)) return { kind: 'compact' };
  const callAttempt = await openCall(tx, row, input.round);
  const called = { ...row, round: input.round, call_attempt: callAttempt };
  const { project, system, tools, summary } = context;
  const messages = modelView(context.messages, summary);
  const call = await openMetered(tx, room.gateway, called, project, 'answer', { system, messages, tools });
  if ('failure' in call) return call;
  const spoken = context.messages.some(
    ({ turn, role, blocks }) => turn === row.id && role === 'assistant' && textOf(blocks) !== '',
  );
  const compactable = mayCompact && room.compactAtTokens > 0 && isCompactable(context);
  return { row: called, call, compactable, silent: callAttempt === 1 && !spoken };
}

async function storeAnswer(
  tx: Tx,
  room: ModelCallRoom,
  opened: TurnRow,
  round: number,
  answer: ModelAnswer,
  rest: OutputBody | undefined,
): Promise<CallModelOutcome> {
  const row = await lockFenced(tx, opened.id, opened.fence);
  const stored = await roundMessage(tx, row.id, round, 'assistant');
  if (stored) return outcomeOf(room, round, stored.blocks);
  if (rest) tx.output({ ...told(row), body: rest });
  const blocks = answer.blocks.map(storableBlock);
  const calls = toolUses(blocks);
  await appendMessage(tx, row, {
    role: 'assistant',
    blocks,
    round,
    stop_reason: answer.stop_reason,
    model: storable(answer.model),
    ...(answer.usage ? { usage: answer.usage } : {}),
  });
  for (const { name, tool_use_id, input } of calls) {
    tx.output({ ...told(row), body: { type: 'tool_call', tool: name, tool_use_id, input } });
  }
  if (calls.length > 0) {
    if (round < maxRepeats - 1 || (await failedBefore(tx, row.id, round, calls)) < maxRepeats - 1) {
      return outcomeOf(room, round, blocks);
    }
    await finishTurn(tx, row, 'error', repeatedText);
    return { kind: 'ended', reason: 'error' };
  }
  const said = answer.stop_reason;
  const reason: TurnReason = said === 'tool_use' || said === 'cancelled' ? 'end_turn' : said;
  await finishTurn(tx, row, reason);
  return { kind: 'ended', reason };
}

/** What was streamed before the stop, as a message; nothing when nothing was. Half-streamed calls are dropped. */
async function storeCancelled(
  tx: Tx,
  opened: TurnRow,
  round: number,
  text: string,
  rest: OutputBody | undefined,
): Promise<CallModelOutcome> {
  const row = await lockFenced(tx, opened.id, opened.fence);
  if (await roundMessage(tx, row.id, round, 'assistant')) return { kind: 'cancelled' };
  if (rest) tx.output({ ...told(row), body: rest });
  if (text !== '') {
    await appendMessage(tx, row, {
      role: 'assistant',
      blocks: [{ type: 'text', text: storable(text) }],
      round,
      stop_reason: 'cancelled',
    });
  }
  return { kind: 'cancelled' };
}

/**
 * Commits the call's end and its usage together, and tries again in place while PostgreSQL is away: the answer was paid
 * for. One that took effect although its reply was lost is found by its (turn, round) or by the turn's end.
 */
async function commit(
  room: ModelCallRoom,
  signals: ModelCallSignals,
  call: MeteredCall,
  status: UsageEnd,
  store: (tx: Tx) => Promise<CallModelOutcome>,
): Promise<CallModelOutcome> {
  const beat = (): void => signals.progress('committing', 0);
  try {
    const [outcome, tell] = await commitPatiently(room.database, room.commitPatienceMs, beat, async (tx) => [
      await store(tx),
      await settleMetered(tx, room.gateway, call, status),
    ] as const);
    tell();
    return outcome;
  } catch (error) {
    if (!(error instanceof TurnLost)) throw error;
    // Paid for, though nobody gets it.
    await settleFailed(room.database, room.gateway, call, 'lost');
    if (error.why === 'ended') return { kind: 'ended', reason: error.reason };
    throw error;
  }
}

function outcomeOf(room: ModelCallRoom, round: number, blocks: readonly Block[]): CallModelOutcome {
  if (round >= room.maxRounds) return { kind: 'max_rounds' };
  return { kind: 'tools', calls: toolUses(blocks).slice(0, maxCallsPerAnswer).map(callRef) };
}

function callRef(block: ToolUseBlock, call: number): CallRef {
  const tool = findTool(block.name);
  return { call, tool: tool?.name ?? 'unknown', writes: tool?.writes ?? false };
}

function storableBlock(block: Block): Block {
  if (block.type === 'text') return { ...block, text: storable(block.text) };
  if (block.type === 'tool_use') return { ...block, name: storable(block.name), input: storableJson(block.input) };
  return block;
}

function told(row: TurnRow): { session: string; turn: string; attempt: number } {
  return { session: row.session_id, turn: row.id, attempt: row.call_attempt };
}

/** Records for humans why an attempt failed, if it still holds the turn; watchers are told when another follows. */
export async function noteFailure(
  database: Database,
  turn: string,
  attempt: Attempt,
  text: string,
  retrying: string | undefined,
): Promise<void> {
  await transaction(database, async (tx) => {
    const row = await lockTurn(tx, turn);
    if (row.status === 'ended') return;
    const [mine] = await tx.query('SELECT 1 FROM planner_turns WHERE id = $1 AND fence_order = $2::bigint[]', [
      turn,
      [attempt.scheduledMs, attempt.round, attempt.rank, attempt.attempt],
    ]);
    if (mine) await recordFailure(tx, row, text, retrying);
  });
}

// What a planner turn does to the world, as Temporal activities: thin, each calls its room in planner/.

import { CancelledFailure, Context } from '@temporalio/activity';
import { failureTexts, type CompactOutcome, type TurnActivities, type TurnInput } from '../domain/turn.ts';
import { compactSession, type CompactionRoom } from '../planner/compaction.ts';
import type { LiveCalls } from '../planner/live-calls.ts';
import { CallFailure, modelCall, noteFailure, type ModelCallSignals } from '../planner/model-call.ts';
import { toolCall, type ToolCallRoom } from '../planner/tool-call.ts';
import { transaction } from '../store/database.ts';
import { finishTurn, takeFence, TurnLost, type Attempt } from '../store/turns.ts';
import { logWarning } from '../telemetry/log.ts';
import { failure, log, unexpected } from './failures.ts';
import { retryOf } from './retry.ts';

export interface TurnRoom extends CompactionRoom, ToolCallRoom {
  liveCalls: LiveCalls;
}

/** Milliseconds between heartbeats. */
const heartbeatMs = 1_000;

export function turnActivities(room: TurnRoom): TurnActivities {
  return {
    async callModel(input) {
      return calling(room, input, async (signals) => {
        try {
          return await modelCall(room, input, signals);
        } catch (error) {
          if (isOver(error)) return { kind: 'ended', reason: error.reason };
          throw await failed(room, input.turn, signals.attempt, error);
        }
      });
    },

    async compact(input) {
      return calling(room, input, async (signals) => {
        try {
          return await compactSession(room, input, signals);
        } catch (error) {
          if (isOver(error)) return { kind: 'ended', reason: error.reason };
          return uncompacted(signals.attempt, error);
        }
      });
    },

    async runTool(input) {
      try {
        return await toolCall(room, input);
      } catch (error) {
        if (isOver(error)) return 'ended';
        if (error instanceof CallFailure) throw failure(error.failure, false);
        throw unexpected(error);
      }
    },

    async endTurn(input) {
      const { reason, failure: why } = input;
      try {
        return await transaction(room.database, async (tx) => {
          const row = await takeFence(tx, input.turn, attemptOf(Number.MAX_SAFE_INTEGER, 1));
          const text = reason === 'error' ? (row.failure ?? failureTexts[why ?? 'internal']) : undefined;
          await finishTurn(tx, row, reason, text);
          return reason;
        });
      } catch (error) {
        if (isOver(error)) return error.reason;
        throw error instanceof TurnLost ? failure('stale', true) : unexpected(error);
      }
    },
  };
}

const isOver = (error: unknown): error is TurnLost => error instanceof TurnLost && error.why === 'ended';

/** Runs what calls a model: beats from its first line on, and hears of a stop through this process and the engine. */
async function calling<T>(
  room: TurnRoom,
  input: TurnInput & { round: number },
  act: (signals: ModelCallSignals) => Promise<T>,
): Promise<T> {
  const context = Context.current();
  const call = room.liveCalls.open(input.turn);
  let details = { phase: 'starting', round: input.round, characters: 0 };
  const beat = (): void => context.heartbeat(details);
  const timer = setInterval(beat, heartbeatMs);
  beat();
  try {
    return await act({
      attempt: attemptOf(input.round, 0),
      signal: AbortSignal.any([call.controller.signal, context.cancellationSignal]),
      stopped: () =>
        call.controller.signal.reason === 'cancel' || context.cancellationDetails?.cancelRequested === true,
      onLost: () => call.controller.abort('lost'),
      progress: (phase, characters) => {
        details = { phase, round: input.round, characters };
      },
    });
  } finally {
    clearInterval(timer);
    call.close();
  }
}

function attemptOf(round: number, rank: 0 | 1): Attempt {
  const { currentAttemptScheduledTimestampMs, attempt, workflowExecution } = Context.current().info;
  return {
    scheduledMs: Math.trunc(currentAttemptScheduledTimestampMs),
    round,
    rank,
    attempt,
    runId: workflowExecution?.runId ?? '',
  };
}

/** What makes a call go on elsewhere, as the engine is told of it; undefined: the call itself failed. */
function elsewhere(error: unknown): Error | undefined {
  // Only an attempt that the engine has given up is late for good, and what it reports is dropped. Another one is
  // early, as the engine's clock, which orders attempts, was set back; or the turn has ended: the next one is told.
  if (error instanceof TurnLost || error === 'lost') return failure('stale', true);
  if (!(error instanceof CancelledFailure)) return undefined;
  // A stop is no failure of the call; everything else that cancels an activity makes it go on elsewhere.
  return Context.current().cancellationDetails?.workerShutdown ? failure('shutdown', true) : error;
}

/** What the engine is told of a failed model call; what humans are told is stored first. */
async function failed(room: TurnRoom, turn: string, attempt: Attempt, error: unknown): Promise<Error> {
  const moved = elsewhere(error);
  if (moved) return moved;
  const retry = retryOf(error, attempt.attempt, remainingMs());
  if (retry.failure === 'internal') log(error);
  if (retry.retryable) room.database.facts.tell({ kind: 'retrying', failure: retry.failure });
  await noteFailure(room.database, turn, attempt, retry.text, retry.retryable ? retry.reason : undefined).catch(log);
  return failure(retry.failure, retry.retryable, retry.delayMs);
}

/** Attempts that a compaction gets where a retry can help; the turn can go on without it. */
const compactionAttempts = 3;

/** No summary could be had: tried again a few times where that can help, then logged, and the turn goes on. */
function uncompacted(attempt: Attempt, error: unknown): CompactOutcome {
  const moved = elsewhere(error);
  if (moved) throw moved;
  const retry = retryOf(error, attempt.attempt, remainingMs());
  if (retry.failure === 'internal') log(error);
  if (retry.retryable && attempt.attempt < compactionAttempts) throw failure(retry.failure, true, retry.delayMs);
  logWarning('a conversation was not summarized; its turn goes on', undefined, { failure: retry.failure });
  return { kind: 'failed', failure: retry.failure };
}

/** Milliseconds until the engine gives this activity up. */
function remainingMs(): number {
  const { scheduledTimestampMs, scheduleToCloseTimeoutMs } = Context.current().info;
  return scheduledTimestampMs + scheduleToCloseTimeoutMs - Date.now();
}

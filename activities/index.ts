// What a planner turn does to the world, as Temporal activities: thin, each calls its room in planner/.

import { CancelledFailure, Context } from '@temporalio/activity';
import { failureTexts, type TurnActivities } from '../domain/turn.ts';
import type { LiveCalls } from '../planner/live-calls.ts';
import { modelCall, noteFailure, type ModelCallRoom } from '../planner/model-call.ts';
import { toolCall, type ToolCallRoom } from '../planner/tool-call.ts';
import { transaction } from '../store/database.ts';
import { finishTurn, takeFence, TurnLost, type Attempt } from '../store/turns.ts';
import { failure, log, unexpected } from './failures.ts';
import { retryOf } from './retry.ts';

export interface TurnRoom extends ModelCallRoom, ToolCallRoom {
  liveCalls: LiveCalls;
}

/** Milliseconds between heartbeats. */
const heartbeatMs = 1_000;

export function turnActivities(room: TurnRoom): TurnActivities {
  return {
    async callModel(input) {
      const context = Context.current();
      const call = room.liveCalls.open(input.turn);
      let details = { phase: 'starting', round: input.round, characters: 0 };
      const beat = (): void => context.heartbeat(details);
      const timer = setInterval(beat, heartbeatMs);
      beat();
      const attempt = attemptOf(input.round, 0);
      try {
        return await modelCall(room, input, {
          attempt,
          signal: AbortSignal.any([call.controller.signal, context.cancellationSignal]),
          stopped: () =>
            call.controller.signal.reason === 'cancel' || context.cancellationDetails?.cancelRequested === true,
          onLost: () => call.controller.abort('lost'),
          progress: (phase, characters) => {
            details = { phase, round: input.round, characters };
          },
        });
      } catch (error) {
        throw await failed(room, input.turn, attempt, error);
      } finally {
        clearInterval(timer);
        call.close();
      }
    },

    async runTool(input) {
      try {
        return await toolCall(room, input);
      } catch (error) {
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
        if (error instanceof TurnLost && error.why === 'ended') return error.reason;
        throw error instanceof TurnLost ? failure('stale', true) : unexpected(error);
      }
    },
  };
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

/** What the engine is told of a failed model call; what humans are told is stored first. */
async function failed(room: TurnRoom, turn: string, attempt: Attempt, error: unknown): Promise<Error> {
  // Only an attempt that the engine has given up is late for good, and what it reports is dropped. Another one is
  // early, as the engine's clock, which orders attempts, was set back; or the turn has ended: the next one is told.
  if (error instanceof TurnLost || error === 'lost') return failure('stale', true);
  if (error instanceof CancelledFailure) {
    // A stop is no failure of the call; everything else that cancels an activity makes it go on elsewhere.
    return Context.current().cancellationDetails?.workerShutdown ? failure('shutdown', true) : error;
  }
  const retry = retryOf(error, attempt.attempt, remainingMs());
  if (retry.failure === 'internal') log(error);
  await noteFailure(room.database, turn, attempt, retry.text, retry.retryable ? retry.reason : undefined).catch(log);
  return failure(retry.failure, retry.retryable, retry.delayMs);
}

/** Milliseconds until the engine gives this activity up. */
function remainingMs(): number {
  const { scheduledTimestampMs, scheduleToCloseTimeoutMs } = Context.current().info;
  return scheduledTimestampMs + scheduleToCloseTimeoutMs - Date.now();
}

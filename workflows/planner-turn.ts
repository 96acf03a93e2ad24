// plannerTurn: the order of a turn. Ids, counts and classes only; every fact is in the database.
// (spec: orchestration "The planner turn")

import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  defineQuery,
  defineSignal,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
} from '@temporalio/workflow';
import type { TurnReason } from '../domain/output.ts';
import {
  callBackoff,
  isFailureClass,
  maxParallelCalls,
  type CallModelInput,
  type CallModelOutcome,
  type CallRef,
  type CancelSignal,
  type CompactInput,
  type CompactOutcome,
  type EndTurnInput,
  type FailureClass,
  type RunToolOutcome,
  type TurnActivities,
  type TurnInput,
  type TurnResult,
  type TurnStatus,
} from '../domain/turn.ts';
import { tellEnd, tellNow } from './story.ts';

export const cancelSignal = defineSignal<[CancelSignal]>('cancel');
export const statusQuery = defineQuery<TurnStatus>('status');

const { callModel } = proxyActivities<Pick<TurnActivities, 'callModel'>>({
  startToCloseTimeout: '10m',
  scheduleToCloseTimeout: '15m',
  heartbeatTimeout: '10s',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: {
    initialInterval: callBackoff.initialMs,
    backoffCoefficient: callBackoff.coefficient,
    maximumInterval: callBackoff.maximumMs,
  },
});

/** Several calls where the model's window is small; the activity gives up by itself on a provider that keeps failing. */
const { compact } = proxyActivities<Pick<TurnActivities, 'compact'>>({
  startToCloseTimeout: '20m',
  scheduleToCloseTimeout: '20m',
  heartbeatTimeout: '10s',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: {
    initialInterval: callBackoff.initialMs,
    backoffCoefficient: callBackoff.coefficient,
    maximumInterval: callBackoff.maximumMs,
  },
});

const { runTool } = proxyLocalActivities<Pick<TurnActivities, 'runTool'>>({
  startToCloseTimeout: '10s',
  scheduleToCloseTimeout: '2m',
  retry: { initialInterval: '50ms', backoffCoefficient: 2, maximumInterval: '2s' },
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});

const { endTurn } = proxyActivities<Pick<TurnActivities, 'endTurn'>>({
  startToCloseTimeout: '30s',
  retry: { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '5s' },
});

export async function plannerTurn({ session, turn }: TurnInput): Promise<TurnResult> {
  const status: TurnStatus = { phase: 'starting', round: 0, cancelled: false };
  const work = new CancellationScope();
  setHandler(cancelSignal, () => {
    status.cancelled = true;
    work.cancel();
  }, { description: 'ends the turn as a stop by its user does' });
  setHandler(statusQuery, () => status, { description: 'phase, round, whether a stop was asked for' });

  const end = async (reason: EndTurnInput['reason'], failure?: FailureClass): Promise<TurnResult> => {
    status.phase = 'ending';
    const summary = `end: ${failure ? `${reason}, ${failure}` : reason}`;
    tellNow(summary);
    const input = { session, turn, reason, ...(failure ? { failure } : {}) };
    return result(await CancellationScope.nonCancellable(() => endTurn.executeWithOptions({ summary }, [input])));
  };
  const result = (reason: TurnResult['reason']): TurnResult => {
    status.phase = 'ended';
    tellEnd(reason);
    return { reason, model_calls: status.round + 1 };
  };

  try {
    const outcome = await work.run(() => rounds({ session, turn }, status));
    return outcome.kind === 'ended' ? result(outcome.reason) : await end(outcome.kind);
  } catch (error) {
    // Once a stop was asked for, the engine does not try a call again that fails: the stop is how the turn ends.
    const stopped = status.cancelled || CancellationScope.current().consideredCancelled;
    if (stopped || isCancellation(error)) return end('cancelled');
    return end('error', failureOf(error));
  }
}

type RoundsOutcome = { kind: 'ended'; reason: TurnReason } | { kind: 'cancelled' } | { kind: 'max_rounds' };

async function rounds(input: TurnInput, status: TurnStatus): Promise<RoundsOutcome> {
  let compaction: CallModelInput['compaction'] = 'possible';
  for (let round = 0; ; round++) {
    status.round = round;
    let outcome = await call();
    // Once a turn: what can be summarized is the same in all its rounds.
    if (outcome.kind === 'compact') {
      status.phase = 'compaction';
      tellNow(`compact, round ${round}`);
      const compacted = await tryCompact({ ...input, round });
      if (compacted.kind === 'cancelled' || compacted.kind === 'ended') return compacted;
      compaction = 'tried';
      outcome = await call();
    }
    if (outcome.kind === 'compact') throw ApplicationFailure.nonRetryable('compaction was tried', 'internal');
    if (outcome.kind !== 'tools') return outcome;
    status.phase = 'tool calls';
    for (const group of groups(outcome.calls)) {
      tellNow(`tool calls, round ${round}: ${group.map(({ tool }) => tool).join(', ')}`);
      const results = await Promise.all(group.map(run));
      if (results.includes('cancelled')) return { kind: 'cancelled' };
      // Ended from outside: the next model call returns how.
      if (results.includes('ended')) break;
    }

    function call(): Promise<CallModelOutcome> {
      const summary = `model call, round ${round}`;
      status.phase = 'model call';
      tellNow(summary);
      return callModel.executeWithOptions({ summary }, [{ ...input, round, compaction }]);
    }

    function run({ call, tool }: CallRef): Promise<RunToolOutcome> {
      return runTool.executeWithOptions({ summary: tool }, [{ ...input, round, call }]);
    }
  }
}

/** A failure is no reason to fail the turn. (spec: planner 8) */
async function tryCompact(input: CompactInput): Promise<CompactOutcome> {
  try {
    return await compact.executeWithOptions({ summary: `compact, round ${input.round}` }, [input]);
  } catch (error) {
    if (isCancellation(error)) throw error;
    return { kind: 'failed', failure: failureOf(error) };
  }
}

/** Neighbouring read-only calls side by side, at most eight; a writing call alone and in its place. */
export function groups(calls: readonly CallRef[]): CallRef[][] {
  const groups: CallRef[][] = [];
  for (const call of calls) {
    const last = groups.at(-1);
    if (last && !call.writes && !last[0]!.writes && last.length < maxParallelCalls) last.push(call);
    else groups.push([call]);
  }
  return groups;
}

function failureOf(error: unknown): FailureClass {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof ApplicationFailure && isFailureClass(cause.type)) return cause.type;
  // A timeout: the worker that held the call was lost, or fell silent, until no time was left.
  return error instanceof ActivityFailure ? 'worker_lost' : 'internal';
}

// What happened, as metrics and logs know it: told by whoever committed it, after the commit; lost with the process.

import type { FailureKind } from '../domain/bounded/failures.ts';
import type { Outcome } from '../domain/revalidation/claim.ts';
import type { Claim, Purpose, ValidationEnd } from '../domain/revalidation/contract.ts';
import type { TurnReason } from '../domain/output.ts';
import type { FailureClass } from '../domain/turn.ts';
import { logInfo, logWarning, withIds, type LogIds } from './log.ts';

/** Durations in seconds. */
export type Fact =
  | { kind: 'turn_ended'; ids: LogIds; reason: TurnReason; rounds: number; seconds: number }
  /** From the human's message to the first piece of the answer. */
  | { kind: 'first_text'; seconds: number }
  | { kind: 'tool_call_ended'; tool: string; outcome: 'ok' | 'error'; seconds: number }
  /** An activity failed and is tried again. */
  | { kind: 'retrying'; failure: FailureClass }
  | { kind: 'attempt_ended'; ids: LogIds; failure: FailureKind | null; cost_usd: number }
  | { kind: 'run_ended'; ids: LogIds; status: RunOutcome; failure: FailureKind | null; seconds: number }
  | RevalidationEnded;

export interface RevalidationEnded {
  kind: 'revalidation_ended';
  ids: LogIds;
  status: ValidationEnd;
  claim: Claim;
  attempts: readonly { purpose: Purpose; outcome: Outcome; failure: FailureKind | 'interrupted' | null }[];
  cost_usd: number;
  seconds: number;
}

export type RunOutcome = 'succeeded' | 'failed' | 'cancelled' | 'rejected';

/** Of one process. */
export class Facts {
  readonly #hearers = new Set<(fact: Fact) => void>();

  /** Returns how to stop hearing. */
  on(hear: (fact: Fact) => void): () => void {
    this.#hearers.add(hear);
    return () => void this.#hearers.delete(hear);
  }

  tell(fact: Fact): void {
    logFact(fact);
    for (const hear of this.#hearers) hear(fact);
  }
}

function logFact(fact: Fact): void {
  switch (fact.kind) {
    case 'turn_ended': {
      const { reason, rounds, seconds } = fact;
      return withIds(fact.ids, () => logInfo('turn ended', { reason, rounds, seconds }));
    }
    case 'first_text':
      return;
    case 'tool_call_ended': {
      const { tool, outcome, seconds } = fact;
      return logInfo('tool call ended', { tool, outcome, seconds: rounded(seconds) });
    }
    case 'retrying':
      return logWarning('tried again', undefined, { failure: fact.failure });
    case 'attempt_ended': {
      const { failure, cost_usd } = fact;
      return withIds(fact.ids, () => logInfo('attempt of a bounded run ended', { failure, cost_usd }));
    }
    case 'run_ended': {
      const { status, failure, seconds } = fact;
      return withIds(fact.ids, () => logInfo('bounded run ended', { status, failure, seconds }));
    }
    case 'revalidation_ended': {
      const { status, claim, cost_usd, seconds } = fact;
      return withIds(fact.ids, () => logInfo('re-validation ended', { status, claim, cost_usd, seconds }));
    }
  }
}

/** To a millisecond. */
export const rounded = (seconds: number): number => Math.round(seconds * 1_000) / 1_000;

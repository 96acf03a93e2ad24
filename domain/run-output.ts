// Outputs of bounded runs: what watchers of a run are told, in order (spec: planner 11 run.watch).

import type { FailureKind } from './bounded/failures.ts';

export type RunFinal = 'succeeded' | 'failed' | 'cancelled' | 'rejected';

export type RunOutputBody =
  /** Visible text of the attempt, redacted: more of it, or all of it anew. */
  | { type: 'text'; text: string; replace?: true }
  /** What the run does, and the clocks of its CLI while one runs; milliseconds, code points. */
  | { type: 'status'; phase: string; elapsed_ms?: number; visible_characters?: number; last_event_age_ms?: number }
  /** An attempt ended without a plan. */
  | { type: 'attempt_failed'; failure_kind: FailureKind; failure_detail: string }
  /** Another attempt follows after so many milliseconds. */
  | { type: 'waiting'; wait_ms: number }
  /** All visible text of an attempt that has ended; on success the plan. */
  | { type: 'checkpoint'; text: string }
  | { type: 'warning'; text: string }
  /** Why the run was rejected or failed, for people: all problems, and how to mend them. */
  | { type: 'error'; text: string }
  | { type: 'done'; status: RunFinal; failure_kind?: FailureKind };

/** An output as its writer knows it; attempt 0: before the first one. */
export interface NewRunOutput {
  run: string;
  attempt: number;
  body: RunOutputBody;
}

export interface StoredRunOutput extends NewRunOutput {
  /** Ascends per run in commit order; dense. */
  output: number;
}

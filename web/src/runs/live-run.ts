// A run as it is told while it goes on: its outputs, folded. Pure.

import type { RunOutput } from '../../../client/index.ts';

type Of<Type extends RunOutput['type']> = Extract<RunOutput, { type: Type }>;

export interface LiveRun {
  /** The present one; 0: before the first. */
  attempt: number;
  /** Its visible text. */
  text: string;
  /** What it does, and when that was told, in milliseconds of the clock. */
  status?: { told: Of<'status'>; at: number } | undefined;
  /** Another attempt follows at that moment. */
  nextAt?: number | undefined;
  /** Attempts that ended without a plan. */
  failed: Of<'attempt_failed'>[];
  warnings: string[];
  /** Why it was rejected or failed. */
  error?: string | undefined;
  done?: Of<'done'> | undefined;
  /** Why the API tells no more of it. */
  closed?: string | undefined;
}

export const emptyLive: LiveRun = { attempt: 0, text: '', failed: [], warnings: [] };

/** `now`: milliseconds of the clock. */
export function foldRun(before: LiveRun, output: RunOutput, now: number): LiveRun {
  const live = output.attempt > before.attempt ? { ...before, attempt: output.attempt, text: '' } : before;
  switch (output.type) {
    case 'text':
      return { ...live, text: output.replace ? output.text : live.text + output.text };
    case 'checkpoint':
      return { ...live, text: output.text };
    case 'status':
      return withStatus(live, { told: output, at: now });
    case 'attempt_failed':
      return { ...live, failed: [...live.failed, output] };
    case 'waiting':
      return { ...live, nextAt: now + output.wait_ms };
    case 'warning':
      return { ...live, warnings: [...live.warnings, output.text] };
    case 'error':
      return { ...live, error: output.text };
    case 'done':
      return { ...live, done: output, status: undefined, nextAt: undefined };
  }
}

function withStatus(live: LiveRun, status: NonNullable<LiveRun['status']>): LiveRun {
  // Told after its end: it goes on again.
  if (live.done) return { ...emptyLive, attempt: live.attempt, status };
  // A CLI's clocks: the wait is over.
  return { ...live, status, nextAt: status.told.elapsed_ms === undefined ? live.nextAt : undefined };
}

export interface Clocks {
  /** Milliseconds. */
  elapsed: number;
  /** Since the last complete valid event. */
  sinceEvent: number;
  characters: number;
}

/** The clocks of the CLI at that moment; undefined while none runs. */
export function clocksOf({ status }: LiveRun, now: number): Clocks | undefined {
  if (!status || status.told.elapsed_ms === undefined) return undefined;
  const since = Math.max(0, now - status.at);
  const { elapsed_ms, visible_characters = 0, last_event_age_ms = 0 } = status.told;
  return { elapsed: elapsed_ms + since, sinceEvent: last_event_age_ms + since, characters: visible_characters };
}

// One attempt of a bounded run under supervision (spec: bounded-claude 4).

import type { AttemptHooks, AttemptOutcome, AttemptPlan } from './types.ts';

/** Starts guard and CLI, reads the events, keeps the limits, ends and reaps the group, judges. */
export async function superviseAttempt(_plan: AttemptPlan, _hooks: AttemptHooks): Promise<AttemptOutcome> {
  return Promise.reject(new Error('Not built yet.'));
}

// The outcome of an attempt whose worker was lost (spec: bounded-claude 4).

import type { AttemptOutcome, LostAttempt } from './types.ts';

/** Makes sure that the group is gone, then judges what the guard stored; undefined: no CLI was ever started. */
export async function recoverAttempt(_attempt: LostAttempt): Promise<AttemptOutcome | undefined> {
  return Promise.reject(new Error('Not built yet.'));
}

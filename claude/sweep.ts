// Ends what outlived guard and worker together (spec: bounded-claude 4).

import type { Swept } from './types.ts';

/** At a worker's start: groups found by the marker in their environment whose guard is gone. */
export async function sweepOrphans(): Promise<Swept[]> {
  return Promise.reject(new Error('Not built yet.'));
}

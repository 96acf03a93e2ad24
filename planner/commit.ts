// Commits of what a model was paid for: tried again in place while PostgreSQL is away.
// (spec: orchestration "callModel")

import { setTimeout as sleep } from 'node:timers/promises';
import { isConnectionError, transaction, type Database, type Tx } from '../store/database.ts';

/**
 * One transaction, run again for at most `patienceMs` while the database cannot be reached. It may have taken effect
 * although its reply was lost: the body must find what it stored before. `onTry` is called before each.
 */
export async function commitPatiently<T>(
  database: Database,
  patienceMs: number,
  onTry: () => void,
  body: (tx: Tx) => Promise<T>,
): Promise<T> {
  const deadline = Date.now() + patienceMs;
  for (let wait = 50; ; wait = Math.min(wait * 2, 1_000)) {
    onTry();
    try {
      return await transaction(database, body);
    } catch (error) {
      if (!isConnectionError(error) || Date.now() > deadline) throw error;
      await sleep(wait);
    }
  }
}

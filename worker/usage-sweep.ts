// Closes usage rows that their process could not close: it was killed, or the database was away (spec: planner 9).

import type { Meter } from '../planner/metered-call.ts';
import type { Database } from '../store/database.ts';
import { closeLostUsage } from '../store/usage.ts';
import { task } from './loops.ts';

export interface UsageSweep {
  close(): Promise<void>;
}

/** Looks every `everyMs`; each worker may. */
export function startUsageSweep(
  database: Database,
  meter: Meter,
  warn: (message: string, error: unknown) => void,
  everyMs = 10_000,
): UsageSweep {
  const sweep = task('closing usage of lost calls', () => sweepUsage(database, meter), warn);
  const timer = setInterval(sweep.run, everyMs);
  return {
    async close() {
      clearInterval(timer);
      sweep.close();
      await sweep.idle();
    },
  };
}

export async function sweepUsage(database: Database, meter: Meter): Promise<void> {
  for (const { organization, project, model, input, output } of await closeLostUsage(database)) {
    const usage = { input, output, cache_read: 0, cache_write: 0 };
    meter.closed({ organization, project, model, status: 'lost' }, usage);
  }
}

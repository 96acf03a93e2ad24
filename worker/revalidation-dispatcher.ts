// Starts re-validations that somebody asked for, keeps the engine's schedules as the database has them, repeats
// cancels, and mends what was lost; one in each worker of the shared queue (spec: orchestration "Re-validation").

import type { Client } from '@temporalio/client';
import { signalRunCancel, terminateRun } from '../bounded/engine.ts';
import { startRevalidation, syncSchedule } from '../bounded/revalidation-engine.ts';
import { concludeValidation } from '../bounded/revalidation-runs.ts';
import { workflowState } from '../planner/engine.ts';
import type { Visibility } from '../planner/visibility.ts';
import type { Database } from '../store/database.ts';
import type { Listener } from '../store/listener.ts';
import { claimSchedules, scheduleSynced, scheduleUnsynced } from '../store/revalidation-schedules.ts';
import {
  claimPendingValidations,
  claimStuckValidations,
  findValidation,
  flaggedValidations,
  releasePendingValidation,
} from '../store/revalidations.ts';
import { dispatchIntervals, startLoops, task, type Intervals, type Loops } from './loops.ts';

export interface RevalidationDispatcherOptions {
  database: Database;
  listener: Listener;
  client: Client;
  visibility: Visibility;
  warn(message: string, error: unknown): void;
  intervals?: Partial<Intervals>;
}

/** A stop waits for the run's own, which may take as long. */
const forceSeconds = 120;
/** Its runs tell their own progress; it is looked at seldom. */
const stuckSeconds = 60;

export function startRevalidationDispatcher(options: RevalidationDispatcherOptions): Loops {
  const { database, client, visibility, listener, warn } = options;
  const intervals = dispatchIntervals(options.intervals);

  const dispatch = task('starting re-validations', async () => {
    for (const one of await claimPendingValidations(database)) {
      await startRevalidation(client, visibility, one).catch(async (error: unknown) => {
        await releasePendingValidation(database, one.id);
        throw error;
      });
    }
  }, warn);

  const schedules = task('keeping the schedules of re-validations', async () => {
    for (const row of await claimSchedules(database)) {
      // One that the engine refuses must not hold up the others; it is tried again.
      await syncSchedule(client, visibility, row).then(
        (looked) => scheduleSynced(database, row, looked),
        (error: unknown) => {
          warn(`keeping the schedule ${row.id}`, error);
          return scheduleUnsynced(database, row.id);
        },
      );
    }
  }, warn);

  const cancel = task('repeating cancels of re-validations', async () => {
    for (const { id, workflow_id, cancel_by, age } of await flaggedValidations(database)) {
      if (age < forceSeconds) {
        await signalRunCancel(client, workflow_id, cancel_by ?? 'user');
        continue;
      }
      await concludeValidation(database, { validation: id, end: 'cancelled' });
      await terminateRun(client, workflow_id, 'cancelled; did not end in time');
    }
  }, warn);

  const sweep = task('sweeping re-validations', async () => {
    for (const one of await claimStuckValidations(database, stuckSeconds)) {
      const { id, workflow_id } = one;
      const state = await workflowState(client, workflow_id);
      if (state === 'open') continue;
      const row = await findValidation(database, id);
      // Never begun, or the engine has lost it: what was done is found in the database.
      if (state === 'none' && row?.schedule_id === null) await startRevalidation(client, visibility, one);
      else await concludeValidation(database, { validation: id, end: 'failed' });
    }
  }, warn);

  dispatch.run();
  schedules.run();
  const reconnected = listener.onConnect(() => {
    for (const one of [dispatch, schedules, cancel]) one.run();
  });
  const noted = listener.on('revalidations', () => {
    for (const one of [dispatch, schedules, cancel]) one.run();
  });
  return startLoops(
    [
      [dispatch, intervals.pending],
      [schedules, intervals.cancel],
      [cancel, intervals.cancel],
      [sweep, intervals.sweep],
    ],
    [reconnected, noted],
  );
}

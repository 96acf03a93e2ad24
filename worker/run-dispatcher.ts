// Starts pending bounded runs, repeats cancels, and mends what processes that died left behind; one in each worker of
// the shared queue, as for turns (spec: orchestration "Send", "Cancel", "Sweep").

import type { Client } from '@temporalio/client';
import { signalRunCancel, startRunWorkflow, terminateRun } from '../bounded/engine.ts';
import type { RunTimings } from '../domain/run.ts';
import { workflowState } from '../planner/engine.ts';
import { runLabels, type Visibility } from '../planner/visibility.ts';
import { transaction, type Database } from '../store/database.ts';
import type { Listener } from '../store/listener.ts';
import {
  claimPendingRuns,
  claimStuckRuns,
  endRunFromOutside,
  flaggedRuns,
  pruneRunOutputs,
  releasePendingRun,
  type RunToStart,
} from '../store/runs.ts';
import { dispatchIntervals, startDispatching, task, type Intervals, type Loops } from './loops.ts';

export interface RunDispatcherOptions {
  database: Database;
  listener: Listener;
  client: Client;
  visibility: Visibility;
  warn(message: string, error: unknown): void;
  intervals?: Partial<Intervals>;
  timings?: Partial<RunTimings>;
}

const atOnce = 50;
/** A workflow of an earlier cycle, whose run has ended, closes in no time. */
const againMs = 100;

export function startRunDispatcher(options: RunDispatcherOptions): Loops {
  const { database, client, listener, visibility, warn } = options;
  const intervals = dispatchIntervals(options.intervals);

  const timings = options.timings ?? {};
  const start = (run: RunToStart): Promise<boolean> =>
    visibility.start(runLabels(run), (described) => startRunWorkflow(client, run, { timings, described }));

  const dispatch = task('starting pending runs', async () => {
    for (const run of await claimPendingRuns(database, atOnce)) {
      try {
        if (await start(run)) continue;
        await releasePendingRun(database, run.id);
        dispatch.later(againMs);
      } catch (error) {
        await releasePendingRun(database, run.id);
        throw error;
      }
    }
  }, warn);

  const cancel = task('repeating cancels of runs', async () => {
    for (const { id, cycle, workflow_id, cancel_by, age } of await flaggedRuns(database)) {
      if (age * 1_000 < intervals.force) {
        await signalRunCancel(client, workflow_id, cancel_by ?? 'user').catch((error: unknown) => {
          warn('signalling a cancel', error);
        });
        continue;
      }
      // Its host does not answer: the guard ends the group by itself, the host completes the artifacts when it is back.
      await transaction(database, (tx) => endRunFromOutside(tx, { run: id, cycle }, { status: 'cancelled' }));
      await terminateRun(client, workflow_id, 'cancelled; did not end in time');
    }
  }, warn);

  const sweep = task('sweeping runs', async () => {
    for (const run of await claimStuckRuns(database, intervals.stuck / 1_000)) {
      const state = await workflowState(client, run.workflow_id);
      if (state === 'open') continue;
      // The engine has lost it, or a workflow of an earlier cycle stood in the way.
      if (state === 'none' || run.status === 'pending') {
        await start(run);
      } else {
        const { id, cycle } = run;
        await transaction(database, (tx) => endRunFromOutside(tx, { run: id, cycle }, lost, lostDetail));
      }
    }
  }, warn);

  const prune = task('pruning outputs of runs', async () => {
    await transaction(database, (tx) => pruneRunOutputs(tx));
  }, warn);

  return startDispatching({ dispatch, cancel, sweep, prune }, intervals, listener, [
    listener.on('runs', dispatch.run),
    listener.on('run_cancels', cancel.run),
  ]);
}

const lost = { status: 'failed', failure: 'worker_lost' } as const;
const lostDetail =
  "The run's workflow was ended from outside. What was finished is kept: a resume pays for nothing twice.";

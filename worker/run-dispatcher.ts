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
/** For how long a run that is to be ended may be locked by another transaction. */
const lockMs = 500;

export function startRunDispatcher(options: RunDispatcherOptions): Loops {
  const { database, client, listener, visibility, warn } = options;
  const intervals = dispatchIntervals(options.intervals);

  const timings = options.timings ?? {};
  const start = (run: RunToStart): Promise<boolean> =>
    visibility.start(runLabels(run), (described) => startRunWorkflow(client, run, { timings, described }));

  /** Each by itself: one that fails, is locked or waits for the engine holds up no other. */
  const each = async <Run>(what: string, runs: readonly Run[], act: (run: Run) => Promise<void>): Promise<void> => {
    await Promise.all(runs.map((run) => act(run).catch((error: unknown) => warn(what, error))));
  };

  const end = (run: { id: string; cycle: number }, how: Parameters<typeof endRunFromOutside>[2], detail?: string) =>
    transaction(database, async (tx) => {
      await tx.query(`SET LOCAL lock_timeout = ${lockMs}`);
      await endRunFromOutside(tx, { run: run.id, cycle: run.cycle }, how, detail);
    });

  const dispatch = task('starting pending runs', async () => {
    await each('starting a pending run', await claimPendingRuns(database, atOnce), async (run) => {
      let started = false;
      try {
        started = await start(run);
      } finally {
        if (!started) await releasePendingRun(database, run.id);
      }
      if (!started) dispatch.later(againMs);
    });
  }, warn);

  const cancel = task('repeating cancels of runs', async () => {
    await each('cancelling a run', await flaggedRuns(database), async (run) => {
      if (run.age * 1_000 < intervals.force) {
        await signalRunCancel(client, run.workflow_id, run.cancel_by ?? 'user');
        return;
      }
      // Its host does not answer: the guard ends the group by itself, the host completes the artifacts when it is back.
      await end(run, { status: 'cancelled' });
      await terminateRun(client, run.workflow_id, 'cancelled; did not end in time');
    });
  }, warn);

  const sweep = task('sweeping runs', async () => {
    await each('sweeping a run', await claimStuckRuns(database, intervals.stuck / 1_000), async (run) => {
      const state = await workflowState(client, run.workflow_id);
      if (state === 'open') return;
      // The engine has lost it, or a workflow of an earlier cycle stood in the way.
      if (state === 'none' || run.status === 'pending') await start(run);
      else await end(run, lost, lostDetail);
    });
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

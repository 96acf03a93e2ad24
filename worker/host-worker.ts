// A worker on the queue of this computer: preflight, supervision and publishing of the bounded runs of its
// repositories, and the completion of what they left. One process or several may run side by side.

import { NativeConnection, Worker } from '@temporalio/worker';
import { hostActivities } from '../activities/bounded.ts';
import { revalidationHostActivities } from '../activities/revalidation.ts';
import { completeOrphans, tidyRuns } from '../bounded/artifacts.ts';
import { installationOf, type HostRoom } from '../bounded/host.ts';
import { machineName } from '../bounded/machine.ts';
import { recoverAll } from '../bounded/recover.ts';
import { lookAtClaims, writeDueReports } from '../bounded/revalidation-host.ts';
import { removeWorkDir } from '../bounded/work-dir.ts';
import { sweepOrphans } from '../claude/index.ts';
import { runTaskQueue } from '../domain/run.ts';
import { dataConverter } from '../planner/engine.ts';
import { LiveCalls } from '../planner/live-calls.ts';
import type { Database } from '../store/database.ts';
import { listen } from '../store/listener.ts';
import { deployed } from './deployment.ts';
import { logInterceptors } from './log-ids.ts';
import { startLoops, task } from './loops.ts';
import type { TurnWorker } from './turn-worker.ts';

export interface HostWorkerOptions {
  database: Database;
  temporal: { address: string; namespace: string };
  /** Default: this computer's name. */
  machine?: string;
  /** Default: this process's. */
  env?: NodeJS.ProcessEnv;
  identity?: string;
  /** As of the worker of the shared queue. */
  build?: string | undefined;
  /** Milliseconds that running attempts get to finish when the worker is shut down. Default 25 s. */
  shutdownGraceMs?: number;
  /** Milliseconds between two looks at runs that have ended. Default 5 s. */
  tidyMs?: number;
  /** Milliseconds between two looks at processes that nobody guards. Default 10 s. */
  sweepMs?: number;
  /** Milliseconds between two looks at what claims are bound to. Default 60 s. */
  claimsMs?: number;
  warn(message: string, error?: unknown): void;
}

/** CLIs of one process at a time; each takes some 200 MB. */
const atOnce = 20;

export async function startHostWorker(options: HostWorkerOptions): Promise<TurnWorker> {
  const { database, temporal, warn } = options;
  const machine = options.machine ?? machineName();
  const installation = await installationOf(database);
  const env = options.env ?? process.env;
  const room: HostRoom = { database, machine, installation, env, liveRuns: new LiveCalls(), warn };
  const sweep = task('sweeping processes of bounded runs', async () => {
    for (const { marker, pids } of await sweepOrphans(installation)) {
      warn(`ended processes of a bounded run that nobody guarded: ${pids.join(', ')} (${marker})`);
    }
  }, warn);
  sweep.run();
  await sweep.idle();
  const connection = await NativeConnection.connect({ address: temporal.address });
  const listener = await listen(database.url, 'planner-host-listener');
  const worker = await Worker.create({
    connection,
    namespace: temporal.namespace,
    taskQueue: runTaskQueue(machine),
    ...deployed(runTaskQueue(machine), options.build),
    ...(options.identity ? { identity: options.identity } : {}),
    activities: { ...hostActivities(room), ...revalidationHostActivities(room) },
    dataConverter,
    interceptors: logInterceptors,
    maxConcurrentActivityTaskExecutions: atOnce,
    maxHeartbeatThrottleInterval: '1s',
    shutdownGraceTime: options.shutdownGraceMs ?? 25_000,
    shutdownForceTime: (options.shutdownGraceMs ?? 25_000) + 8_000,
  });
  const tidy = task('completing bounded runs', () => tidyRuns(room, {
    recover: (run) => recoverAll(room, run),
    async forget(run) {
      if (run.work_dir !== null) await removeWorkDir(run.work_dir);
    },
  }), warn);
  const reports = task('writing reports of re-validations', () => writeDueReports(room), warn);
  const claims = task('looking at claims of re-validations', () => lookAtClaims(room).then(reports.run), warn);
  const intervals = [
    [tidy, options.tidyMs ?? 5_000],
    [sweep, options.sweepMs ?? 10_000],
    [reports, options.tidyMs ?? 5_000],
    [claims, options.claimsMs ?? 60_000],
  ] as const;
  const loops = startLoops(intervals, [
    listener.on('run_cancels', (note) => room.liveRuns.cancel(note.id)),
    listener.on('run_ends', tidy.run),
    listener.on('revalidations', reports.run),
  ]);
  for (const one of [tidy, claims]) one.run();
  await completeOrphans(room);
  const ended = worker.run().finally(async () => {
    await loops.close();
    await listener.close();
    await connection.close();
  });
  return {
    ended,
    async close() {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await ended;
    },
  };
}

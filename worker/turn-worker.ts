// A worker on the shared queue: all workflows, the turn's activities, those of bounded runs that need the database
// alone, dispatchers and sweeps.

import { NativeConnection, Worker } from '@temporalio/worker';
import { runActivities } from '../activities/bounded.ts';
import { revalidationActivities } from '../activities/revalidation.ts';
import { turnActivities } from '../activities/index.ts';
import type { RunTimings } from '../domain/run.ts';
import { plannerTaskQueue } from '../domain/turn.ts';
import { noModels } from '../domain/models.ts';
import { queryEmbedder, type Embedder } from '../models/embeddings/index.ts';
import type { ModelSettings } from '../models/gateway.ts';
import type { CompactionRoom } from '../planner/compaction.ts';
import { DeltaWriter } from '../planner/deltas.ts';
import { dataConverter, engineClient } from '../planner/engine.ts';
import { LiveCalls } from '../planner/live-calls.ts';
import { Visibility } from '../planner/visibility.ts';
import type { Gateway } from '../planner/metered-call.ts';
import type { Database } from '../store/database.ts';
import { listen } from '../store/listener.ts';
import { workflowBundle } from './bundle.ts';
import { deployed } from './deployment.ts';
import { startDispatcher } from './dispatcher.ts';
import { startIndexer } from './indexer.ts';
import { logInterceptors } from './log-ids.ts';
import type { Intervals } from './loops.ts';
import { startRevalidationDispatcher } from './revalidation-dispatcher.ts';
import { startRunDispatcher } from './run-dispatcher.ts';
import { startUsageSweep } from './usage-sweep.ts';

export interface TurnWorkerOptions {
  database: Database;
  temporal: { address: string; namespace: string };
  /** The installation's endpoint, key and model. */
  settings: ModelSettings;
  /** What else the installation brings. Default: no stored keys, budgets, windows and prices. */
  gateway?: Partial<Omit<Gateway, 'settings'>>;
  /** What embeds texts and queries; whoever gives it closes it. None: nothing is indexed here, words alone are compared. */
  embedder?: Embedder;
  maxRounds: number;
  maxOutputCharacters: number;
  /** Tokens above which a conversation is summarized; 0: never. Default 100,000. */
  compactAtTokens?: number;
  /** Hears of each compaction. */
  compacted?: CompactionRoom['compacted'];
  identity?: string;
  /** This version, under worker versioning: turns and runs stay with the one that they began with. Default: without. */
  build?: string | undefined;
  /** Of the page: workflows link to it. */
  publicUrl?: string | undefined;
  /** Milliseconds that running activities get to finish when the worker is shut down. Default 25 s. */
  shutdownGraceMs?: number;
  intervals?: Partial<Intervals>;
  /** Of bounded runs. */
  runTimings?: Partial<RunTimings>;
  warn(message: string, error?: unknown): void;
}

export interface TurnWorker {
  /** Resolves when the worker has ended, rejects when it failed. */
  readonly ended: Promise<void>;
  /** Lets running activities finish, hands back the rest, and ends. */
  close(): Promise<void>;
}

/** A little before the activity's own limit of 10 min, so that a call that lasts is told as such, not as a lost worker. */
const longestCallMs = 595_000;
const commitPatienceMs = 30_000;

export async function startTurnWorker(options: TurnWorkerOptions): Promise<TurnWorker> {
  const { database, temporal } = options;
  const codePath = await workflowBundle();
  const connection = await NativeConnection.connect({ address: temporal.address });
  const listener = await listen(database.url, 'planner-worker-listener');
  const liveCalls = new LiveCalls();
  const gateway = gatewayOf(options);
  const worker = await Worker.create({
    connection,
    namespace: temporal.namespace,
    taskQueue: plannerTaskQueue,
    ...deployed(plannerTaskQueue, options.build),
    ...(options.identity ? { identity: options.identity } : {}),
    workflowBundle: { codePath },
    activities: {
      ...runActivities({ database }),
      ...revalidationActivities(database, options.runTimings),
      ...turnActivities({
        database,
        deltas: new DeltaWriter(database),
        liveCalls,
        gateway,
        maxRounds: options.maxRounds,
        maxOutputCharacters: options.maxOutputCharacters,
        embedQuery: queryEmbedder(options.embedder, options.warn),
        commitPatienceMs,
        compactAtTokens: options.compactAtTokens ?? 100_000,
        warnOnce: once(options.warn),
        compacted: options.compacted ?? (() => undefined),
      }),
    },
    dataConverter,
    interceptors: logInterceptors,
    maxConcurrentActivityTaskExecutions: 500,
    // A stopped or killed worker must not hold a cached workflow's tasks for 10 s.
    stickyQueueScheduleToStartTimeout: '500ms',
    maxHeartbeatThrottleInterval: '1s',
    shutdownGraceTime: options.shutdownGraceMs ?? 25_000,
    shutdownForceTime: (options.shutdownGraceMs ?? 25_000) + 5_000,
  });
  if (!(await listener.selfTest(database.pool))) {
    options.warn(
      'Notifications of PostgreSQL do not arrive here, perhaps because of a transaction pooler: ' +
        'turns start and stop up to a second later. Connect to PostgreSQL directly.',
    );
  }
  const visibility = new Visibility({ publicUrl: options.publicUrl, warn: options.warn });
  const registered = visibility.register(connection, temporal.namespace);
  const dispatching = {
    database,
    listener,
    client: engineClient(connection, temporal.namespace),
    visibility,
    warn: options.warn,
    ...(options.intervals ? { intervals: options.intervals } : {}),
  };
  const dispatcher = startDispatcher({ ...dispatching, liveCalls, eager: options.build === undefined });
  const runDispatcher = startRunDispatcher({
    ...dispatching,
    ...(options.runTimings ? { timings: options.runTimings } : {}),
  });
  const revalidationDispatcher = startRevalidationDispatcher(dispatching);
  const usageSweep = startUsageSweep(database, gateway.meter, options.warn, options.intervals?.sweep);
  const { embedder } = options;
  const indexer = embedder && startIndexer({ database, listener, embedder, warn: options.warn });
  const ended = worker.run().finally(async () => {
    const loops = [dispatcher, runDispatcher, revalidationDispatcher, usageSweep, indexer];
    await Promise.all([...loops.map((one) => one?.close()), registered]);
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

/** Says a warning the first time that it is about something. */
function once(warn: (message: string) => void): (about: string, message: string) => void {
  const said = new Set<string>();
  return (about, message) => {
    if (said.has(about)) return;
    said.add(about);
    warn(message);
  };
}

function gatewayOf({ settings, gateway }: TurnWorkerOptions): Gateway {
  return {
    installation: { model: settings.model, skill: 'planner', daily_tokens: 0 },
    demo: false,
    keys: [],
    models: noModels,
    meter: { closed: () => undefined },
    ...gateway,
    settings: { ...settings, callTimeoutMs: Math.min(settings.callTimeoutMs, longestCallMs) },
  };
}

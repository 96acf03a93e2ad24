// The worker process: a worker of the shared queue, and one of this computer's own. Configured by the environment
// (spec: planner 13); prints one line of JSON when it is ready, ends cleanly on SIGTERM.

import { hostname } from 'node:os';
import { loadConfig, type Config } from '../config/index.ts';
import { openEmbedder } from '../models/embeddings/index.ts';
import { openDatabase } from '../store/database.ts';
import { readOpenWork } from '../store/open-work.ts';
import { countClaims } from '../store/revalidations.ts';
import { keyring } from '../store/sealing.ts';
import { logError, logInfo, logWarning, openLog } from '../telemetry/log.ts';
import { measureFacts, measureOpenWork } from '../telemetry/metrics.ts';
import { measureClaims } from '../telemetry/revalidation-metrics.ts';
import { buildId } from './build-id.ts';
import { startHostWorker } from './host-worker.ts';
import { createWorkerMetrics, serveMetrics } from './metrics.ts';
import { installSdk } from './sdk.ts';
import { startTurnWorker } from './turn-worker.ts';

function required(value: string | undefined, name: string): string {
  if (!value) throw new Error(`${name} is not set. Run "npm start", which sets it, or set it yourself.`);
  return value;
}

/** Milliseconds from the signal to the end, whatever hangs; what it held goes on elsewhere, as after a kill. */
const lastResortMs = 35_000;

async function main(config: Config): Promise<void> {
  openLog('worker', config.logLevel);
  const { port, host } = config.workerMetrics;
  const readSdkMetrics = await installSdk({ measured: port > 0 });
  const database = openDatabase(required(config.databaseUrl, 'DATABASE_URL'), { max: 20, name: 'planner-worker' });
  const temporal = {
    address: required(config.temporal.address, 'TEMPORAL_ADDRESS'),
    namespace: config.temporal.namespace,
  };
  const build = config.temporal.versioning ? await buildId() : undefined;
  const identity = `${hostname()}:${process.pid}`;
  const warn = (message: string, error?: unknown): void => logWarning(message, error);
  const metrics = createWorkerMetrics({ process: true });
  measureFacts(metrics.registry, database.facts);
  measureOpenWork(metrics.registry, () => readOpenWork(database));
  measureClaims(metrics.registry, () => countClaims(database));
  // Several workers on one computer may be given one port: the first has it.
  if (port > 0) {
    await serveMetrics(metrics.registry, port, host, readSdkMetrics).catch((error: unknown) =>
      warn(`metrics are not served: ${host}:${port} can't be listened on`, error),
    );
  }
  const embedder = openEmbedder(config.embeddings, warn);
  const shared = await startTurnWorker({
    database,
    temporal,
    settings: {
      baseUrl: config.model.baseUrl,
      apiKey: config.model.apiKey,
      model: config.model.name,
      maxTokens: config.planner.maxTokens,
      callTimeoutMs: config.limits.callTimeoutMs,
      silentStreamMs: config.limits.silentStreamMs,
    },
    gateway: {
      installation: { model: config.model.name, skill: config.planner.skill, daily_tokens: config.dailyTokens },
      demo: config.model.demo,
      keys: keyring(config.secretKeys),
      models: config.models,
      meter: metrics.meter,
    },
    embedder,
    maxRounds: config.planner.maxRounds,
    maxOutputCharacters: config.planner.maxToolOutputChars,
    compactAtTokens: config.planner.compactAtTokens,
    compacted: metrics.compacted,
    identity,
    build,
    publicUrl: config.server.publicUrl,
    warn,
  });
  const own = await startHostWorker({ database, temporal, identity, build, warn });
  logInfo('ready', { identity });
  console.log(JSON.stringify({ ready: true }));
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stopping) return;
      stopping = true;
      setTimeout(() => {
        logError('shutting down took too long: PostgreSQL or Temporal does not answer');
        process.exit(1);
      }, lastResortMs).unref();
      for (const worker of [shared, own]) {
        worker.close().catch((error: unknown) => logError('shutting down failed', error));
      }
    });
  }
  await Promise.all([shared.ended, own.ended]);
  await embedder.close();
  await database.close();
}

main(loadConfig()).then(
  () => process.exit(0),
  (error: unknown) => {
    logError('the worker ended', error);
    process.exit(1);
  },
);

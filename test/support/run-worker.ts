// A worker process for tests of bounded runs: the shared queue and the repository's host, with short timings.

import { DefaultLogger, Runtime } from '@temporalio/worker';
import type { RunTimings } from '../../domain/run.ts';
import { openDatabase } from '../../store/database.ts';
import { startHostWorker } from '../../worker/host-worker.ts';
import { startTurnWorker } from '../../worker/turn-worker.ts';

Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
const { DATABASE_URL = '', TEMPORAL_ADDRESS = '', TEMPORAL_NAMESPACE = '', RUN_TIMINGS = '{}' } = process.env;
const database = openDatabase(DATABASE_URL, { max: 20, name: 'test-run-worker' });
const temporal = { address: TEMPORAL_ADDRESS, namespace: TEMPORAL_NAMESPACE };
const warn = (message: string, error?: unknown): void => {
  if (process.env['RUN_WORKER_LOG']) console.error(message, error ?? '');
};
const settings = { baseUrl: 'http://127.0.0.1:9', apiKey: '', model: 'none', maxTokens: 10, callTimeoutMs: 1_000, silentStreamMs: 1_000 };
const shared = await startTurnWorker({
  database,
  temporal,
  settings,
  maxRounds: 1,
  maxOutputCharacters: 1_000,
  shutdownGraceMs: 300,
  runTimings: JSON.parse(RUN_TIMINGS) as Partial<RunTimings>,
  warn,
});
const own = await startHostWorker({ database, temporal, shutdownGraceMs: 300, warn });
console.log('ready');
process.on('SIGTERM', () => {
  for (const worker of [shared, own]) void worker.close();
});
await Promise.all([shared.ended, own.ended]);
await database.close();
process.exit(0);

// The API process: configured by the environment, ready when it has said so in one line of JSON, ended by SIGTERM.

import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig } from '../config/index.ts';
import { DomainError } from '../domain/errors.ts';
import { openEmbedder } from '../models/embeddings/index.ts';
import { connectEngine } from '../planner/engine.ts';
import { openDatabase, type Database } from '../store/database.ts';
import { listen, type Listener } from '../store/listener.ts';
import { keyring } from '../store/sealing.ts';
import { logError, logInfo, logWarning, openLog } from '../telemetry/log.ts';
import { pageFolder } from '../web/folder.ts';
import { oidcVerifier } from './oidc.ts';
import { startApi } from './server.ts';

/** How long a database that is away or not yet migrated is waited for. */
const patienceMs = 60_000;

async function main(): Promise<void> {
  const config = loadConfig();
  openLog('api', config.logLevel);
  if (!config.databaseUrl) throw new DomainError('invalid_argument', 'Set DATABASE_URL to the address of PostgreSQL.');
  if (!config.temporal.address) throw new DomainError('invalid_argument', 'Set TEMPORAL_ADDRESS, host:port.');
  const database = openDatabase(config.databaseUrl, { max: 20, name: 'planner-api' });
  const listener = await reach(database, config.databaseUrl);
  const { address, namespace, ui } = config.temporal;
  const engine = connectEngine(database, {
    address,
    namespace,
    publicUrl: config.server.publicUrl,
    warn: logWarning,
  });
  const embedder = openEmbedder(config.embeddings, logWarning);
  const api = await startApi({
    database,
    listener,
    engine,
    verify: config.oidc && oidcVerifier({ ...config.oidc, warn: logWarning }),
    port: config.server.port,
    host: config.server.host,
    model: { name: config.model.name, demo: config.model.demo },
    gateway: {
      installation: { model: config.model.name, skill: config.planner.skill, daily_tokens: config.dailyTokens },
      models: config.models,
      keys: keyring(config.secretKeys),
      compactAtTokens: config.planner.compactAtTokens,
    },
    embedder,
    temporal: { ui, namespace },
    sendsPerMinute: config.limits.sendsPerMinute,
    requestsPerMinute: config.limits.requestsPerMinute,
    processMetrics: true,
    page: pageFolder,
    realtime: { publicUrl: config.server.publicUrl },
  });

  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    await api.close();
    await embedder.close();
    await engine.close();
    await listener.close();
    await database.close();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => void stop().catch((error: unknown) => fail(error)));
  }
  logInfo('ready', { address: api.address });
  console.log(JSON.stringify({ ready: true, address: api.address }));
}

async function reach(database: Database, url: string): Promise<Listener> {
  const until = Date.now() + patienceMs;
  for (;;) {
    try {
      await database.query('SELECT 1 FROM planner_sessions LIMIT 1');
      return await listen(url, 'planner-api-listener');
    } catch (error) {
      if (Date.now() > until) throw error;
      logWarning(`The database is not ready yet: ${error instanceof Error ? error.message : String(error)}`);
      await sleep(1_000);
    }
  }
}

function fail(error: unknown): void {
  if (error instanceof DomainError) console.error(error.message);
  else logError('the API ended', error);
  process.exit(1);
}

main().catch(fail);

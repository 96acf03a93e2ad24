// The API: REST and realtime on one port. Stateless; any number of processes may run side by side.

import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { noModels } from '../domain/models.ts';
import { queryEmbedder, type Embedder } from '../models/embeddings/index.ts';
import type { Database } from '../store/database.ts';
import { pruneIdempotencyKeys } from '../store/idempotency.ts';
import type { VerifyAccessToken } from '../store/issued-subjects.ts';
import type { Listener } from '../store/listener.ts';
import { readOpenWork } from '../store/open-work.ts';
import type { ApiGateway, App, EngineDoor } from './app.ts';
import { maxHeaders } from './headers.ts';
import { RateLimit } from './limits.ts';
import { logError, logWarning } from '../telemetry/log.ts';
import { measureFacts, measureOpenWork } from '../telemetry/metrics.ts';
import { createMetrics } from './metrics.ts';
import { serveRealtime, type RealtimeOptions } from './realtime/server.ts';
import { createRest } from './rest/index.ts';

export interface ApiOptions {
  database: Database;
  listener: Listener;
  engine: EngineDoor;
  /** Judges access tokens of an identity provider; none: only the planner's own tokens count. */
  verify?: VerifyAccessToken | undefined;
  /** 0: a free one. */
  port: number;
  /** Default 127.0.0.1. */
  host?: string;
  model: { name: string; demo: boolean };
  /** Default: that model, no stored keys, budgets, windows and prices. */
  gateway?: Partial<ApiGateway>;
  /** What embeds the queries of searches; whoever gives it closes it. None: words alone are compared. */
  embedder?: Embedder;
  /** The Temporal UI's address and the namespace, for links to workflows. */
  temporal?: { ui?: string | undefined; namespace?: string };
  /** Per subject and minute, 0 (default): no limit. */
  sendsPerMinute?: number;
  requestsPerMinute?: number;
  /** Answer 500 instead of what a route does not document. Default false. */
  checkAnswers?: boolean;
  /** Also measure the process itself: once a process. */
  processMetrics?: boolean;
  /** The folder of the built page; none: the API alone. */
  page?: string;
  /** `pollAll` is set by the self-test of notifications unless given. */
  realtime?: RealtimeOptions;
}

export interface Api {
  /** `http://host:port` */
  address: string;
  port: number;
  /** Takes no more requests, closes sockets with 1001, finishes requests (at most 10 s). */
  close(): Promise<void>;
}

const pruneEveryMs = 3_600_000;
const finishMs = 10_000;

export async function startApi(options: ApiOptions): Promise<Api> {
  const { database, listener, engine, model } = options;
  const app: App = {
    database,
    engine,
    verify: options.verify,
    model,
    gateway: {
      installation: { model: model.name, skill: 'planner', daily_tokens: 0 },
      models: noModels,
      keys: [],
      compactAtTokens: 0,
      ...options.gateway,
    },
    embedQuery: queryEmbedder(options.embedder, logWarning),
    metrics: createMetrics({ process: options.processMetrics === true }),
    limits: {
      requests: new RateLimit(options.requestsPerMinute ?? 0, 'requests'),
      sends: new RateLimit(options.sendsPerMinute ?? 0, 'messages'),
    },
    checkAnswers: options.checkAnswers === true,
    temporal: { ui: options.temporal?.ui, namespace: options.temporal?.namespace ?? 'default' },
  };
  const unmeasure = measureFacts(app.metrics.registry, database.facts);
  measureOpenWork(app.metrics.registry, () => readOpenWork(database));
  const pollAll = options.realtime?.pollAll ?? !(await notificationsArrive(database, listener));
  const timeouts = { requestTimeout: 60_000, headersTimeout: 20_000, keepAliveTimeout: 20_000 };
  const server = createServer(timeouts, createRest(app, options.page));
  server.maxHeadersCount = maxHeaders;
  server.on('clientError', (_error, socket) => refuse(socket as Socket));
  const realtime = serveRealtime(server, app, listener, { ...options.realtime, pollAll });
  const prune = setInterval(() => {
    pruneIdempotencyKeys(database).catch((error: unknown) => logError('pruning idempotency keys failed', error));
  }, pruneEveryMs);
  prune.unref();

  const host = options.host ?? '127.0.0.1';
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, host, () => resolve(server.off('error', reject) && undefined));
  });
  const { port } = server.address() as AddressInfo;
  return {
    address: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    async close() {
      clearInterval(prune);
      unmeasure();
      const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
      await realtime.close();
      const idle = setInterval(() => server.closeIdleConnections(), 50);
      let cut: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => (cut = setTimeout(resolve, finishMs)));
      await Promise.race([stopped, late]);
      clearInterval(idle);
      clearTimeout(cut);
      server.closeAllConnections();
    },
  };
}

async function notificationsArrive(database: Database, listener: Listener): Promise<boolean> {
  if (await listener.selfTest(database.pool)) return true;
  logWarning(
    'Notifications of PostgreSQL do not arrive (a transaction pooler between?); polling every 250 ms instead. ' +
      'Connect to PostgreSQL directly to have answers stream faster.',
  );
  return false;
}

/** What is no HTTP, or has too large headers. */
function refuse(socket: Socket): void {
  if (!socket.writable) return void socket.destroy();
  const body = JSON.stringify({ error: 'invalid_argument', message: 'The request can\'t be read.' });
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

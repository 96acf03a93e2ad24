// The worker process's metrics: model calls and their tokens, in a registry of its own, served where the operator says.
// (spec: planner 9)

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Counter, Registry } from 'prom-client';
import type { CompactionRoom } from '../planner/compaction.ts';
import type { Meter } from '../planner/metered-call.ts';

export interface WorkerMetrics {
  registry: Registry;
  meter: Meter;
  /** Counts a compaction of a session. */
  compacted: CompactionRoom['compacted'];
}

/** Names of models come from settings of projects: so many are labels of their own, the rest is `other`. */
const maxModels = 200;

export function createWorkerMetrics(): WorkerMetrics {
  const registry = new Registry();
  const requests = new Counter({
    name: 'ballet_llm_requests_total',
    help: 'Model calls that have ended: ok, error, cancelled, lost.',
    labelNames: ['organization', 'project', 'model', 'status'] as const,
    registers: [registry],
  });
  const tokens = new Counter({
    name: 'ballet_llm_tokens_total',
    help: 'Tokens of model calls, reported or estimated: input, output, cache_read, cache_write.',
    labelNames: ['organization', 'project', 'model', 'token_type'] as const,
    registers: [registry],
  });
  const compactions = new Counter({
    name: 'ballet_planner_compactions_total',
    help: 'Conversations whose earlier part was replaced by a summary.',
    labelNames: ['organization', 'project'] as const,
    registers: [registry],
  });
  const models = new Set<string>();
  const labelOf = (model: string): string => {
    if (models.size < maxModels) models.add(model);
    return models.has(model) ? model : 'other';
  };
  return {
    registry,
    compacted: (of) => compactions.inc(of),
    meter: {
      closed({ organization, project, model, status }, usage) {
        const labels = { organization, project, model: labelOf(model) };
        requests.inc({ ...labels, status });
        for (const type of ['input', 'output', 'cache_read', 'cache_write'] as const) {
          if (usage[type] > 0) tokens.inc({ ...labels, token_type: type }, usage[type]);
        }
      },
    },
  };
}

export interface MetricsServer {
  port: number;
  close(): Promise<void>;
}

/** Serves GET /metrics. Port 0: a free one. Rejects where the address is taken. */
export async function serveMetrics(registry: Registry, port: number, host: string): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  server.unref();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

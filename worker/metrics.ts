// The worker process's metrics, in a registry of its own, served where the operator says
// (docs/metrics.md, spec: planner 9).

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client';
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
const callBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300, 600];

/** `process`: also measure the process itself: once a process. */
export function createWorkerMetrics(options: { process?: boolean } = {}): WorkerMetrics {
  const registry = new Registry();
  if (options.process) collectDefaultMetrics({ register: registry });
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
  const seconds = new Histogram({
    name: 'ballet_llm_request_seconds',
    help: 'Model calls by model and status: from the request to the end of the stream.',
    labelNames: ['model', 'status'] as const,
    buckets: callBuckets,
    registers: [registry],
  });
  const firstText = new Histogram({
    name: 'ballet_llm_first_text_seconds',
    help: 'From the request to the first text of the answer; calls without text are not counted.',
    labelNames: ['model'] as const,
    buckets: callBuckets,
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
      closed({ organization, project, model, status }, usage, timing) {
        if (timing) seconds.observe({ model: labelOf(model), status }, timing.seconds);
        if (timing?.firstText !== undefined) firstText.observe({ model: labelOf(model) }, timing.firstText);
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

/** Serves GET /metrics, `more` behind the registry's. Port 0: a free one. Rejects where the address is taken. */
export async function serveMetrics(
  registry: Registry,
  port: number,
  host: string,
  more: () => Promise<string> = async () => '',
): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    Promise.all([registry.metrics(), more()]).then(
      (texts) => response.writeHead(200, { 'content-type': registry.contentType }).end(texts.join('')),
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

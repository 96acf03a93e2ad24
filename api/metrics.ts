// The API process's metrics, in a registry of its own.

import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics(options: { process?: boolean } = {}) {
  const registry = new Registry();
  if (options.process) collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    registry,
    requests: new Histogram({
      name: 'ballet_api_request_seconds',
      help: 'REST requests by method, route and status.',
      labelNames: ['method', 'route', 'status'] as const,
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
      registers,
    }),
    calls: new Counter({
      name: 'ballet_api_rpc_total',
      help: 'Realtime requests by method and error code (0: none).',
      labelNames: ['method', 'code'] as const,
      registers,
    }),
    sockets: new Gauge({ name: 'ballet_api_sockets', help: 'Open sockets.', registers }),
    subscriptions: new Gauge({ name: 'ballet_api_subscriptions', help: 'Open subscriptions.', registers }),
    streamsClosed: new Counter({
      name: 'ballet_api_streams_closed_total',
      help: 'Subscriptions that the server ended, by reason.',
      labelNames: ['reason'] as const,
      registers,
    }),
  };
}

// The SDK's runtime of a worker process: its log goes into ours, its own metrics are served beside ours. Its exporter
// listens on a free port of the loopback address: nothing of it passes through this process until it is scraped.

import { createServer, type AddressInfo } from 'node:net';
import { DefaultLogger, Runtime, type LogEntry } from '@temporalio/worker';
import { log, logWarning, type Fields, type Level } from '../telemetry/log.ts';

/** Reads the SDK's metrics as Prometheus text; '' where there are none. */
export type ReadSdkMetrics = () => Promise<string>;

const readMs = 2_000;
const none: ReadSdkMetrics = async () => '';

/** Call it once, before any connection. `measured`: someone will read the metrics. */
export async function installSdk({ measured }: { measured: boolean }): Promise<ReadSdkMetrics> {
  if (!measured) {
    install();
    return none;
  }
  const port = await freePort();
  try {
    install(`127.0.0.1:${port}`);
  } catch (error) {
    // Somebody took the port meanwhile.
    logWarning("the SDK's own metrics are not served", error);
    install();
    return none;
  }
  return async () => {
    try {
      return await (await fetch(`http://127.0.0.1:${port}/metrics`, { signal: AbortSignal.timeout(readMs) })).text();
    } catch {
      return '';
    }
  };
}

function install(bindAddress?: string): void {
  const conventions = { countersTotalSuffix: true, unitSuffix: true, useSecondsForDurations: true };
  Runtime.install({
    logger: new DefaultLogger('WARN', pass),
    shutdownSignals: [],
    telemetryOptions: {
      // Otherwise what the native part says is no JSON.
      logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} },
      ...(bindAddress === undefined ? {} : { metrics: { prometheus: { bindAddress, ...conventions } } }),
    },
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const levelOf: Record<LogEntry['level'], Level> = {
  TRACE: 'debug',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
};

function pass({ level, message, meta = {} }: LogEntry): void {
  log(levelOf[level], message, fieldsOf(meta as Record<string, unknown>));
}

/** Ids by our names, and an error's words; task tokens and the like are left out. */
function fieldsOf({ workflowId, runId, activityType, attempt, error, taskQueue }: Record<string, unknown>): Fields {
  const known: [string, unknown][] = [
    ['workflow', workflowId],
    ['workflow_run', runId],
    ['activity', activityType],
    ['attempt', attempt],
    ['queue', taskQueue],
  ];
  const ids = known.filter(([, value]) => typeof value === 'string' || typeof value === 'number');
  const said = String(error instanceof Error ? error.message : error).slice(0, 500);
  return { ...Object.fromEntries(ids), ...(error === undefined ? {} : { reason: said }) } as Fields;
}

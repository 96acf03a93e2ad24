// Temporal's dev server: found or fetched, its data in the data folder, its settings measured.

import { mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { Connection } from '@temporalio/client';
import { searchAttributes } from '../../domain/search-attributes.ts';
import type { ChildPlan } from './supervisor.ts';
import { fetchTool, onPath, toolPath, toolsFolder, ToolError, type Say } from './tools.ts';

export interface TemporalOptions {
  executable: string;
  /** Holds `temporal.db`; undefined: nothing is kept. */
  dataDir?: string | undefined;
  port: number;
  /** Undefined: no web UI. */
  uiPort?: number | undefined;
  namespace: string;
}

export const temporalEnd = [{ signal: 'SIGTERM', graceMs: 10_000 }] as const;

/**
 * The CLI: on the PATH, in the tools folder, fetched into it, or as the SDK downloads it.
 * @throws ToolError none of them is there
 */
export async function findTemporal(say: Say): Promise<string> {
  const found = onPath('temporal');
  if (found && spawnSync(found, ['server', 'start-dev', '--help'], { stdio: 'ignore' }).status === 0) return found;
  const fetched = toolPath('temporal');
  if (fetched) return fetched;
  try {
    return await fetchTool('temporal', say);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    say("Temporal could not be fetched with Python; trying the SDK's own download ...");
    const downloaded = await downloadWithSdk();
    if (downloaded) return downloaded;
    throw error;
  }
}

/** The SDK downloads the CLI only to start it: so it is started once, ended, and found where it was put. */
async function downloadWithSdk(): Promise<string | undefined> {
  const folder = path.join(toolsFolder(), 'sdk');
  const kept = (): string | undefined => {
    const name = readdirSync(folder).find((entry) => entry.startsWith('temporal-'));
    return name && path.join(folder, name);
  };
  mkdirSync(folder, { recursive: true });
  if (kept()) return kept();
  try {
    const { TestWorkflowEnvironment } = await import('@temporalio/testing');
    const environment = await TestWorkflowEnvironment.createLocal({
      server: { ip: '127.0.0.1', executable: { type: 'cached-download', downloadDir: folder } },
    });
    await environment.teardown();
    return kept();
  } catch {
    return undefined;
  }
}

/** How the dev server is run. */
export function temporalPlan(options: TemporalOptions): ChildPlan {
  const { executable, dataDir, port, uiPort, namespace } = options;
  const address = `127.0.0.1:${port}`;
  const stored = dataDir ? ['--db-filename', path.join(dataDir, 'temporal.db')] : [];
  const shown = uiPort ? ['--ui-port', String(uiPort), '--ui-ip', '127.0.0.1'] : ['--headless'];
  const { PATH, HOME } = process.env;
  return {
    name: 'temporal',
    command: executable,
    args: [
      ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--namespace', namespace],
      ...['--log-level', 'warn', '--log-format', 'json'],
      ...shown,
      ...stored,
      // Every acknowledged start survives a SIGKILL, 4.5 times faster than with the default journal.
      ...(dataDir ? ['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=NORMAL'] : []),
      ...dynamicSettings.flatMap((setting) => ['--dynamic-config-value', setting]),
      ...searchAttributes.flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
    ],
    env: { PATH, HOME },
    ready: () => pingTemporal(address, namespace),
    readyWithinMs: 60_000,
    end: temporalEnd,
  };
}

// The defaults cost 50 ms a task hop under sustained work (20 polls a second) and up to 1 s a short timer. A worker
// that is stopped (SIGSTOP) keeps its connection and swallows the tasks that its open polls are given: the server must
// notice within 5 s, before the heartbeat timeout hands out the next attempt; by default it takes 70 s.
const dynamicSettings = [
  'history.transferProcessorMaxPollRPS=2000',
  'history.timerProcessorMaxPollRPS=2000',
  'history.visibilityProcessorMaxPollRPS=2000',
  'history.timerProcessorMaxTimeShift="1ms"',
  'frontend.keepAliveTime="2s"',
  'frontend.keepAliveTimeout="3s"',
];

/** Resolves when the server answers and knows the namespace. */
export async function pingTemporal(address: string, namespace: string): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: 5_000 });
  try {
    const describe = (): Promise<unknown> => connection.workflowService.describeNamespace({ namespace });
    await connection.withDeadline(Date.now() + 5_000, describe);
  } finally {
    await connection.close();
  }
}

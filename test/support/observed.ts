// API and worker as processes of their own, beside a test planner, with what they log and where they are scraped.

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../cli/stack/ports.ts';
import { transaction } from '../../store/database.ts';
import { createToken } from '../../store/tokens.ts';
import { inHours } from './api.ts';
import { ada, type TestPlanner } from './planner.ts';

export type Entry = Record<string, unknown> & { level: string; message: string };

export interface Observed {
  api: string;
  /** The base address of the worker's metrics. */
  worker: string;
  token: string;
  /** Every line that one of them has written to its error output. */
  lines(): string[];
  entries(): Entry[];
  metrics(of: 'api' | 'worker'): Promise<Sample[]>;
  rest(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  close(): Promise<void>;
}

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export async function observe(planner: TestPlanner, more: NodeJS.ProcessEnv = {}): Promise<Observed> {
  const port = await freePort();
  const lines: string[] = [];
  const children: ChildProcess[] = [];
  const env = {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    DATABASE_URL: planner.url,
    TEMPORAL_ADDRESS: planner.temporal.address,
    TEMPORAL_NAMESPACE: planner.temporal.namespace,
    PLANNER_MODEL_BASE_URL: planner.model.baseUrl,
    PLANNER_MODEL_API_KEY: 'test',
    PLANNER_MODEL: 'scripted',
    PLANNER_PORT: '0',
    PLANNER_METRICS_PORT: String(port),
    ...more,
  };
  const start = async (entry: string): Promise<Record<string, string>> => {
    const file = fileURLToPath(new URL(`../../${entry}`, import.meta.url));
    const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    children.push(child);
    createInterface({ input: child.stderr! }).on('line', (line) => lines.push(line));
    const died = once(child, 'exit').then(([code]) => `${entry} ended with ${code}: ${lines.join('\n')}`);
    const first = await Promise.race([once(child.stdout!, 'data').then(([chunk]) => String(chunk)), died]);
    if (!first.startsWith('{')) throw new Error(first);
    return JSON.parse(first) as Record<string, string>;
  };
  const [{ address = '' }] = await Promise.all([start('api/main.ts'), start('worker/main.ts')]);
  const token = await transaction(planner.database, (tx) =>
    createToken(tx, { subject: ada.subject, expires_at: inHours(1) }),
  );
  const worker = `http://127.0.0.1:${port}`;
  return {
    api: address,
    worker,
    token: token.token,
    lines: () => lines,
    entries: () => lines.map((line) => JSON.parse(line) as Entry),
    metrics: async (of) => samples(await (await fetch(`${of === 'api' ? address : worker}/metrics`)).text()),
    rest: (method, path, body, headers = {}) =>
      fetch(`${address}/api/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${token.token}`, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    async close() {
      for (const child of children) child.kill('SIGTERM');
      await Promise.all(children.map((child) => (child.exitCode === null ? once(child, 'exit') : undefined)));
    },
  };
}

/** The samples of Prometheus text. */
export function samples(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (!name) return [];
    const pairs = [...labels.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text]) => [key!, text!]);
    return [{ name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }];
  });
}

/** The sum of a metric's samples that carry these labels. */
export function total(found: readonly Sample[], name: string, labels: Record<string, string> = {}): number {
  return found
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value))
    .reduce((sum, { value }) => sum + value, 0);
}

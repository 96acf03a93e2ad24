// Ports on the loopback address: free ones, remembered, so that a restart finds the same addresses.

import { createServer } from 'node:net';
import { writeFileSync } from 'node:fs';
import { readText } from './process.ts';

const names = ['postgres', 'temporal', 'temporal_ui', 'demo', 'api', 'worker_metrics'] as const;
export type Ports = Record<(typeof names)[number], number>;

/** 0: not set. */
export interface SetPort {
  port: number;
  variable: string;
}

export function isFree(port: number): Promise<boolean> {
  return listenOnce(port).then((found) => found !== undefined);
}

export async function freePort(): Promise<number> {
  const port = await listenOnce(0);
  if (port === undefined) throw new Error('No port is free on 127.0.0.1.');
  return port;
}

/**
 * Those that are set (not 0), else the remembered ports of `file` where they are still free, else others; remembers
 * them. Errors: a set one is in use.
 */
export async function choosePorts(file: string, set: Partial<Record<keyof Ports, SetPort>> = {}): Promise<Ports> {
  const remembered = readPorts(file);
  const chosen: Ports = { postgres: 0, temporal: 0, temporal_ui: 0, demo: 0, api: 0, worker_metrics: 0 };
  for (const name of names) {
    const wanted = set[name]?.port || remembered[name];
    const isThere = wanted !== undefined && (await isFree(wanted));
    if (set[name]?.port && !isThere) throw portInUse(set[name]);
    chosen[name] = isThere ? wanted : await freePort();
  }
  writeFileSync(file, `${JSON.stringify(chosen)}\n`, { mode: 0o600 });
  return chosen;
}

function portInUse({ port, variable }: SetPort): Error {
  return new Error(`Port ${port} of 127.0.0.1 is in use by another program. Set ${variable} to another one (0: any).`);
}

function readPorts(file: string): Partial<Ports> {
  try {
    return JSON.parse(readText(file) ?? '{}') as Partial<Ports>;
  } catch {
    return {};
  }
}

function listenOnce(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : undefined));
    });
  });
}

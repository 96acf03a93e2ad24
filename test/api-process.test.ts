// The API as a process of its own: ready when it says so, ended cleanly by SIGTERM.

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createSubject } from '../store/tokens.ts';
import { transaction } from '../store/database.ts';
import { inHours, makeToken, openSocket } from './support/api.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';

let db: TestDatabase;
let child: ChildProcess | undefined;
beforeAll(async () => {
  db = await createTestDatabase();
  await transaction(db.database, (tx) => createSubject(tx, { subject: 'ada', kind: 'human', name: 'Ada' }));
});
afterAll(() => db.drop());
afterEach(() => child?.kill('SIGKILL'));

function start(env: Record<string, string>): ChildProcess {
  child = spawn(process.execPath, ['api/main.ts'], {
    env: { PATH: process.env['PATH'], PLANNER_PORT: '0', PLANNER_DATA_DIR: '/nonexistent', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return child;
}

async function ready(process: ChildProcess): Promise<string> {
  let log = '';
  process.stderr!.on('data', (data) => (log += String(data)));
  for await (const line of createInterface({ input: process.stdout! })) {
    const said = JSON.parse(line) as { ready?: boolean; address?: string };
    if (said.ready) return said.address!;
  }
  throw new Error(`the process ended before it was ready: ${log}`);
}

test('says its address when ready, serves while Temporal is away, on SIGTERM closes sockets with 1001', async () => {
  const api = start({ DATABASE_URL: db.url, TEMPORAL_ADDRESS: '127.0.0.1:1' });
  const address = await ready(api);
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect((await fetch(`${address}/healthz`)).status).toBe(200);
  expect(await (await fetch(`${address}/metrics`)).text()).toContain('process_cpu_seconds_total');
  const { token } = await makeToken(db.database, { subject: 'ada', expires_at: inHours(1) });
  const socket = await openSocket(address, { token });
  const exited = once(api, 'exit');
  api.kill('SIGTERM');
  expect(await socket.untilClosed()).toMatchObject({ code: 1001 });
  expect(await exited).toEqual([0, null]);
});

test('without DATABASE_URL it says which variable to set, and exits with 1', async () => {
  const api = start({ TEMPORAL_ADDRESS: '127.0.0.1:1' });
  let text = '';
  api.stderr!.on('data', (data) => (text += String(data)));
  expect((await once(api, 'close'))[0]).toBe(1);
  expect(text).toContain('DATABASE_URL');
  expect(text).not.toContain('    at ');
});

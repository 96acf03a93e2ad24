// A database that goes away under an API, and what its clients are told (spec: planner 10, 11).

import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApi, type Api } from '../api/server.ts';
import { openDatabase, type Database } from '../store/database.ts';
import { openSocket, startTestApi, type TestApi } from './support/api.ts';
import { startProxy, type Proxy } from './support/proxy.ts';

let t: TestApi;
let proxy: Proxy;
let database: Database;
let api: Api;
beforeAll(async () => {
  t = await startTestApi();
  const url = new URL(t.database.url);
  proxy = await startProxy(Number(url.port || 5432));
  url.hostname = '127.0.0.1';
  url.port = String(proxy.port);
  database = openDatabase(url.href);
  const engine = { sent: () => undefined, cancelled: () => undefined };
  api = await startApi({ database, listener: t.listener, engine, port: 0, model: { name: 'demo', demo: true } });
});
afterAll(async () => {
  await api.close();
  await database.close();
  await t.close();
});

test('a database that is away: 503 on REST, -32053 on the socket, and no signed-in person is signed out', async () => {
  const socket = await openSocket(api.address, { token: t.tokens.engineer });
  await proxy.close();
  const headers = { authorization: `Bearer ${t.tokens.engineer}` };
  const response = await fetch(`${api.address}/api/v1/projects`, { headers });
  const message = 'The database can\'t be reached right now. Try again in a moment.';
  expect(response.status).toBe(503);
  expect(await response.json()).toEqual({ error: 'unavailable', message });
  const session = '018f0000-0000-7000-8000-000000000000';
  for (const [method, params] of [
    ['planner.send', { session, text: 'Plan' }],
    ['planner.watch', { subscription: 'w', session }],
    ['stream.subscribe', { subscription: 'e', stream: 'project:WEB' }],
  ] as const) {
    expect((await socket.call(method, params)).error, method).toEqual({ code: -32053, message });
  }
  expect((await socket.call('system.ping')).result).toMatchObject({ subject: 'engineer' });
  const late = await openSocket(api.address);
  expect((await late.call('auth', { token: t.tokens.engineer })).error).toEqual({ code: -32053, message });
  expect(await late.untilClosed()).toEqual({ code: 1013, reason: 'unavailable' });
  socket.ws.terminate();
});

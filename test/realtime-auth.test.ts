// Realtime: opening a socket, signing in, staying signed in, heartbeat (spec: planner 11).

import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { transaction } from '../store/database.ts';
import { revokeToken } from '../store/tokens.ts';
import { inHours, makeToken, startTestApi, type SocketOptions, type TestApi } from './support/api.ts';

let t: TestApi;
beforeAll(async () => {
  t = await startTestApi({ realtime: { authMs: 400, heartbeatMs: 300, publicUrl: 'https://planner.example.org' } });
});
afterAll(() => t.close());

describe('opening', () => {
  test('spec: planner 11.1: no subprotocol offered: close 1008', async () => {
    const socket = await t.socket({ protocols: [] });
    expect(await socket.untilClosed()).toMatchObject({ code: 1008 });
  });

  test('spec: planner 11.1: only unknown subprotocols offered: HTTP 400 that names ours', async () => {
    const refusal = await refused({ protocols: ['ballet.v2.json', 'other'] });
    expect(refusal).toMatchObject({ status: 400, body: { message: expect.stringContaining('ballet.v1.json') } });
  });

  test('ours among others is chosen', async () => {
    const socket = await t.socket({ protocols: ['other', 'ballet.v1.json'] });
    expect(socket.ws.protocol).toBe('ballet.v1.json');
    expect(socket.ws.extensions).toBe('');
    socket.ws.terminate();
  });

  test('another path: 404; another upgrade: 400', async () => {
    expect(await upgrade('/else', [])).toContain('404 Not Found');
    expect(await upgrade('/rpc', [], 'h2c')).toContain('400 Bad Request');
  });

  test.each([
    ['null', false],
    ['http://127.0.0.1.evil.test:PORT', false],
    ['http://localhost.evil.test:PORT', false],
    ['http://evil.test', false],
    ['http://127.0.0.1:1', false],
    ['http://user@127.0.0.1:PORT', false],
    ['file://127.0.0.1:PORT', false],
    ['http://127.0.0.1:PORT/path', false],
    ['https://planner.example.org.evil.test', false],
    ['http://planner.example.org', false],
    ['https://planner.example.org', true],
    ['HTTPS://PLANNER.EXAMPLE.ORG', true],
    ['http://127.0.0.1:PORT', true],
  ])('reports e11, spec: planner 11.7: origin %s is admitted: %s', async (origin, admitted) => {
    const named = origin.replace('PORT', String(t.api.port));
    if (admitted) {
      const socket = await t.socket({ origin: named });
      expect(socket.ws.readyState).toBe(WebSocket.OPEN);
      socket.ws.terminate();
    } else {
      expect(await refused({ origin: named })).toMatchObject({ status: 403, body: { error: 'forbidden' } });
    }
  });

  test('a foreign name that resolves to us is not the same host', async () => {
    const foreign = { origin: 'http://evil.test:8787', headers: { host: 'evil.test:8787' } };
    expect(await refused(foreign)).toMatchObject({ status: 403 });
  });

  test('reports e29: a handshake with 2,000 headers: 400, the server lives on', async () => {
    const headers = Array.from({ length: 2_000 }, () => 'a: b');
    expect(await upgrade('/rpc', headers)).toContain('400 Bad Request');
    const socket = await t.socket({ token: t.tokens.viewer });
    expect((await socket.call('system.ping')).result).toMatchObject({ subject: 'viewer' });
    socket.ws.terminate();
  });

  test('reports e31: 32,000 spaces in the subprotocol header are refused fast', async () => {
    for (const count of [14_000, 32_000]) {
      const started = performance.now();
      expect(await upgrade('/rpc', [`Sec-WebSocket-Protocol: a${' '.repeat(count)}b`])).toContain('400 Bad Request');
      expect(performance.now() - started).toBeLessThan(1_000);
    }
  });
});

describe('signing in', () => {
  test('spec: planner 11.2: auth first: answers with subject and expiry', async () => {
    const socket = await t.socket();
    const { result } = await socket.call('auth', { token: t.tokens.engineer });
    expect(result).toEqual({ subject: 'engineer', expires_at: expect.stringMatching(/^\d{4}-.*Z$/) });
    const again = await socket.call('auth', { token: t.tokens.engineer });
    expect(again.error).toMatchObject({ code: -32600 });
    socket.ws.terminate();
  });

  test.each([
    ['a bad token', { jsonrpc: '2.0', id: 1, method: 'auth', params: { token: 'plt_bad' } }, -32001],
    ['no token', { jsonrpc: '2.0', id: 1, method: 'auth', params: {} }, -32001],
    ['another method', { jsonrpc: '2.0', id: 1, method: 'system.ping' }, -32001],
    ['a send', { jsonrpc: '2.0', id: 1, method: 'planner.send', params: { session: 'x', text: 'y' } }, -32001],
    ['an unknown method', { jsonrpc: '2.0', id: 1, method: 'nothing' }, -32001],
    ['no JSON', 'hello', -32700],
    ['1 MB', { jsonrpc: '2.0', id: 1, method: 'auth', params: { token: 'x'.repeat(1_000_000) } }, -32001],
  ])('spec: planner 11.2: first frame %s: an error, then close 4001', async (_what, frame, code) => {
    const socket = await t.socket();
    socket.send(frame);
    expect(await socket.untilClosed()).toMatchObject({ code: 4001 });
    expect(socket.frames).toHaveLength(1);
    expect(socket.frames[0]).toMatchObject({ jsonrpc: '2.0', error: { code } });
  });

  test('a token that can\'t be judged in time may be good: close 1013, and the client keeps it', async () => {
    const holder = await t.database.pool.connect();
    try {
      await holder.query('BEGIN');
      await holder.query('LOCK TABLE tokens IN ACCESS EXCLUSIVE MODE');
      const socket = await t.socket();
      socket.send({ jsonrpc: '2.0', id: 1, method: 'auth', params: { token: t.tokens.viewer } });
      expect(await socket.untilClosed()).toMatchObject({ code: 1013 });
    } finally {
      await holder.query('ROLLBACK');
      holder.release();
    }
  });

  test('a sign-in that is a notification is not answered, and refused by closing', async () => {
    const good = await t.socket();
    good.send({ jsonrpc: '2.0', method: 'auth', params: { token: t.tokens.viewer } });
    expect((await good.call('system.ping')).result).toMatchObject({ subject: 'viewer' });
    good.ws.terminate();
    const bad = await t.socket();
    bad.send({ jsonrpc: '2.0', method: 'auth', params: { token: 'plt_bad' } });
    expect(await bad.untilClosed()).toMatchObject({ code: 4001 });
    expect(bad.frames).toEqual([]);
  });

  test('reports e21, spec: planner 11.2: a socket that stays silent is closed after the limit, and has received nothing', async () => {
    const socket = await t.socket();
    const started = performance.now();
    expect(await socket.untilClosed()).toMatchObject({ code: 4001 });
    expect(performance.now() - started).toBeGreaterThan(300);
    expect(socket.frames).toEqual([]);
  });

  test('a database that is away is no bad token: close 1011', async () => {
    await t.database.query('ALTER TABLE tokens RENAME TO hidden_tokens');
    try {
      const socket = await t.socket();
      socket.send({ jsonrpc: '2.0', id: 1, method: 'auth', params: { token: t.tokens.viewer } });
      expect(await socket.untilClosed()).toMatchObject({ code: 1011 });
      expect(socket.frames[0]?.error).toEqual({ code: -32603, message: 'Internal error.' });
    } finally {
      await t.database.query('ALTER TABLE hidden_tokens RENAME TO tokens');
    }
  });
});

describe('staying signed in', () => {
  test('spec: planner 11.5: an expiring token closes with 4001 at its time', async () => {
    const { token } = await makeToken(t.database, { subject: 'viewer', expires_at: new Date(Date.now() + 600) });
    const socket = await t.socket({ token });
    const keep = beat(socket);
    expect(await socket.untilClosed(3_000)).toMatchObject({ code: 4001, reason: 'the token has expired' });
    clearInterval(keep);
  });

  test('spec: planner 11.5: a token that is revoked closes its sockets with 4001 at once, by notification, and no others', async () => {
    const own = await startTestApi({ realtime: { recheckMs: 3_600_000 } });
    try {
      const { id, token } = await makeToken(own.database, { subject: 'viewer', expires_at: inHours(1) });
      const revoked = await own.socket({ token });
      const other = await own.socket({ token: own.tokens.viewer });
      await transaction(own.database, (tx) => revokeToken(tx, id));
      expect(await revoked.untilClosed()).toMatchObject({ code: 4001, reason: 'the token was revoked' });
      expect((await other.call('system.ping')).result).toBeDefined();
    } finally {
      await own.close();
    }
  });

  test('a revocation whose notification was lost is found within a second or so', async () => {
    const { id, token } = await makeToken(t.database, { subject: 'viewer', expires_at: inHours(1) });
    const socket = await t.socket({ token });
    const keep = beat(socket);
    await t.database.query('UPDATE tokens SET revoked_at = now() WHERE id = $1', [id]);
    expect(await socket.untilClosed(4_000)).toMatchObject({ code: 4001 });
    clearInterval(keep);
  });

  test('reports e19, spec: planner 11.3: auth.refresh extends the stay; another subject\'s token and a bad one change nothing', async () => {
    const { token } = await makeToken(t.database, { subject: 'viewer', expires_at: new Date(Date.now() + 900) });
    const socket = await t.socket({ token });
    const keep = beat(socket);
    expect((await socket.call('auth.refresh', { token: t.tokens.engineer })).error).toMatchObject({ code: -32003 });
    expect((await socket.call('auth.refresh', { token: 'plt_bad' })).error).toMatchObject({ code: -32001 });
    expect((await socket.call('system.ping')).result).toMatchObject({ subject: 'viewer' });
    expect((await socket.call('auth.refresh', { token: t.tokens.viewer })).result).toMatchObject({ subject: 'viewer' });
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect((await socket.call('system.ping')).result).toMatchObject({ subject: 'viewer' });
    clearInterval(keep);
    socket.ws.terminate();
  });
});

describe('heartbeat', () => {
  test('spec: planner 11.4: the server beats; a socket that is silent for three beats is closed with 4000', async () => {
    const socket = await t.socket({ token: t.tokens.viewer });
    expect(await socket.untilClosed()).toMatchObject({ code: 4000 });
    const beats = socket.frames.filter((frame) => frame.method === '$/heartbeat');
    expect(beats.length).toBeGreaterThanOrEqual(2);
    expect(beats[0]).toEqual({ jsonrpc: '2.0', method: '$/heartbeat', params: { time: expect.any(String) } });
  });

  test('spec: planner 11.4: any inbound frame counts: heartbeats, requests, even faulty ones', async () => {
    const socket = await t.socket({ token: t.tokens.viewer });
    const frames = [{ jsonrpc: '2.0', method: '$/heartbeat', params: { time: 'now' } }, 'no json'];
    let n = 0;
    const keep = setInterval(() => socket.send(frames[n++ % 2]), 250);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(socket.closed).toBeUndefined();
    clearInterval(keep);
    socket.ws.terminate();
  });
});

test('a server that stops closes its sockets with 1001', async () => {
  const other = await startTestApi();
  const socket = await other.socket({ token: other.tokens.viewer });
  const closed = socket.untilClosed();
  await other.close();
  expect(await closed).toMatchObject({ code: 1001 });
});

function beat(socket: { send(frame: unknown): void; closed: unknown }): NodeJS.Timeout {
  return setInterval(() => {
    if (!socket.closed) socket.send({ jsonrpc: '2.0', method: '$/heartbeat', params: {} });
  }, 200);
}

/** The HTTP answer to a handshake that is refused. */
async function refused(options: SocketOptions): Promise<{ status: number; body: unknown }> {
  const { protocols = ['ballet.v1.json'], ...rest } = options;
  const ws = new WebSocket(`${t.address.replace('http', 'ws')}/rpc`, protocols, rest);
  ws.on('error', () => undefined);
  const [, response] = (await once(ws, 'unexpected-response')) as [unknown, http.IncomingMessage];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode ?? 0, body: JSON.parse(text) as unknown };
}

/** A handshake by hand: the bytes that come back. */
function upgrade(path: string, headers: readonly string[], protocol = 'websocket'): Promise<string> {
  const lines = [
    `GET ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${t.api.port}`,
    'Connection: Upgrade',
    `Upgrade: ${protocol}`,
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ...headers,
  ];
  return new Promise((resolve, reject) => {
    const socket = net.connect(t.api.port, '127.0.0.1', () => socket.write(`${lines.join('\r\n')}\r\n\r\n`));
    let text = '';
    socket.on('data', (data) => {
      text += String(data);
      if (text.includes('101 Switching')) socket.destroy();
    });
    socket.on('close', () => resolve(text));
    socket.on('error', (error) => (text === '' ? reject(error) : resolve(text)));
    socket.setTimeout(5_000, () => socket.destroy());
  });
}

// Realtime: JSON-RPC 2.0 to the letter, and frames that are none (spec: planner 11).

import type { Socket } from 'node:net';
import { deflateRawSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { closeCodes } from '../api/contracts/realtime.ts';
import { createSession } from '../planner/conversation.ts';
import { transaction } from '../store/database.ts';
import { startTestApi, type TestApi, type TestSocket } from './support/api.ts';

let t: TestApi;
let socket: TestSocket;
beforeAll(async () => {
  t = await startTestApi();
});
afterAll(() => t.close());
beforeEach(async () => {
  socket = await t.socket({ token: t.tokens.engineer });
});
afterEach(() => socket.ws.terminate());

const answers = (id: unknown) => socket.until((frames) => frames.find((frame) => frame.id === id && frame.jsonrpc));

describe('bad frames', () => {
  test.each([
    ['no JSON', 'hello', null, -32700],
    ['half a frame', '{"jsonrpc":"2.0",', null, -32700],
    ['a batch', [{ jsonrpc: '2.0', id: 1, method: 'system.ping' }], null, -32600],
    ['an empty batch', [], null, -32600],
    ['a number', '5', null, -32600],
    ['null', 'null', null, -32600],
    ['no jsonrpc', { id: 7, method: 'system.ping' }, 7, -32600],
    ['another jsonrpc', { jsonrpc: '1.0', id: 7, method: 'system.ping' }, 7, -32600],
    ['no method', { jsonrpc: '2.0', id: 'a' }, 'a', -32600],
    ['a method that is no text', { jsonrpc: '2.0', id: 'a', method: 5 }, 'a', -32600],
    ['an id that is an object', { jsonrpc: '2.0', id: {}, method: 'system.ping' }, null, -32600],
    ['an id that is a boolean', { jsonrpc: '2.0', id: true, method: 'system.ping' }, null, -32600],
    ['params that are text', { jsonrpc: '2.0', id: 3, method: 'system.ping', params: 'x' }, 3, -32600],
    ['an answer', { jsonrpc: '2.0', id: 3, result: {} }, 3, -32600],
    ['an unknown member', { jsonrpc: '2.0', id: 3, method: 'system.ping', param: {} }, 3, -32600],
    ['positional params', { jsonrpc: '2.0', id: 3, method: 'system.ping', params: [1] }, 3, -32602],
    ['an unknown field', { jsonrpc: '2.0', id: 3, method: 'system.ping', params: { x: 1 } }, 3, -32602],
    ['an unknown method', { jsonrpc: '2.0', id: 3, method: 'planner.nothing' }, 3, -32601],
    ['a method of every object', { jsonrpc: '2.0', id: 3, method: 'constructor' }, 3, -32601],
    ['a method named __proto__', { jsonrpc: '2.0', id: 3, method: '__proto__' }, 3, -32601],
  ])('spec: planner 11.18: %s is answered with its code, and the socket lives on', async (_what, frame, id, code) => {
    socket.send(frame);
    expect(await answers(id)).toMatchObject({ jsonrpc: '2.0', id, error: { code, message: expect.any(String) } });
    expect((await socket.call('system.ping')).result).toMatchObject({ subject: 'engineer' });
  });

  test('a binary frame closes with 1003', async () => {
    socket.send(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"system.ping"}'));
    expect(await socket.untilClosed()).toMatchObject({ code: 1003 });
  });

  test('reports e17, spec: planner 11.6: a frame above 4 MiB closes only this socket, with 1009; one below is read', async () => {
    const other = await t.socket({ token: t.tokens.engineer });
    const frame = (bytes: number) => {
      const bare = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'system.ping', params: { pad: '' } });
      return bare.replace('""', `"${'x'.repeat(bytes - bare.length)}"`);
    };
    other.send(frame(4 * 1024 * 1024));
    expect(await other.until((frames) => frames.find(({ id }) => id === 1))).toMatchObject({ error: { code: -32602 } });
    socket.send(frame(4 * 1024 * 1024 + 1));
    expect(await socket.untilClosed()).toMatchObject({ code: 1009 });
    expect((await other.call('system.ping')).result).toBeDefined();
    other.ws.terminate();
  });

  test('reports e17: 10,000 fragments without an end are bounded too', async () => {
    const fragment = 'x'.repeat(1_000);
    for (let i = 0; i < 10_000 && !socket.closed; i++) socket.ws.send(fragment, { fin: false });
    expect(await socket.untilClosed()).toMatchObject({ code: 1009 });
  });

  test('a client that asks and never reads is cut in the end, not buffered without bound', async () => {
    socket.ws.pause();
    const id = 'x'.repeat(100_000);
    for (let i = 0; i < 600; i++) socket.send({ jsonrpc: '2.0', id, method: 'system.ping' });
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    socket.ws.resume();
    expect(await socket.untilClosed()).toMatchObject({ code: 1006 });
    const other = await t.socket({ token: t.tokens.engineer });
    expect((await other.call('system.ping')).result).toBeDefined();
    other.ws.terminate();
  });

  test('reports e15: compression is not agreed on, so a frame that claims it closes only its socket', async () => {
    const other = await t.socket({ token: t.tokens.viewer, perMessageDeflate: true });
    expect(other.ws.extensions).toBe('');
    const zeros = deflateRawSync(Buffer.alloc(1_000_000));
    other.ws.on('error', () => undefined);
    const { _socket: wire } = other.ws as unknown as { _socket: Socket };
    // FIN, RSV1, text; masked with zeros; a length of two bytes.
    wire.write(Buffer.concat([Buffer.from([0xc1, 0xfe, zeros.length >> 8, zeros.length & 255, 0, 0, 0, 0]), zeros]));
    expect(await other.untilClosed()).toMatchObject({ code: 1002 });
    expect((await socket.call('system.ping')).result).toMatchObject({ subject: 'engineer' });
  });

  test('reports e23: every close has a code of the protocol and a reason of at most 123 bytes', async () => {
    const bad: [frame: unknown, token?: string][] = [
      [Buffer.from('binary'), t.tokens.engineer],
      ['x'.repeat(4 * 1024 * 1024 + 1), t.tokens.engineer],
      [{ jsonrpc: '2.0', id: 1, method: 'auth', params: { token: '\u{1f680}'.repeat(100) } }],
      [{ jsonrpc: '2.0', id: 1, method: '\u{1f680}'.repeat(200) }],
    ];
    const codes = [];
    for (const [frame, token] of bad) {
      const one = await t.socket(token ? { token } : {});
      one.send(frame);
      const { code, reason } = await one.untilClosed();
      expect(Buffer.byteLength(reason)).toBeLessThanOrEqual(123);
      codes.push(code);
    }
    expect(codes).toEqual([1003, 1009, 4001, 4001]);
    for (const code of Object.values(closeCodes)) {
      expect((code >= 1007 && code <= 1014) || (code >= 4000 && code <= 4999)).toBe(true);
    }
  });

  test('reports e25: a field named __proto__ is refused by its name, not renamed and not obeyed', async () => {
    socket.send('{"jsonrpc":"2.0","id":"p","method":"system.ping","params":{"__proto__":{"x":1}}}');
    expect(await answers('p')).toMatchObject({
      error: { code: -32602, message: expect.stringContaining('"__proto__"') },
    });
    socket.send('{"jsonrpc":"2.0","id":"q","method":"system.ping","__proto__":{"params":{}}}');
    expect(await answers('q')).toMatchObject({ error: { code: -32600 } });
  });

  test('reports e27: msgpack is not offered: asked for alone it is refused, beside ours JSON is spoken', async () => {
    const refused = t.socket({ protocols: ['ballet.v1.msgpack'] });
    await expect(refused).rejects.toThrow('400');
    const both = await t.socket({ protocols: ['ballet.v1.msgpack', 'ballet.v1.json'], token: t.tokens.viewer });
    expect(both.ws.protocol).toBe('ballet.v1.json');
    both.send(Buffer.from([0x81, 0xc0, 0x01]));
    expect(await both.untilClosed()).toMatchObject({ code: 1003 });
  });

  test('text that is no UTF-8 closes with 1007', async () => {
    socket.ws.send(Buffer.from([0xff, 0xfe]), { binary: false });
    expect(await socket.untilClosed()).toMatchObject({ code: 1007 });
  });
});

describe('requests', () => {
  test('ids come back as they were: text, numbers, fractions, empty, null', async () => {
    for (const id of ['a', '', 0, -1, 1.5, null]) {
      socket.send({ jsonrpc: '2.0', id, method: 'system.ping' });
      expect(await answers(id)).toMatchObject({ id, result: { subject: 'engineer', time: expect.any(String) } });
    }
  });

  test('notifications are acted on and never answered, not even faulty ones', async () => {
    const before = socket.frames.length;
    socket.send({ jsonrpc: '2.0', method: '$/heartbeat', params: { time: 'now' } });
    socket.send({ jsonrpc: '2.0', method: 'nothing' });
    socket.send({ jsonrpc: '2.0', method: 'planner.watch', params: {} });
    await socket.call('system.ping');
    expect(socket.frames.length - before).toBe(1);
  });

  test('requests are answered in their order', async () => {
    const ids = Array.from({ length: 100 }, (_, i) => 1_000 + i);
    for (const id of ids) {
      const quick = { jsonrpc: '2.0', id, method: 'system.ping' };
      const params = { subscription: `s${id}`, stream: 'project:WEB' };
      socket.send(id % 2 ? quick : { jsonrpc: '2.0', id, method: 'stream.subscribe', params });
    }
    await answers(1_099);
    expect(socket.frames.map(({ id }) => id).filter((id) => typeof id === 'number')).toEqual(ids);
  });

  test('spec: planner 11.9: planner.send: seq and turn; a repeat returns the first; another text and busy are conflicts', async () => {
    const session = (await transaction(t.database, (tx) => createSession(tx, { subject: 'engineer', kind: 'human' }, { project: 'WEB' }))).id;
    const message = { session, text: 'Plan', message_id: 'm1' };
    const first = await socket.call('planner.send', message);
    expect(first.result).toEqual({ seq: 1, turn: expect.any(String) });
    expect(t.told.sent).toContain(first.result?.['turn']);
    const told = t.told.sent.length;
    expect((await socket.call('planner.send', message)).result).toEqual(first.result);
    expect(t.told.sent).toHaveLength(told);
    expect((await socket.call('planner.send', { ...message, text: 'Other' })).error).toMatchObject({ code: -32009 });
    expect((await socket.call('planner.send', { session, text: 'More' })).error).toMatchObject({ code: -32009 });
  });

  test('spec: planner 11.10: planner.cancel tells the engine; on an idle session, and naming another turn, it is a no-op', async () => {
    const session = (await transaction(t.database, (tx) => createSession(tx, { subject: 'engineer', kind: 'human' }, { project: 'WEB' }))).id;
    const told = t.told.cancelled.length;
    expect((await socket.call('planner.cancel', { session })).result).toEqual({});
    expect(t.told.cancelled).toHaveLength(told);
    const { result } = await socket.call('planner.send', { session, text: 'Plan' });
    expect((await socket.call('planner.cancel', { session, turn: session })).result).toEqual({});
    expect(t.told.cancelled).toHaveLength(told);
    expect((await socket.call('planner.cancel', { session, turn: result?.['turn'] })).result).toEqual({});
    expect(t.told.cancelled.at(-1)).toBe(result?.['turn']);
  });

  test('spec: planner 11.18: errors have their codes: params, not found, forbidden', async () => {
    const session = (await transaction(t.database, (tx) => createSession(tx, { subject: 'engineer', kind: 'human' }, { project: 'WEB' }))).id;
    expect((await socket.call('planner.send', { session, text: ' ' })).error).toMatchObject({ code: -32602 });
    const turn = { session, turn: 'x' };
    expect((await socket.call('planner.cancel', turn)).error).toEqual({
      code: -32602,
      message: 'turn must be the id of a turn, not "x"',
    });
    for (const [method, params] of [
      ['planner.send', { text: 'y' }],
      ['planner.cancel', {}],
      ['planner.watch', { subscription: 's' }],
    ] as const) {
      expect((await socket.call(method, { session: 'abc', ...params })).error, method).toMatchObject({ code: -32004 });
    }
    const unknown = '018f0000-0000-7000-8000-000000000000';
    expect((await socket.call('planner.send', { session: unknown, text: 'y' })).error).toMatchObject({ code: -32004 });
    const viewer = await t.socket({ token: t.tokens.viewer });
    expect((await viewer.call('planner.send', { session, text: 'y' })).error).toMatchObject({ code: -32003 });
    viewer.ws.terminate();
  });

  test('spec: planner 11.18: a fault of ours is -32603 without detail', async () => {
    await t.database.query('ALTER TABLE planner_sessions RENAME TO hidden_sessions');
    try {
      const session = '018f0000-0000-7000-8000-000000000000';
      const { error } = await socket.call('planner.watch', { subscription: 's', session });
      expect(error).toEqual({ code: -32603, message: 'Internal error.' });
    } finally {
      await t.database.query('ALTER TABLE hidden_sessions RENAME TO planner_sessions');
    }
  });
});

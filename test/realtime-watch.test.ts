// Watching a session: outputs from a number on, in order, no gap, no duplicate (spec: planner 7, 11).

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApi, type ApiOptions } from '../api/server.ts';
import { createSession, sendMessage } from '../planner/conversation.ts';
import { transaction } from '../store/database.ts';
import { listen } from '../store/listener.ts';
import { deleteRoleBinding, listRoleBindings } from '../store/role-bindings.ts';
import type { OutputBody } from '../domain/output.ts';
import { plannerOutput } from '../api/contracts/realtime.ts';
import { openSocket, startTestApi, type TestApi, type TestSocket } from './support/api.ts';

let t: TestApi;
beforeAll(async () => {
  t = await startTestApi();
});
afterAll(() => t.close());

const engineer = { subject: 'engineer', kind: 'human' } as const;

async function newSession(api = t): Promise<string> {
  return (await transaction(api.database, (tx) => createSession(tx, engineer, { project: 'WEB' }))).id;
}

/** Stores outputs as a worker does, some a transaction. */
async function write(session: string, turn: string, bodies: OutputBody[], api = t): Promise<void> {
  await transaction(api.database, async (tx) => {
    for (const body of bodies) tx.output({ session, turn, attempt: 1, body });
  });
}

const texts = (from: number, to: number): OutputBody[] =>
  Array.from({ length: to - from + 1 }, (_, i) => ({ type: 'text', text: `t${from + i}` }));

const numbers = (socket: TestSocket, subscription: string): number[] =>
  socket.notes('planner.output', subscription).map((params) => params['output'] as number);

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);

async function untilOutput(socket: TestSocket, subscription: string, output: number, ms?: number): Promise<number[]> {
  return socket.until(() => {
    const seen = numbers(socket, subscription);
    return seen.at(-1) === output ? seen : undefined;
  }, ms);
}

/** Another API on the same database. */
function otherProcess(): ApiOptions {
  return {
    database: t.database,
    listener: t.listener,
    engine: { sent: () => undefined, cancelled: () => undefined },
    port: 0,
    model: { name: 'demo-planner', demo: true },
  };
}

const someTurn = '018f0000-0000-7000-8000-00000000000a';

describe('where it begins', () => {
  test('an idle session without from_output: live only, and the newest number', async () => {
    const session = await newSession();
    await write(session, someTurn, texts(1, 3));
    const socket = await t.socket({ token: t.tokens.viewer });
    const { result } = await socket.call('planner.watch', { subscription: 'w', session });
    expect(result).toEqual({ subscription: 'w', output: 3 });
    await write(session, someTurn, texts(4, 5));
    expect(await untilOutput(socket, 'w', 5)).toEqual([4, 5]);
    socket.ws.terminate();
  });

  test('spec: planner 11.11: without from_output during a turn: that turn from its start, then live', async () => {
    const session = await newSession();
    await write(session, someTurn, texts(1, 4));
    const { turn } = await sendMessage(t.database, engineer, { session, text: 'Plan' });
    await write(session, turn, texts(6, 7));
    const socket = await t.socket({ token: t.tokens.viewer });
    const { result } = await socket.call('planner.watch', { subscription: 'w', session });
    expect(result).toMatchObject({ running: turn, output: expect.any(Number) });
    const newest = result?.['output'] as number;
    await write(session, turn, texts(8, 8));
    const seen = await untilOutput(socket, 'w', newest + 1);
    expect(seen).toEqual(range(5, newest + 1));
    const notes = socket.notes('planner.output', 'w').map((params) => plannerOutput.parse(params));
    expect(new Set(notes.map((note) => note.turn))).toEqual(new Set([turn]));
    socket.ws.terminate();
  });

  test('reports e07, spec: planner 11.15: from 0 everything comes, the very first output included', async () => {
    const session = await newSession();
    const socket = await t.socket({ token: t.tokens.viewer });
    await socket.call('planner.watch', { subscription: 'w', session, from_output: 0 });
    await write(session, someTurn, texts(1, 1));
    expect(await untilOutput(socket, 'w', 1)).toEqual([1]);
    socket.ws.terminate();
  });

  test('spec: planner 11.16: a number ahead of the session, or at outputs no longer kept: -32010 with the newest', async () => {
    const session = await newSession();
    await write(session, someTurn, texts(1, 10));
    await t.database.query('UPDATE planner_output_counters SET pruned = 5 WHERE session_id = $1', [session]);
    await t.database.query('DELETE FROM planner_outputs WHERE session_id = $1 AND number <= 5', [session]);
    const socket = await t.socket({ token: t.tokens.viewer });
    const watch = (from_output: number) => socket.call('planner.watch', { subscription: 'w', session, from_output });
    expect((await watch(11)).error).toMatchObject({ code: -32010, data: { output: 10 } });
    expect((await watch(4)).error).toMatchObject({ code: -32010, data: { output: 10 } });
    expect((await watch(5)).result).toMatchObject({ output: 10 });
    expect(await untilOutput(socket, 'w', 10)).toEqual(range(6, 10));
    socket.ws.terminate();
  });

  test('spec: planner 11.16: after -32010 an answer in progress begins with one text that replaces all so far', async () => {
    const session = await newSession();
    const { turn } = await sendMessage(t.database, engineer, { session, text: 'Plan' });
    await write(session, turn, [{ type: 'retrying', reason: 'cut' }, ...texts(1, 3)]);
    const socket = await t.socket({ token: t.tokens.viewer });
    const watch = (subscription: string, from_output: number) =>
      socket.call('planner.watch', { subscription, session, from_output });
    const newest = ((await watch('w', 99)).error?.data as { output: number }).output;
    expect((await watch('w', newest)).result).toMatchObject({ running: turn });
    expect((await watch('plain', newest)).result).toMatchObject({ running: turn });
    await write(session, turn, texts(4, 5));
    for (const name of ['w', 'plain']) await untilOutput(socket, name, newest + 2);
    const bodies = (name: string) =>
      socket.notes('planner.output', name).map(({ output, text, replace }) => ({ output, text, replace }));
    expect(bodies('w')).toEqual([
      { output: newest + 1, text: 't1t2t3t4', replace: true },
      { output: newest + 2, text: 't5', replace: undefined },
    ]);
    expect(bodies('plain').map(({ text }) => text)).toEqual(['t4', 't5']);
    socket.ws.terminate();
  });

  test('spec: planner 11.12: every kind of output has the fields of the contract', async () => {
    const session = await newSession();
    const bodies: OutputBody[] = [
      { type: 'message', seq: 1 },
      { type: 'text', text: 'Hi', replace: true },
      { type: 'tool_call', tool: 'get_item', tool_use_id: 'a', input: { key: 'WEB-1' } },
      { type: 'tool_result', tool: 'get_item', tool_use_id: 'a', text: '{}', is_error: false },
      { type: 'retrying', reason: 'rate limited' },
      { type: 'error', text: 'No credential.' },
      { type: 'done', text: 'error' },
    ];
    await write(session, someTurn, bodies);
    const socket = await t.socket({ token: t.tokens.viewer });
    await socket.call('planner.watch', { subscription: 'w', session: session.toUpperCase(), from_output: 0 });
    await untilOutput(socket, 'w', 7);
    const notes = socket.notes('planner.output', 'w').map((params) => plannerOutput.parse(params));
    expect(notes).toEqual(
      bodies.map((body, i) => ({ subscription: 'w', session, turn: someTurn, attempt: 1, output: i + 1, ...body })),
    );
    socket.ws.terminate();
  });
});

describe('subscriptions', () => {
  test('spec: planner 11.14: names are 1-64 bytes, unique, and freed when subscribing fails or ends', async () => {
    const session = await newSession();
    const socket = await t.socket({ token: t.tokens.viewer });
    const watch = (subscription: string, wanted = session) =>
      socket.call('planner.watch', { subscription, session: wanted, from_output: 0 });
    expect((await watch('')).error).toMatchObject({ code: -32602 });
    expect((await watch('é'.repeat(33))).error).toMatchObject({ code: -32602 });
    expect((await watch('x', '018f0000-0000-7000-8000-000000000000')).error).toMatchObject({ code: -32004 });
    expect((await watch('x')).result).toBeDefined();
    expect((await watch('x')).error).toMatchObject({ code: -32009 });
    const events = await socket.call('stream.subscribe', { subscription: 'x', stream: 'project:WEB' });
    expect(events.error).toMatchObject({ code: -32009 });
    expect((await socket.call('stream.unsubscribe', { subscription: 'x' })).result).toEqual({});
    expect((await socket.call('stream.unsubscribe', { subscription: 'x' })).error).toMatchObject({ code: -32004 });
    expect((await watch('x')).result).toBeDefined();
    socket.ws.terminate();
  });

  test('spec: planner 11.8: an ended subscription gets nothing more', async () => {
    const session = await newSession();
    const socket = await t.socket({ token: t.tokens.viewer });
    await socket.call('planner.watch', { subscription: 'a', session });
    await socket.call('planner.watch', { subscription: 'b', session });
    await socket.call('stream.unsubscribe', { subscription: 'a' });
    await write(session, someTurn, texts(1, 3));
    await untilOutput(socket, 'b', 3);
    expect(numbers(socket, 'a')).toEqual([]);
    socket.ws.terminate();
  });

  test('a socket has at most 200', async () => {
    const session = await newSession();
    const socket = await t.socket({ token: t.tokens.viewer });
    const codes = [];
    for (let i = 0; i <= 200; i++) {
      codes.push((await socket.call('planner.watch', { subscription: `w${i}`, session })).error?.code);
    }
    expect(codes.filter((code) => code === undefined)).toHaveLength(200);
    expect(codes.at(-1)).toBe(-32009);
    socket.ws.terminate();
  });

  test('a session of a hidden project is not found', async () => {
    const session = await newSession();
    const socket = await t.socket({ token: t.tokens.stranger });
    expect((await socket.call('planner.watch', { subscription: 'w', session })).error).toMatchObject({ code: -32004 });
    socket.ws.terminate();
  });
});

describe('replay and live', () => {
  test('reports e03, spec: planner 11.15: clients that subscribe at random numbers while outputs pour in miss none and get none twice', async () => {
    const session = await newSession();
    const total = 3_000;
    let written = 0;
    const writer = (async () => {
      while (written < total) {
        const some = Math.min(1 + Math.floor(Math.random() * 40), total - written);
        await write(session, someTurn, texts(written + 1, written + some));
        written += some;
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    })();
    const readers = range(1, 12).map(async (n) => {
      await new Promise((resolve) => setTimeout(resolve, n * 15));
      const socket = await t.socket({ token: t.tokens.viewer });
      const from = Math.floor(Math.random() * written);
      await socket.call('planner.watch', { subscription: 'w', session, from_output: from });
      const seen = await untilOutput(socket, 'w', total, 20_000);
      socket.ws.terminate();
      return { seen, expected: range(from + 1, total) };
    });
    await writer;
    for (const { seen, expected } of await Promise.all(readers)) expect(seen).toEqual(expected);
  });

  test('reports e01, spec: planner 7.20, 11.15: a client that drops and resumes from its number, at any process, has no gap, no duplicate', async () => {
    const session = await newSession();
    const second = await startApi(otherProcess());
    const total = 1_000;
    const writer = (async () => {
      for (let i = 0; i < total; i += 10) await write(session, someTurn, texts(i + 1, i + 10));
    })();
    const seen: number[] = [];
    for (let n = 0; (seen.at(-1) ?? 0) < total; n++) {
      const socket = await openSocket(n % 2 ? second.address : t.address, { token: t.tokens.viewer });
      const from = seen.at(-1) ?? 0;
      await socket.call('planner.watch', { subscription: 'w', session, from_output: from });
      await socket.until(() => (numbers(socket, 'w').length >= Math.min(150, total - from) ? true : undefined));
      socket.ws.terminate();
      seen.push(...numbers(socket, 'w'));
    }
    await writer;
    await second.close();
    expect(seen).toEqual(range(1, total));
  });

  test('outputs whose notification is lost arrive by polling', async () => {
    const session = await newSession();
    const { turn } = await sendMessage(t.database, engineer, { session, text: 'Plan' });
    const socket = await t.socket({ token: t.tokens.viewer });
    const { result } = await socket.call('planner.watch', { subscription: 'w', session });
    const newest = result?.['output'] as number;
    // What the send itself notified of must be through.
    await new Promise((resolve) => setTimeout(resolve, 100));
    await t.database.query(
      `WITH n AS (UPDATE planner_output_counters SET number = number + 1 WHERE session_id = $1 RETURNING number)
       INSERT INTO planner_outputs (session_id, number, turn_id, attempt, type, body)
       SELECT $1, number, $2, 1, 'text', '{"type":"text","text":"quiet"}' FROM n`,
      [session, turn],
    );
    const started = performance.now();
    await untilOutput(socket, 'w', newest + 1);
    expect(performance.now() - started).toBeLessThan(1_500);
    socket.ws.terminate();
  });

  test('after a lost connection of the listener all is read again, without any polling', async () => {
    const own = await startTestApi({ realtime: { pollMs: 60_000 } });
    try {
      const session = await newSession(own);
      const socket = await own.socket({ token: own.tokens.viewer });
      await socket.call('planner.watch', { subscription: 'w', session });
      await own.database.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'planner-listener'`,
      );
      await write(session, someTurn, texts(1, 5), own);
      await own.database.notifier.flush();
      expect(await untilOutput(socket, 'w', 5)).toEqual(range(1, 5));
      await write(session, someTurn, texts(6, 6), own);
      expect(await untilOutput(socket, 'w', 6)).toEqual(range(1, 6));
    } finally {
      await own.close();
    }
  });

  test('where notifications do not arrive, polling delivers', async () => {
    const deaf = await listen(t.database.url);
    await deaf.close();
    const polling = await startApi({ ...otherProcess(), listener: deaf });
    try {
      const session = await newSession();
      const socket = await openSocket(polling.address, { token: t.tokens.viewer });
      await socket.call('planner.watch', { subscription: 'w', session });
      await write(session, someTurn, texts(1, 3));
      const started = performance.now();
      expect(await untilOutput(socket, 'w', 3)).toEqual([1, 2, 3]);
      expect(performance.now() - started).toBeLessThan(1_500);
    } finally {
      await polling.close();
    }
  });

  test('an output with a number of a row that was pruned under a slow subscription ends it with lagging', async () => {
    const session = await newSession();
    await write(session, someTurn, texts(1, 5));
    const socket = await t.socket({ token: t.tokens.viewer });
    await transaction(t.database, async (tx) => {
      // Subscribed while nothing of this is visible, yet what follows its number is gone once it is.
      await socket.call('planner.watch', { subscription: 'w', session });
      await tx.query('UPDATE planner_output_counters SET number = 9, pruned = 8 WHERE session_id = $1', [session]);
      await tx.query(
        `INSERT INTO planner_outputs (session_id, number, turn_id, attempt, type, body)
         VALUES ($1, 9, $2, 1, 'text', '{"type":"text","text":"late"}')`,
        [session, someTurn],
      );
      tx.notify({ channel: 'outputs', id: session, number: 9 });
    });
    const closed = await socket.until((frames) => frames.find(({ method }) => method === 'stream.closed'));
    expect(closed.params).toEqual({ subscription: 'w', reason: 'lagging' });
    socket.ws.terminate();
  });
});

describe('bounds', () => {
  test('spec: planner 11.17: a reader that stops reading gets lagging, others are not slowed, and it resumes from its number', async () => {
    const small = await startTestApi({ realtime: { bufferBytes: 256 * 1024 } });
    try {
      const session = await newSession(small);
      const slow = await small.socket({ token: small.tokens.viewer });
      const quick = await small.socket({ token: small.tokens.viewer });
      const watch = { subscription: 'w', session, from_output: 0 };
      for (const socket of [slow, quick]) await socket.call('planner.watch', watch);
      await write(session, someTurn, texts(1, 1), small);
      await untilOutput(slow, 'w', 1);
      slow.ws.pause();
      const big = 'x'.repeat(30_000);
      const total = 400;
      for (let i = 2; i <= total; i++) await write(session, someTurn, [{ type: 'text', text: big }], small);
      expect(await untilOutput(quick, 'w', total)).toEqual(range(1, total));
      slow.ws.resume();
      await slow.until((frames) => frames.find(({ method }) => method === 'stream.closed'));
      const had = numbers(slow, 'w');
      expect(had).toEqual(range(1, had.length));
      expect(had.length).toBeLessThan(total);
      expect(slow.frames.at(-1)?.params).toEqual({ subscription: 'w', reason: 'lagging' });
      await slow.call('planner.watch', { subscription: 'w', session, from_output: had.length });
      expect(await untilOutput(slow, 'w', total)).toEqual(range(1, total));
    } finally {
      await small.close();
    }
  });

  test('a long replay to a slow reader waits for it instead of filling memory', async () => {
    const small = await startTestApi({ realtime: { bufferBytes: 256 * 1024 } });
    try {
      const session = await newSession(small);
      const big = 'x'.repeat(30_000);
      for (let i = 0; i < 20; i++) {
        await write(session, someTurn, Array.from({ length: 20 }, () => ({ type: 'text', text: big })), small);
      }
      const socket = await small.socket({ token: small.tokens.viewer });
      await socket.call('planner.watch', { subscription: 'w', session, from_output: 0 });
      socket.ws.pause();
      await new Promise((resolve) => setTimeout(resolve, 300));
      socket.ws.resume();
      expect(await untilOutput(socket, 'w', 400)).toEqual(range(1, 400));
    } finally {
      await small.close();
    }
  });

  test('spec: planner 5.10: a right that is lost in mid-watch closes the subscription with forbidden', async () => {
    const own = await startTestApi();
    try {
      const session = await newSession(own);
      const viewer = await own.socket({ token: own.tokens.viewer });
      const engineerSocket = await own.socket({ token: own.tokens.engineer });
      await viewer.call('planner.watch', { subscription: 'w', session });
      await viewer.call('stream.subscribe', { subscription: 'e', stream: 'project:WEB' });
      await engineerSocket.call('planner.watch', { subscription: 'w', session });
      await write(session, someTurn, texts(1, 1), own);
      await untilOutput(viewer, 'w', 1);
      const admin = { subject: 'admin', kind: 'human' } as const;
      const [binding] = await listRoleBindings(own.database, admin, { subject: 'viewer' });
      await transaction(own.database, (tx) => deleteRoleBinding(tx, admin, binding!.id));
      const closings = () =>
        viewer.frames.filter(({ method }) => method === 'stream.closed').map(({ params }) => params);
      await viewer.until(() => (closings().length === 2 ? true : undefined));
      await write(session, someTurn, texts(2, 2), own);
      await untilOutput(engineerSocket, 'w', 2);
      expect(numbers(viewer, 'w')).toEqual([1]);
      expect(closings()).toHaveLength(2);
      expect(closings()).toContainEqual({ subscription: 'w', reason: 'forbidden' });
      expect(closings()).toContainEqual({ subscription: 'e', reason: 'forbidden' });
      const again = await viewer.call('planner.watch', { subscription: 'w', session });
      expect(again.error).toMatchObject({ code: -32004 });
    } finally {
      await own.close();
    }
  });

  test('spec: planner 5.10: who lost a right gets nothing that is committed with the loss or after it', async () => {
    const own = await startTestApi();
    try {
      const session = await newSession(own);
      const lost = await own.socket({ token: own.tokens.viewer });
      const kept = await own.socket({ token: own.tokens.engineer });
      for (const socket of [lost, kept]) {
        await socket.call('planner.watch', { subscription: 'w', session });
        await socket.call('stream.subscribe', { subscription: 'e', stream: 'project:WEB' });
      }
      const admin = { subject: 'admin', kind: 'human' } as const;
      const [binding] = await listRoleBindings(own.database, admin, { subject: 'viewer' });
      await transaction(own.database, async (tx) => {
        await deleteRoleBinding(tx, admin, binding!.id);
        tx.output({ session, turn: someTurn, attempt: 1, body: { type: 'text', text: 'not for everybody' } });
      });
      const closed = () => lost.frames.filter(({ method }) => method === 'stream.closed');
      await lost.until(() => (closed().length === 2 ? true : undefined));
      expect(closed().map(({ params }) => params?.['reason'])).toEqual(['forbidden', 'forbidden']);
      await untilOutput(kept, 'w', 1);
      await kept.until(() => kept.notes('stream.event', 'e').find(({ type }) => type === 'role_binding.deleted'));
      expect(lost.notes('stream.event', 'e')).toEqual([]);
      expect(lost.notes('planner.output', 'w')).toEqual([]);
    } finally {
      await own.close();
    }
  });

  test('reports e09: sockets that go leave no subscription behind', async () => {
    const own = await startTestApi();
    try {
      const session = await newSession(own);
      const sockets = await Promise.all(range(1, 30).map(() => own.socket({ token: own.tokens.viewer })));
      for (const socket of sockets) await socket.call('planner.watch', { subscription: 'w', session });
      const metric = async (name: string) =>
        new RegExp(`^${name} (\\d+)$`, 'm').exec(await (await fetch(`${own.address}/metrics`)).text())?.[1];
      expect(await metric('ballet_api_subscriptions')).toBe('30');
      for (const socket of sockets) socket.ws.terminate();
      await expect.poll(() => metric('ballet_api_subscriptions')).toBe('0');
      expect(await metric('ballet_api_sockets')).toBe('0');
    } finally {
      await own.close();
    }
  });
});

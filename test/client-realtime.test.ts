// The realtime client keeps its promises over failing connections: no output missed, none twice (spec: planner 11).

import { afterEach, expect, it, vi } from 'vitest';
import { connect, RpcError, type Realtime, type RealtimeOptions } from '../client/index.ts';
import type { Output } from '../client/wire.ts';
import { startRpcServer, type Frame, type Peer, type RpcServer } from './support/rpc-server.ts';

const session = '01900000-0000-7000-8000-000000000001';
const turn = '01900000-0000-7000-8000-000000000002';
const quick = { backoff: 5, backoffMax: 20, connect: 2_000 };

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

async function serve(handle: (frame: Frame, peer: Peer) => boolean | void): Promise<RpcServer> {
  const server = await startRpcServer(handle);
  open.push(server);
  return server;
}

function client(server: RpcServer, options: Partial<RealtimeOptions> = {}): Realtime {
  const timings = { ...quick, ...options.timings };
  const realtime = connect({ address: server.address, token: 'good', ...options, timings });
  open.push(realtime);
  return realtime;
}

function output(frame: Frame, number: number): object {
  const { subscription } = frame.params;
  return { subscription, session, turn, attempt: 1, output: number, type: 'text', text: `${number} ` };
}

const from = (frame: Frame): number => Number(frame.params.from_output ?? 0);

it('signs in with the first frame and offers the one subprotocol', async () => {
  const server = await serve((frame, peer) => {
    if (frame.method === 'system.ping') peer.reply(frame, { time: 'now', subject: 'ada' });
  });
  await expect(client(server).ping()).resolves.toEqual({ time: 'now', subject: 'ada' });
  expect(server.protocols).toEqual(['ballet.v1.json']);
  expect(server.frames[0]).toMatchObject({ method: 'auth', params: { token: 'good' } });
});

it('resumes a watch after each lost connection: no gap, no duplicate', async () => {
  const total = 60;
  const server = await serve((frame, peer) => {
    if (frame.method !== 'planner.watch') return;
    peer.reply(frame, { subscription: frame.params.subscription, running: turn, output: total });
    // One that the client has already, then a few more, then the connection breaks.
    const first = from(frame);
    const last = Math.min(total, first + 7 + peer.number);
    for (let next = Math.max(1, first); next <= last; next++) peer.notify('planner.output', output(frame, next));
    if (last < total) setTimeout(() => peer.drop(), peer.number % 3);
  });
  const got: number[] = [];
  client(server).watch(session, { onOutput: (each) => got.push(each.output) }, { from_output: 0 });
  await vi.waitFor(() => expect(got.at(-1)).toBe(total), 5_000);
  expect(got).toEqual(Array.from({ length: total }, (_, index) => index + 1));
  expect(server.protocols.length).toBeGreaterThan(3);
});

it('asks for the running turn from its start first, and after that for what follows its last number', async () => {
  const server = await serve((frame, peer) => {
    if (frame.method !== 'planner.watch') return;
    peer.reply(frame, { subscription: frame.params.subscription, running: turn, output: 9 });
    if (peer.number === 1) {
      peer.notify('planner.output', output(frame, 8));
      peer.notify('planner.output', output(frame, 9));
      peer.drop();
    }
  });
  client(server).watch(session, { onOutput: () => undefined });
  await vi.waitFor(() => expect(server.frames.filter((frame) => frame.method === 'planner.watch')).toHaveLength(2));
  const [first, second] = server.frames.filter((frame) => frame.method === 'planner.watch');
  expect(first!.params).not.toHaveProperty('from_output');
  expect(second!.params).toMatchObject({ from_output: 9 });
});

it('resumes from the newest number when an idle session was watched and nothing came', async () => {
  const server = await serve((frame, peer) => {
    if (frame.method !== 'planner.watch') return;
    peer.reply(frame, { subscription: frame.params.subscription, output: 41 });
    if (peer.number === 1) setTimeout(() => peer.drop(), 5);
  });
  client(server).watch(session, { onOutput: () => undefined });
  await vi.waitFor(() => {
    const watches = server.frames.filter((frame) => frame.method === 'planner.watch');
    expect(watches.at(-1)!.params).toMatchObject({ from_output: 41 });
  });
});

it('tells of a turn that ended unheard between two connections', async () => {
  const server = await serve((frame, peer) => {
    if (frame.method !== 'planner.watch') return;
    const running = peer.number === 1 ? { running: turn } : {};
    peer.reply(frame, { subscription: frame.params.subscription, ...running, output: peer.number === 1 ? 3 : 12 });
    if (peer.number === 1) setTimeout(() => peer.drop(), 5);
  });
  const onResync = vi.fn();
  const watch = client(server).watch(session, { onOutput: () => undefined, onResync });
  await vi.waitFor(() => expect(onResync).toHaveBeenCalledExactlyOnceWith(12));
  await vi.waitFor(() => expect(watch.last).toBe(12));
});

it('on resync (-32010) lets the caller reload and goes on after the number it was given', async () => {
  const server = await serve((frame, peer) => {
    if (frame.method !== 'planner.watch') return;
    if (from(frame) === 5) return peer.refuse(frame, -32010, 'gone', { output: 100 });
    peer.reply(frame, { subscription: frame.params.subscription, output: 103 });
    for (let number = from(frame) + 1; number <= 103; number++) peer.notify('planner.output', output(frame, number));
  });
  const got: number[] = [];
  const onResync = vi.fn(async () => 101);
  client(server).watch(session, { onOutput: (each) => got.push(each.output), onResync }, { from_output: 5 });
  await vi.waitFor(() => expect(got).toEqual([102, 103]));
  expect(onResync).toHaveBeenCalledExactlyOnceWith(100);
});

it('resumes from its last number when it was too slow (stream.closed lagging)', async () => {
  let watches = 0;
  const server = await serve((frame, peer) => {
    if (frame.method !== 'planner.watch') return;
    watches++;
    peer.reply(frame, { subscription: frame.params.subscription, output: 4 });
    const [first, last] = watches === 1 ? [1, 2] : [from(frame) + 1, 4];
    for (let number = first; number <= last; number++) peer.notify('planner.output', output(frame, number));
    if (watches === 1) peer.notify('stream.closed', { subscription: frame.params.subscription, reason: 'lagging' });
  });
  const got: number[] = [];
  client(server).watch(session, { onOutput: (each) => got.push(each.output) }, { from_output: 0 });
  await vi.waitFor(() => expect(got).toEqual([1, 2, 3, 4]));
  expect(server.protocols).toHaveLength(1);
});

it('ends a watch whose right was lost, and does not ask again', async () => {
  const server = await serve((frame, peer) => {
    if (frame.method !== 'planner.watch') return;
    peer.reply(frame, { subscription: frame.params.subscription, output: 0 });
    peer.notify('stream.closed', { subscription: frame.params.subscription, reason: 'forbidden' });
    setTimeout(() => peer.drop(), 5);
  });
  const onClosed = vi.fn();
  client(server).watch(session, { onOutput: () => undefined, onClosed });
  await vi.waitFor(() => expect(server.protocols).toHaveLength(2));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(onClosed).toHaveBeenCalledExactlyOnceWith('forbidden');
  expect(server.frames.filter((frame) => frame.method === 'planner.watch')).toHaveLength(1);
});

it('rejects a watch of an unknown session with the API\'s error', async () => {
  const server = await serve((frame, peer) => {
    if (frame.method === 'planner.watch') peer.refuse(frame, -32004, 'There is no such session.');
  });
  const onClosed = vi.fn();
  const watch = client(server).watch(session, { onOutput: () => undefined, onClosed });
  await expect(watch.ready).rejects.toMatchObject({ code: 'not_found', message: 'There is no such session.' });
  expect(onClosed).toHaveBeenCalledExactlyOnceWith('not_found');
});

it('reports e13: takes a connection without frames for dead and makes a new one', async () => {
  const server = await serve((frame, peer) => {
    if (frame.method === 'system.ping') peer.reply(frame, { time: 'now', subject: 'ada' });
    // Only the second connection beats.
    if (frame.method === '$/heartbeat' && peer.number === 2) peer.notify('$/heartbeat', { time: 'now' });
  });
  const states: string[] = [];
  client(server, { timings: { heartbeat: 100, dead: 1_500 }, onState: (state) => states.push(state) });
  const beats = (): number => server.frames.filter((each) => each.method === '$/heartbeat' && each.peer === 2).length;
  await vi.waitFor(() => expect(beats()).toBeGreaterThan(8), 15_000);
  expect(server.protocols).toHaveLength(2);
  expect(states).toEqual(['connecting', 'open', 'waiting', 'connecting', 'open']);
});

it('sends a message again after a lost connection, under the same message_id', async () => {
  const server = await serve((frame, peer) => {
    if (frame.method !== 'planner.send') return;
    if (peer.number === 1) peer.drop();
    else peer.reply(frame, { seq: 1, turn });
  });
  await expect(client(server).send({ session, text: 'plan' })).resolves.toEqual({ seq: 1, turn });
  const sends = server.frames.filter((frame) => frame.method === 'planner.send');
  expect(sends).toHaveLength(2);
  expect(sends[0]!.params.message_id).toBeTypeOf('string');
  expect(sends[1]!.params).toEqual(sends[0]!.params);
});

it('does not repeat a request that may not take effect twice', async () => {
  const server = await serve((frame, peer) => {
    if (frame.method === 'planner.cancel') peer.drop();
  });
  await expect(client(server).cancel({ session })).rejects.toMatchObject({ code: 'lost' });
});

it('gives errors their words', async () => {
  const server = await serve((frame, peer) => {
    if (frame.method === 'planner.send') peer.refuse(frame, -32009, 'A turn runs.');
  });
  const sent = client(server).send({ session, text: 'plan' });
  await expect(sent).rejects.toBeInstanceOf(RpcError);
  await expect(sent).rejects.toMatchObject({ number: -32009, code: 'conflict', message: 'A turn runs.' });
});

it('gives up on a request after its time limit', async () => {
  const server = await serve(() => undefined);
  await expect(client(server).call('system.ping', {}, { timeout: 30 })).rejects.toMatchObject({ code: 'timeout' });
});

it('ends for good when its token is refused, and says why', async () => {
  const server = await serve((frame, peer) => {
    if (frame.method !== 'auth') return false;
    peer.refuse(frame, -32001, 'The token is expired.');
    peer.close(4001);
    return true;
  });
  const onState = vi.fn();
  const realtime = client(server, { onState });
  await expect(realtime.ping()).rejects.toMatchObject({ code: 'unauthenticated', message: 'The token is expired.' });
  expect(realtime.state).toBe('closed');
  expect(onState).toHaveBeenLastCalledWith('closed', expect.objectContaining({ message: 'The token is expired.' }));
});

it('asks for a fresh token when one has expired, and goes on watching', async () => {
  const server = await serve((frame, peer) => {
    if (frame.method === 'auth' && frame.params.token === 'old' && peer.number > 1) {
      peer.refuse(frame, -32001);
      return true;
    }
    if (frame.method !== 'planner.watch') return;
    peer.reply(frame, { subscription: frame.params.subscription, output: 1 });
    peer.notify('planner.output', output(frame, peer.number === 1 ? 1 : 2));
    if (peer.number === 1) setTimeout(() => peer.close(4001), 5);
    return;
  });
  const tokens = ['old', 'new'];
  const got: Output[] = [];
  const realtime = client(server, { token: () => tokens.shift() ?? 'none' });
  realtime.watch(session, { onOutput: (each) => got.push(each) }, { from_output: 0 });
  await vi.waitFor(() => expect(got.map((each) => each.output)).toEqual([1, 2]));
  expect(server.frames.filter((frame) => frame.method === 'auth').at(-1)!.params).toEqual({ token: 'new' });
});

it('refreshes its token on the open connection and keeps the new one', async () => {
  const server = await serve((frame, peer) => {
    if (frame.method !== 'auth.refresh') return;
    peer.reply(frame, { subject: 'ada', expires_at: '2031-01-01T00:00:00.000Z' });
    setTimeout(() => peer.drop(), 5);
  });
  const realtime = client(server);
  await expect(realtime.refresh('newer')).resolves.toMatchObject({ subject: 'ada' });
  const again = { peer: 2, method: 'auth', params: { token: 'newer' } };
  await vi.waitFor(() => expect(server.frames.at(-1)).toMatchObject(again));
});

it('connects again as soon as an API that was away is back', async () => {
  const first = await startRpcServer(() => undefined);
  const port = Number(new URL(first.address).port);
  await first.close();
  const realtime = connect({ address: `http://127.0.0.1:${port}`, token: 'good', timings: quick });
  open.push(realtime);
  await expect(realtime.call('system.ping', {}, { timeout: 60 })).rejects.toMatchObject({ code: 'unreachable' });
  const second = await startRpcServer((frame, peer) => {
    if (frame.method === 'system.ping') peer.reply(frame, { time: 'now', subject: 'ada' });
  }, port);
  open.push(second);
  await expect(realtime.ping()).resolves.toMatchObject({ subject: 'ada' });
});

it('unsubscribes a watch that is closed, and delivers nothing more', async () => {
  let peerOfWatch: Peer | undefined;
  let watched: Frame | undefined;
  const server = await serve((frame, peer) => {
    if (frame.method === 'stream.unsubscribe') peer.reply(frame, {});
    if (frame.method !== 'planner.watch') return;
    [watched, peerOfWatch] = [frame, peer];
    peer.reply(frame, { subscription: frame.params.subscription, output: 0 });
  });
  const onOutput = vi.fn();
  const watch = client(server).watch(session, { onOutput });
  await watch.ready;
  watch.close();
  await vi.waitFor(() => expect(server.frames.at(-1)).toMatchObject({ method: 'stream.unsubscribe' }));
  peerOfWatch!.notify('planner.output', output(watched!, 1));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(onOutput).not.toHaveBeenCalled();
  expect(server.frames.at(-1)!.params).toEqual({ subscription: watched!.params.subscription });
});

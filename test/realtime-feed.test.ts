// The feed's bounds: how much may wait for a reader, and for how long (spec: planner 11).

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Feed, type Source } from '../api/realtime/feed.ts';

interface Row {
  topic: string;
  number: number;
}

/** A log of one topic whose rows are numbered from 1. */
function source(rows: Row[], delay = (): Promise<void> => Promise.resolve()): Source<Row> {
  return {
    async read(wanted, limit) {
      const read = wanted.flatMap(({ topic, after }) =>
        rows.filter((row) => row.topic === topic && row.number > after).slice(0, limit),
      );
      await delay();
      return read;
    },
    topicOf: (row) => row.topic,
    numberOf: (row) => row.number,
    whole: async () => true,
  };
}

const log = (count: number): Row[] => Array.from({ length: count }, (_, i) => ({ topic: 't', number: i + 1 }));

function reader() {
  const got: number[] = [];
  const state = { got, buffered: 0, ended: false };
  return {
    state,
    target: {
      deliver: (row: Row) => void got.push(row.number),
      buffered: () => state.buffered,
      lagging: () => void (state.ended = true),
    },
  };
}

test('a replay waits while the reader\'s buffer is full, and goes on when it has drained', async () => {
  const feed = new Feed(source(log(1_000)), { bufferBytes: 4_000, pageRows: 100 });
  const { state, target } = reader();
  const deliver = target.deliver;
  feed.subscribe('t', 0, { ...target, deliver: (row) => (deliver(row), (state.buffered += 100)) });
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(state.got.length).toBeLessThan(20);
  const drain = setInterval(() => (state.buffered = 0), 5);
  await expect.poll(() => state.got.length, { timeout: 10_000 }).toBe(1_000);
  clearInterval(drain);
  expect(state.got).toEqual(log(1_000).map((row) => row.number));
  expect(state.ended).toBe(false);
  await feed.close();
});

test('a replay whose reader takes nothing ends with lagging after the patience', async () => {
  const feed = new Feed(source(log(10)), { bufferBytes: 4_000, patienceMs: 50 });
  const { state, target } = reader();
  state.buffered = 2_000;
  feed.subscribe('t', 0, target);
  await expect.poll(() => state.ended).toBe(true);
  expect(state.got).toEqual([]);
  expect([...feed.topics()]).toEqual([]);
  await feed.close();
});

test('a paused replay neither holds up nor is fed by what others get', async () => {
  const rows = log(50);
  const feed = new Feed(source(rows), { bufferBytes: 4_000 });
  const stuck = reader();
  const quick = reader();
  stuck.state.buffered = 2_000;
  feed.subscribe('t', 0, stuck.target);
  feed.subscribe('t', 0, quick.target);
  await expect.poll(() => quick.state.got.length).toBe(50);
  rows.push({ topic: 't', number: 51 });
  feed.touch(['t']);
  await expect.poll(() => quick.state.got.at(-1)).toBe(51);
  expect(stuck.state.got).toEqual([]);
  stuck.state.buffered = 0;
  await expect.poll(() => stuck.state.got.length).toBe(51);
  await feed.close();
});

test('a reading that fails is repeated until it succeeds', async () => {
  let failures = 2;
  const real = source(log(5));
  const feed = new Feed<Row>({
    ...real,
    read: (wanted, limit) => (failures-- > 0 ? Promise.reject(new Error('away')) : real.read(wanted, limit)),
  });
  const { state, target } = reader();
  feed.subscribe('t', 0, target);
  await expect.poll(() => state.got, { timeout: 5_000 }).toEqual([1, 2, 3, 4, 5]);
  await feed.close();
});

test('however writes, subscriptions and slow readings interleave, a reader gets what follows its number', async () => {
  const step = fc.oneof(
    fc.record({ act: fc.constant('write' as const), count: fc.integer({ min: 1, max: 7 }) }),
    fc.record({ act: fc.constant('subscribe' as const), back: fc.integer({ min: 0, max: 30 }) }),
    fc.record({ act: fc.constant('end' as const), nth: fc.nat(5) }),
    fc.record({ act: fc.constant('wait' as const), ticks: fc.integer({ min: 1, max: 3 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const rows: Row[] = [];
      const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
      const feed = new Feed(source(rows, tick), { pageRows: 3 });
      const open: { from: number; got: number[]; end(): void }[] = [];
      for (const one of steps) {
        if (one.act === 'write') {
          for (let i = 0; i < one.count; i++) rows.push({ topic: 't', number: rows.length + 1 });
          feed.touch(['t']);
        } else if (one.act === 'subscribe') {
          const from = Math.max(0, rows.length - one.back);
          const { state, target } = reader();
          open.push({ from, got: state.got, end: feed.subscribe('t', from, target) });
        } else if (one.act === 'end') {
          const [ended] = open.splice(one.nth, 1);
          ended?.end();
          if (ended) expect(ended.got).toEqual(ended.got.map((_, i) => ended.from + 1 + i));
        } else {
          for (let i = 0; i < one.ticks; i++) await tick();
        }
      }
      const expected = open.map(({ from }) => rows.slice(from).map((row) => row.number));
      for (let i = 0; i < 400 && open.some(({ got }, n) => got.length < expected[n]!.length); i++) await tick();
      expect(open.map(({ got }) => got)).toEqual(expected);
      await feed.close();
    }),
    { numRuns: 200 },
  );
});

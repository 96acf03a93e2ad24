// Notifications between processes: packed, batched, heard again after a lost connection, and missed when
// they don't arrive.

import fc from 'fast-check';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../store/database.ts';
import { listen, type Listener } from '../store/listener.ts';
import { Notifier, pack, postgresChannel, unpack, type Note } from '../store/notifier.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';
import { until } from './support/planner.ts';
import { startProxy, type Proxy } from './support/proxy.ts';

let home: TestDatabase;
const open: (() => Promise<void>)[] = [];
beforeAll(async () => {
  home = await createTestDatabase();
});
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});
afterAll(() => home.drop());

const sleep = (ms: number): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, ms));

async function listener(url = home.url): Promise<{ listener: Listener; heard: Note[] }> {
  const listener = await listen(url);
  open.push(() => listener.close());
  const heard: Note[] = [];
  listener.on('outputs', (note) => heard.push(note));
  return { listener, heard };
}

async function proxied(): Promise<{ proxy: Proxy; url: string }> {
  const url = new URL(home.url);
  const proxy = await startProxy(Number(url.port));
  open.push(() => proxy.close());
  url.port = String(proxy.port);
  return { proxy, url: url.href };
}

/** Connections of listeners to the test's database. */
async function listeners(): Promise<number> {
  const rows = await home.database.query(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'planner-listener'`,
  );
  return rows.length;
}

test('notes are packed below the limit of a payload, and none is lost or changed', () => {
  const note = fc.record({
    channel: fc.constantFrom('outputs' as const, 'events' as const, 'turns' as const),
    id: fc.oneof(fc.uuid(), fc.uuid().map((id) => `project:${id}`)),
    number: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(note, { maxLength: 600 }), (notes) => {
      const payloads = pack(notes);
      expect(payloads.every((payload) => payload !== '' && Buffer.byteLength(payload) < 8_000)).toBe(true);
      expect(payloads.flatMap(unpack)).toEqual(notes);
    }),
    { numRuns: 50 },
  );
});

test('what is added within 10 ms leaves in one statement, the newest number of each id', async () => {
  const { heard } = await listener();
  let statements = 0;
  const pool = { query: (...args: Parameters<pg.Pool['query']>) => (statements++, home.database.pool.query(...args)) };
  const notifier = new Notifier(pool as unknown as pg.Pool);
  await notifier.flush();
  notifier.add({ channel: 'outputs', id: 'warm', number: 1 });
  await until('the first', async () => heard.length === 1);
  for (let number = 1; number <= 500; number++) {
    notifier.add({ channel: 'outputs', id: `s${number % 5}`, number });
    notifier.add({ channel: 'outputs', id: 'older', number: 500 - number });
  }
  await until('the rest', async () => heard.length === 7);
  expect(statements).toBeLessThanOrEqual(3);
  const newest = new Map(heard.map((note) => [note.id, note.number]));
  expect(newest.get('s0')).toBe(500);
  expect(newest.get('s4')).toBe(499);
  expect(newest.get('older')).toBe(499);
});

test('hundreds of ids arrive, in as many payloads as they need', async () => {
  const { heard } = await listener();
  const ids = Array.from({ length: 700 }, (_, index) => `project:${crypto.randomUUID()}-${index}`);
  home.database.notifier.add(...ids.map((id) => ({ channel: 'outputs' as const, id, number: 1 })));
  await until('all of them', async () => heard.length === ids.length);
  expect(heard.map((note) => note.id)).toEqual(ids);
});

test('while a notification hangs, what is added is kept once an id and leaves together afterwards', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const sent: string[][] = [];
  const query = async (_: string, [, payloads]: [string, string[]]): Promise<void> => {
    sent.push(payloads);
    await promise;
  };
  const notifier = new Notifier({ query } as unknown as pg.Pool);
  notifier.add({ channel: 'outputs', id: 'a', number: 1 });
  await until('the first', async () => sent.length === 1);
  for (let number = 2; number <= 20; number++) {
    notifier.add({ channel: 'outputs', id: 'a', number });
    await sleep(11);
  }
  expect(sent.length).toBe(1);
  resolve();
  await until('the second', async () => sent.length === 2);
  expect(sent[1]).toEqual(['outputs a 20\n']);
  await notifier.close();
});

test('a failed notification ends nothing, and the next one is sent', async () => {
  const { heard } = await listener();
  let failures = 0;
  const query = (...args: Parameters<pg.Pool['query']>): unknown =>
    failures++ === 0 ? Promise.reject(new Error('Connection terminated')) : home.database.pool.query(...args);
  const notifier = new Notifier({ query } as unknown as pg.Pool);
  notifier.add({ channel: 'outputs', id: 'lost', number: 1 });
  await sleep(40);
  notifier.add({ channel: 'outputs', id: 'next', number: 1 });
  await until('the next', async () => heard.length > 0);
  expect(heard.map((note) => note.id)).toEqual(['next']);
});

test('what was added is sent before the notifier closes', async () => {
  const { heard } = await listener();
  const database = openDatabase(home.url);
  database.notifier.add({ channel: 'outputs', id: 'last', number: 1 });
  await database.close();
  await until('the last', async () => heard.length === 1);
});

test('spec: orchestration: a listener whose connection breaks hears again, and reads what it missed', async () => {
  const { proxy, url } = await proxied();
  const { listener: broken, heard } = await listener(url);
  let connected = 0;
  broken.onConnect(() => connected++);
  for (let round = 1; round <= 3; round++) {
    proxy.cut();
    await until('the next connection', async () => connected === round);
    home.database.notifier.add({ channel: 'outputs', id: `after cut ${round}`.replaceAll(' ', '-'), number: 1 });
    await until('the note', async () => heard.length === round);
  }
});

test('a listener that is closed while it connects again leaves no connection behind', async () => {
  const before = await listeners();
  const { proxy, url } = await proxied();
  const listener = await listen(url);
  proxy.stall();
  proxy.cut();
  await sleep(150);
  await listener.close();
  proxy.resume();
  await sleep(500);
  expect(await listeners()).toBe(before);
});

test('a listener closes at once although its connection is stalled', async () => {
  const { proxy, url } = await proxied();
  const listener = await listen(url);
  proxy.stall();
  const begun = Date.now();
  await listener.close();
  expect(Date.now() - begun).toBeLessThan(2_000);
});

test('the self-test succeeds on a direct path', async () => {
  const { listener: direct } = await listener();
  expect(await direct.selfTest(home.database.pool)).toBe(true);
});

test('the self-test fails through a path that loses notifications', async () => {
  const other = await createTestDatabase();
  open.push(() => other.drop());
  const { listener: deaf } = await listener();
  expect(await deaf.selfTest(other.database.pool, 300)).toBe(false);
});

test('the self-test fails where a pooler took LISTEN away', async () => {
  const { listener: deaf } = await listener();
  const before = await deaf.selfTest(home.database.pool);
  // As a transaction pooler does: the session that said LISTEN is another one by the time of the notification.
  await home.database.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'planner-listener'`,
  );
  expect([before, await deaf.selfTest(home.database.pool, 30)]).toEqual([true, false]);
});

test('notes of other programs on the channel are harmless', async () => {
  const { heard } = await listener();
  await home.database.query('SELECT pg_notify($1, $2)', [postgresChannel, '\n\nnonsense\noutputs']);
  home.database.notifier.add({ channel: 'outputs', id: 'fine', number: 7 });
  await until('the note', async () => heard.some((note) => note.id === 'fine'));
  expect(heard.at(-1)).toEqual({ channel: 'outputs', id: 'fine', number: 7 });
});

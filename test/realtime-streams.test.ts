// Event streams of projects and items (spec: planner 11, 12).

import { afterAll, beforeAll, expect, test } from 'vitest';
import { streamEvent } from '../api/contracts/realtime.ts';
import { systemActor } from '../domain/actor.ts';
import type { NewEvent } from '../domain/event.ts';
import { transaction } from '../store/database.ts';
import { addDependency, removeDependency } from '../store/dependencies.ts';
import { createItem, updateItem } from '../store/items.ts';
import { startTestApi, type TestApi, type TestSocket } from './support/api.ts';

let t: TestApi;
let socket: TestSocket;
beforeAll(async () => {
  t = await startTestApi();
  socket = await t.socket({ token: t.tokens.viewer });
});
afterAll(() => t.close());

const engineer = { subject: 'engineer', kind: 'human' } as const;
const create = (title: string, project = 'WEB') =>
  transaction(t.database, (tx) => createItem(tx, engineer, project, { kind: 'ticket', title }));
const newest = async (): Promise<number> => {
  const scope = `project:${t.web.id}`;
  const [row] = await t.database.query<{ seq: number }>('SELECT seq FROM event_counters WHERE scope = $1', [scope]);
  return row!.seq;
};

/** An event that touches nothing else. */
const eventOf = (entity_id: string): NewEvent => ({
  type: 'planner.session_updated',
  organization_id: t.web.organization_id,
  project_id: t.web.id,
  entity_type: 'planner_session',
  entity_id,
  actor: systemActor,
});

/** Many in one transaction. */
const emit = (count: number) =>
  transaction(t.database, async (tx) => {
    for (let i = 0; i < count; i++) tx.emit(eventOf('x'));
  });

const seqs = (subscription: string): number[] =>
  socket.notes('stream.event', subscription).map((params) => params['seq'] as number);

test('spec: planner 11.8: a project\'s events arrive live, after the newest seq that the answer names', async () => {
  const { result } = await socket.call('stream.subscribe', { subscription: 'live', stream: 'project:WEB' });
  const before = await newest();
  expect(result).toEqual({ subscription: 'live', seq: before });
  const item = await create('Live');
  const [params] = await socket.until(() => {
    const notes = socket.notes('stream.event', 'live');
    return notes.length > 0 ? notes : undefined;
  });
  expect(streamEvent.parse(params)).toMatchObject({
    subscription: 'live',
    seq: before + 1,
    type: 'item.created',
    entity_type: 'item',
    entity_key: item.key,
    actor: { kind: 'human', subject: 'engineer' },
  });
});

test('spec: planner 11.8, 11.15: an item\'s stream has that item\'s events only, replayed from a seq, then live', async () => {
  const item = await create('Mine');
  await create('Other');
  await socket.call('stream.subscribe', { subscription: 'item', stream: `item:${item.key}`, from_seq: 0 });
  await transaction(t.database, (tx) => updateItem(tx, engineer, item.key, { version: 1, title: 'Mine!' }));
  await create('Another');
  await socket.until(() => (socket.notes('stream.event', 'item').length >= 2 ? true : undefined));
  const notes = socket.notes('stream.event', 'item').map((params) => streamEvent.parse(params));
  expect(notes.map((note) => [note.type, note.entity_key])).toEqual([
    ['item.created', item.key],
    ['item.updated', item.key],
  ]);
});

test('spec: planner 11.8: an item\'s stream has its edges, whichever end it is', async () => {
  const [one, two] = [await create('One'), await create('Two')];
  await socket.call('stream.subscribe', { subscription: 'edges', stream: `item:${two.key}` });
  const add = (from: string, type: string, to: string) =>
    transaction(t.database, (tx) => addDependency(tx, engineer, from, { type, to }));
  const blocks = await add(one.key, 'blocks', two.key);
  await add(two.key, 'relates', one.key);
  await transaction(t.database, (tx) => removeDependency(tx, engineer, blocks.id));
  await socket.until(() => (socket.notes('stream.event', 'edges').length >= 3 ? true : undefined));
  const notes = socket.notes('stream.event', 'edges').map((params) => streamEvent.parse(params));
  expect(notes.map(({ type, payload }) => [type, payload?.['type']])).toEqual([
    ['dependency.added', 'blocks'],
    ['dependency.added', 'relates'],
    ['dependency.removed', 'blocks'],
  ]);
  const { result } = await socket.call('stream.subscribe', { subscription: 'again', stream: `item:${two.key}`, from_seq: 0 });
  await socket.until(() => (socket.notes('stream.event', 'again').length >= 4 ? true : undefined));
  expect(socket.notes('stream.event', 'again').at(-1)!['seq']).toBe((result as { seq: number }).seq);
});

test('spec: planner 11.15, 12.1, 12.4: whoever follows from any seq while twenty writers race sees a dense order', async () => {
  const from = await newest();
  const writers = Array.from({ length: 20 }, async (_, n) => {
    for (let i = 0; i < 5; i++) await emit(1 + ((n + i) % 3));
  });
  const names = await Promise.all(
    [0, 5, 20, 40].map(async (wait, i) => {
      await new Promise((resolve) => setTimeout(resolve, wait));
      await socket.call('stream.subscribe', { subscription: `race${i}`, stream: 'project:WEB', from_seq: from });
      return `race${i}`;
    }),
  );
  await Promise.all(writers);
  const last = await newest();
  for (const name of names) {
    await socket.until(() => (seqs(name).at(-1) === last ? true : undefined));
    expect(seqs(name)).toEqual(Array.from({ length: last - from }, (_, i) => from + 1 + i));
  }
});

test('spec: planner 12.4: of two transactions the one that commits first is first, whichever began first', async () => {
  const from = await newest();
  await socket.call('stream.subscribe', { subscription: 'reverse', stream: 'project:WEB', from_seq: from });
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  let began = (): void => undefined;
  const begun = new Promise<void>((resolve) => (began = resolve));
  const first = transaction(t.database, async (tx) => {
    await tx.query(`SET LOCAL idle_in_transaction_session_timeout = '60s'`);
    await tx.query('SELECT pg_current_xact_id()');
    tx.emit(eventOf('began first'));
    began();
    await held;
  });
  await begun;
  await transaction(t.database, async (tx) => tx.emit(eventOf('committed first')));
  await socket.until(() => (seqs('reverse').length === 1 ? true : undefined));
  release();
  await first;
  await socket.until(() => (seqs('reverse').length === 2 ? true : undefined));
  expect(socket.notes('stream.event', 'reverse').map((note) => [note['seq'], note['entity_id']])).toEqual([
    [from + 1, 'committed first'],
    [from + 2, 'began first'],
  ]);
});

test('spec: planner 12.4: while one that has its number still commits, nobody is shown a later one', async () => {
  await t.database.query(`
    CREATE FUNCTION commit_late() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock(12); RETURN NULL; END $$`);
  await t.database.query(`
    CREATE CONSTRAINT TRIGGER commit_late AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.entity_id = 'late') EXECUTE FUNCTION commit_late()`);
  const from = await newest();
  await socket.call('stream.subscribe', { subscription: 'late', stream: 'project:WEB', from_seq: from });
  const waiting = async (): Promise<number> => {
    const [row] = await t.database.query<{ count: number }>(
      `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return row!.count;
  };
  const lock = await t.database.pool.connect();
  try {
    await lock.query('SELECT pg_advisory_lock(12)');
    const late = transaction(t.database, async (tx) => tx.emit(eventOf('late')));
    await expect.poll(waiting).toBe(1);
    const after = transaction(t.database, async (tx) => tx.emit(eventOf('after')));
    await expect.poll(waiting).toBe(2);
    expect(seqs('late')).toEqual([]);
    await lock.query('SELECT pg_advisory_unlock(12)');
    await Promise.all([late, after]);
  } finally {
    lock.release();
    await t.database.query('DROP TRIGGER commit_late ON events');
  }
  await socket.until(() => (seqs('late').length === 2 ? true : undefined));
  expect(socket.notes('stream.event', 'late').map((note) => [note['seq'], note['entity_id']])).toEqual([
    [from + 1, 'late'],
    [from + 2, 'after'],
  ]);
});

test('spec: planner 11.16: more than 1,000 events to replay, or a seq ahead: -32010 with the newest', async () => {
  const from = await newest();
  await emit(1_001);
  const last = await newest();
  const subscribe = (from_seq: number) =>
    socket.call('stream.subscribe', { subscription: 'long', stream: 'project:WEB', from_seq });
  expect((await subscribe(from)).error).toMatchObject({ code: -32010, data: { output: last } });
  expect((await subscribe(last + 1)).error).toMatchObject({ code: -32010, data: { output: last } });
  expect((await subscribe(from + 1)).result).toMatchObject({ seq: last });
  await socket.until(() => (seqs('long').at(-1) === last ? true : undefined));
  expect(seqs('long')).toHaveLength(1_000);
});

test('hidden projects and items, unknown ones and other streams are refused', async () => {
  const code = async (stream: string) =>
    (await socket.call('stream.subscribe', { subscription: 'no', stream })).error?.code;
  expect(await code('project:OPS')).toBe(-32004);
  expect(await code('project:NOPE')).toBe(-32004);
  expect(await code('item:WEB-9999')).toBe(-32004);
  expect(await code('item:\0')).toBe(-32004);
  expect(await code('session:x')).toBe(-32602);
  expect(await code('project:')).toBe(-32602);
});

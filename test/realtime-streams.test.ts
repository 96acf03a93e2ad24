// Event streams of projects and items (spec: planner 11, 12).

import { afterAll, beforeAll, expect, test } from 'vitest';
import { streamEvent } from '../api/contracts/realtime.ts';
import { systemActor } from '../domain/actor.ts';
import { transaction } from '../store/database.ts';
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

/** Events that touch nothing else, many a transaction. */
const emit = (count: number) =>
  transaction(t.database, async (tx) => {
    for (let i = 0; i < count; i++) {
      tx.emit({
        type: 'planner.session_updated',
        organization_id: t.web.organization_id,
        project_id: t.web.id,
        entity_type: 'planner_session',
        entity_id: 'x',
        actor: systemActor,
      });
    }
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

// Sessions and sends without any worker: what is refused, what is repeated, who may do what.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Principal } from '../domain/actor.ts';
import { authorizeWatch, cancelTurn, createSession, listSessions, listTurns, readOutputs, readSession, sendMessage, updateSession } from '../planner/conversation.ts';
import { endFromOutside, pruneOutputs } from '../store/turns.ts';
import { transaction } from '../store/database.ts';
import { createTracker, type Tracker } from './support/tracker.ts';

let tracker: Tracker;
let session: string;
let human: Principal;
beforeAll(async () => {
  tracker = await createTracker();
  human = tracker.engineer;
});
afterAll(() => tracker.drop());
beforeEach(async () => {
  session = (await transaction(tracker.database, (tx) => createSession(tx, human, { project: 'WEB' }))).id;
});
const send = (text: string, message_id?: string, principal = human): ReturnType<typeof sendMessage> =>
  sendMessage(tracker.database, principal, { session, text, message_id });
const end = (turn: string): Promise<unknown> =>
  transaction(tracker.database, (tx) => endFromOutside(tx, turn, 'error', 'ended by the test'));

describe('spec: planner 7: send', () => {
  test('spec: planner 7.2, 7.6: commits the message, its turn, one event and one output', async () => {
    const { seq, turn, fresh } = await send('Plan it.');
    expect({ seq, fresh }).toEqual({ seq: 1, fresh: true });
    const view = await readSession(tracker.database, human, session);
    expect(view).toMatchObject({ running: turn, output: 1, messages: [{ seq: 1, role: 'user', author: human.subject }] });
    expect(await readOutputs(tracker.database, [{ session, after: 0 }], 10)).toMatchObject([
      { output: 1, turn, body: { type: 'message', seq: 1 } },
    ]);
    const events = await tracker.database.query(
      `SELECT type, payload FROM events WHERE entity_id = $1 AND type = 'planner.message'`,
      [session],
    );
    expect(events).toMatchObject([{ payload: { role: 'user', seq: 1 } }]);
  });

  test.for([
    ['', 'blank'],
    [' \n\t', 'blank'],
    ['\u200b\u2060', 'blank'],
    ['x'.repeat(100_001), '100001'],
    ['😀'.repeat(100_001), '100001'],
  ])('spec: planner 7.4: blank and over-long text is refused: %#', async ([text, why]) => {
    await expect(send(text!)).rejects.toMatchObject({ code: 'invalid_argument', message: expect.stringContaining(why!) });
    expect((await readSession(tracker.database, human, session)).messages).toEqual([]);
  });

  test('spec: planner 7.4: 100,000 characters are accepted, counted as code points', async () => {
    expect((await send('😀'.repeat(100_000))).seq).toBe(1);
  });

  test('spec: planner 7.5: a second send during a turn is a conflict, and nothing is stored', async () => {
    await send('one');
    await expect(send('two')).rejects.toMatchObject({ code: 'conflict' });
    expect((await readSession(tracker.database, human, session)).messages.length).toBe(1);
  });

  test('spec: planner 7.5: of ten racing sends exactly one wins', async () => {
    const all = await Promise.allSettled(Array.from({ length: 10 }, (_, n) => send(`racing ${n}`)));
    const lost = all.filter((one) => one.status === 'rejected');
    expect(lost.length).toBe(9);
    expect(lost.every((one) => (one.reason as { code: string }).code === 'conflict')).toBe(true);
    expect((await readSession(tracker.database, human, session)).messages.length).toBe(1);
  });

  test('spec: planner 11.9: a repeat of message_id returns the first answer, also while busy and after the end', async () => {
    const first = await send('once', 'm-1');
    expect(await send('once', 'm-1')).toEqual({ ...first, fresh: false });
    await end(first.turn);
    expect(await send('once', 'm-1')).toEqual({ ...first, fresh: false });
    await expect(send('other', 'm-1')).rejects.toMatchObject({ code: 'conflict' });
    expect((await readSession(tracker.database, human, session)).messages.length).toBe(1);
  });

  test('racing repeats of one message_id all get the same turn', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => send('once', 'm-2')));
    expect(new Set(all.map((one) => one.turn)).size).toBe(1);
    expect(all.filter((one) => one.fresh).length).toBe(1);
  });

  test('an unknown session, and one of a project that one may not read, are not found alike', async () => {
    const unknown = sendMessage(tracker.database, human, { session: '01a22ce8-0000-7000-8000-000000000000', text: 'x' });
    await expect(unknown).rejects.toMatchObject({ code: 'not_found' });
    await expect(sendMessage(tracker.database, human, { session: 'nonsense', text: 'x' })).rejects.toMatchObject({ code: 'not_found' });
    await expect(send('x', undefined, tracker.stranger)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('spec: planner 5.12, 5.13: sending needs tracker.write and a human', async () => {
    await expect(send('x', undefined, tracker.viewer)).rejects.toMatchObject({ code: 'forbidden' });
    await expect(send('x', undefined, tracker.approver)).rejects.toMatchObject({ code: 'forbidden' });
    await expect(send('x', undefined, tracker.orchestrator)).rejects.toMatchObject({ code: 'forbidden' });
  });

  test('spec: planner 7.1: an archived session takes no messages until it is taken out again', async () => {
    await updateSession(tracker.database, human, session, { archived: true });
    await expect(send('x')).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('archive') });
    await updateSession(tracker.database, human, session, { archived: false });
    expect((await send('x')).seq).toBe(1);
  });
});

describe('spec: planner 7: cancel', () => {
  test('a turn that has not begun ends right there', async () => {
    const { turn } = await send('x');
    await cancelTurn(tracker.database, human, { session });
    const { items } = await listTurns(tracker.database, human, session, { limit: 10 });
    expect(items).toMatchObject([{ id: turn, status: 'ended', reason: 'cancelled' }]);
    expect((await readOutputs(tracker.database, [{ session, after: 1 }], 10)).map((one) => one.body)).toEqual([
      { type: 'done', text: 'cancelled' },
    ]);
  });

  test('spec: planner 7.13, 11.10: an idle session is left alone; `turn` guards the next turn', async () => {
    expect(await cancelTurn(tracker.database, human, { session })).toEqual({});
    const first = await send('one');
    await end(first.turn);
    const second = await send('two');
    expect(await cancelTurn(tracker.database, human, { session, turn: first.turn })).toEqual({});
    const { items } = await listTurns(tracker.database, human, session, { limit: 10 });
    expect(items[0]).toMatchObject({ id: second.turn, status: 'pending' });
  });

  test('spec: planner 5.12: a viewer may not', async () => {
    await send('x');
    await expect(cancelTurn(tracker.database, tracker.viewer, { session })).rejects.toMatchObject({ code: 'forbidden' });
  });
});

test('an id is the same in capital letters: the stop counts, and the event names the session', async () => {
  const { turn } = await send('x');
  const written = session.toUpperCase();
  expect(await cancelTurn(tracker.database, human, { session: written, turn: turn.toUpperCase() })).toEqual({ turn });
  await updateSession(tracker.database, human, written, { title: 'Renamed' });
  const [event] = await tracker.database.query(
    `SELECT entity_id FROM events WHERE type = 'planner.session_updated' ORDER BY seq DESC LIMIT 1`,
  );
  expect(event).toEqual({ entity_id: session });
});

describe('sessions', () => {
  test('take their title from the first message, unless they have one', async () => {
    await send('# Launch the newsletter\nwith care');
    expect(await readSession(tracker.database, human, session)).toMatchObject({ title: 'Launch the newsletter' });
    const named = await transaction(tracker.database, (tx) => createSession(tx, human, { project: 'WEB', title: 'Mine' }));
    await sendMessage(tracker.database, human, { session: named.id, text: 'hello' });
    expect(await readSession(tracker.database, human, named.id)).toMatchObject({ title: 'Mine' });
  });

  test.for(['', ' ', 'x'.repeat(201)])('spec: planner 7.1: a title of %j is refused', async (title) => {
    await expect(transaction(tracker.database, (tx) => createSession(tx, human, { project: 'WEB', title }))).rejects.toMatchObject({ code: 'invalid_argument' });
    await expect(updateSession(tracker.database, human, session, { title })).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  test('are listed newest first, page by page', async () => {
    for (let n = 0; n < 3; n++) await transaction(tracker.database, (tx) => createSession(tx, human, { project: 'WEB' }));
    const first = await listSessions(tracker.database, human, 'WEB', { limit: 2 });
    expect(first.next).toBe(first.items[1]!.id);
    const second = await listSessions(tracker.database, human, 'WEB', { limit: 2, after: first.next });
    expect(second.items[0]!.id < first.items[1]!.id).toBe(true);
  });

  test('spec: planner 10.8: are read whole, or by a window', async () => {
    for (const text of ['one', 'two', 'three']) await end((await send(text)).turn);
    const whole = await readSession(tracker.database, human, session);
    expect(whole.messages.map((message) => message.seq)).toEqual([1, 2, 3]);
    const window = await readSession(tracker.database, human, session, { after: 1, limit: 1 });
    expect(window).toMatchObject({ next: 2 });
    expect(window.messages.map((message) => message.seq)).toEqual([2]);
  });

  test('spec: planner 5.12: a viewer reads them, a stranger finds none', async () => {
    expect(await readSession(tracker.database, tracker.viewer, session)).toMatchObject({ id: session });
    await expect(readSession(tracker.database, tracker.stranger, session)).rejects.toMatchObject({ code: 'not_found' });
    await expect(listSessions(tracker.database, tracker.stranger, 'WEB', { limit: 10 })).rejects.toMatchObject({ code: 'not_found' });
  });
});

test('spec: orchestration: outputs are kept until an hour after the turn, then pruned, and the counter says so', async () => {
  const { turn } = await send('old');
  await end(turn);
  const second = await send('new');
  const prune = (): Promise<number> => transaction(tracker.database, (tx) => pruneOutputs(tx));
  await prune();
  expect((await readOutputs(tracker.database, [{ session, after: 0 }], 10)).length).toBe(4);
  await tracker.database.query(`UPDATE planner_turns SET ended_at = now() - interval '61 minutes' WHERE id = $1`, [turn]);
  expect(await prune()).toBe(3);
  expect(await readOutputs(tracker.database, [{ session, after: 0 }], 10)).toMatchObject([{ output: 4, turn: second.turn }]);
  expect(await authorizeWatch(tracker.database, human, session)).toMatchObject({ pruned: 3, output: 4, from: 3 });
  expect(await prune()).toBe(0);
});

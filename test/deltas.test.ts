// Streamed text on its way to watchers, on a real database: order, fences, one statement, failed writes.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemActor, type Principal } from '../domain/actor.ts';
import type { StoredOutput } from '../domain/output.ts';
import { createSession, readOutputs, sendMessage } from '../planner/conversation.ts';
import { DeltaWriter, type DeltaTarget } from '../planner/deltas.ts';
import { transaction, type Database } from '../store/database.ts';
import { createOrganization, createProject, projectByKey } from '../store/projects.ts';
import { bindRole } from '../store/role-bindings.ts';
import { createSubject } from '../store/tokens.ts';
import { endFromOutside, openCall, takeFence } from '../store/turns.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';
import { until } from './support/planner.ts';

const ada: Principal = { subject: 'ada', kind: 'human' };
let home: TestDatabase;
let database: Database;
let writer: DeltaWriter;

beforeAll(async () => {
  home = await createTestDatabase();
  database = home.database;
  await transaction(database, async (tx) => {
    await createSubject(tx, { subject: 'ada', kind: 'human', name: 'Ada' });
    const organization = await createOrganization(tx, systemActor, { key: 'acme', name: 'Acme' });
    await createProject(tx, systemActor, { organization_id: organization.id, key: 'WEB', name: 'Web shop' });
    const project = await projectByKey(tx, 'WEB');
    await bindRole(tx, systemActor, { subject: 'ada', role: 'engineer', project_id: project.id });
  });
});
afterAll(() => home.drop());
beforeEach(() => {
  writer = new DeltaWriter(database);
});

/** A session whose turn is in a model call, and where its text goes. */
async function calling(): Promise<DeltaTarget> {
  const session = (await transaction(database, (tx) => createSession(tx, ada, { project: 'WEB' }))).id;
  const { turn } = await sendMessage(database, ada, { session, text: 'go' });
  return { session, turn, ...(await takeOver(turn, 1)) };
}

async function takeOver(turn: string, scheduledMs: number): Promise<{ fence: number; attempt: number }> {
  return transaction(database, async (tx) => {
    const row = await takeFence(tx, turn, { scheduledMs, round: 0, rank: 0, attempt: 1, runId: 'by-hand' });
    return { fence: row.fence, attempt: await openCall(tx, row, 0) };
  });
}

const outputs = (session: string): Promise<StoredOutput[]> => readOutputs(database, [{ session, after: 0 }], 10_000);

/** The text outputs of a session: `|` where one ends, `=` before one that replaces. */
async function texts(session: string): Promise<string> {
  return (await outputs(session))
    .flatMap(({ body }) => (body.type === 'text' ? [`${body.replace ? '=' : ''}${body.text}`] : []))
    .join('|');
}

const written = (session: string, whole: string): Promise<unknown> =>
  until(`the text ${whole}`, async () => (await texts(session)).replaceAll('|', '').endsWith(whole), 5_000);
const never = (): void => expect.unreachable('the stream was lost');
const sleep = (ms: number): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, ms));

describe('order', () => {
  test('text reaches the table whole, in order, under dense numbers; the rest is handed to the caller', async () => {
    const target = await calling();
    const stream = writer.open(target, never);
    let whole = '';
    for (let n = 0; n < 120; n++) {
      stream.push(`${n} `);
      whole += `${n} `;
      if (n % 3 === 0) await sleep(4);
    }
    const rest = await stream.finish();
    const stored = await texts(target.session);
    expect(stored.replaceAll('|', '') + (rest?.type === 'text' ? rest.text : '')).toBe(whole);
    expect(stream.text).toBe(whole);
    const numbers = (await outputs(target.session)).map((output) => output.output);
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
    expect(stored.split('|').length).toBeLessThan(60);
    await sleep(100);
    expect(await texts(target.session)).toBe(stored);
  });

  test('a stream without text leaves nothing', async () => {
    const target = await calling();
    expect(await writer.open(target, never).finish()).toBeUndefined();
    expect(await texts(target.session)).toBe('');
  });
});

describe('one statement', () => {
  /** The writer, with each of its statements seen. */
  function watched(real: Database): { writer: DeltaWriter; statements: { at: number; streams: number }[] } {
    const statements: { at: number; streams: number }[] = [];
    const seen: Database = {
      ...real,
      query: (text, values) => {
        statements.push({ at: performance.now(), streams: (values?.[0] as unknown[]).length });
        return real.query(text, values);
      },
    };
    return { writer: new DeltaWriter(seen), statements };
  }

  test('spec: orchestration: the first delta of a call goes out at once, the next ones together', async () => {
    const target = await calling();
    const { writer, statements } = watched(database);
    const stream = writer.open(target, never);
    const begun = performance.now();
    stream.push('a');
    await until('the first statement', async () => statements.length > 0);
    expect(statements[0]!.at - begun).toBeLessThan(20);
    await written(target.session, 'a');
    for (const text of 'bcde') stream.push(text);
    await written(target.session, 'abcde');
    expect(await texts(target.session)).toBe('a|bcde');
    expect(statements[1]!.at - statements[0]!.at).toBeGreaterThan(20);
    await stream.finish();
  });

  test('a turn that somebody holds locked holds up no other; its own text follows', async () => {
    const [one, two] = [await calling(), await calling()];
    const blocker = await database.pool.connect();
    await blocker.query('BEGIN');
    await blocker.query('SELECT 1 FROM planner_turns WHERE id = $1 FOR UPDATE', [one.turn]);
    const streams = [writer.open(one, never), writer.open(two, never)];
    for (const stream of streams) stream.push('begins ');
    await written(two.session, 'begins ');
    for (const stream of streams) stream.push('ends');
    await written(two.session, 'begins ends');
    expect(await texts(one.session)).toBe('');
    await blocker.query('COMMIT');
    blocker.release();
    await written(one.session, 'begins ends');
    expect(await texts(one.session)).toBe('begins ends');
  });

  test('the first delta of a call waits for no interval behind a flush of others', async () => {
    const [one, two] = [await calling(), await calling()];
    const { promise: freed, resolve: free } = Promise.withResolvers<void>();
    const { writer, statements } = watched({
      ...database,
      query: async (text, values) => {
        if (statements.length === 1) await freed;
        return database.query(text, values);
      },
    });
    writer.open(one, never).push('first');
    await sleep(30);
    writer.open(two, never).push('second');
    await sleep(30);
    expect(statements.length).toBe(1);
    const freedAt = performance.now();
    free();
    await written(two.session, 'second');
    expect(statements[1]!.at - freedAt).toBeLessThan(20);
  });

  test('many turns share one', async () => {
    const targets = await Promise.all(Array.from({ length: 40 }, calling));
    const { writer, statements } = watched(database);
    const streams = targets.map((target) => writer.open(target, never));
    streams.forEach((stream, index) => stream.push(`text ${index}`));
    for (const [index, target] of targets.entries()) await written(target.session, `text ${index}`);
    expect(statements.map((statement) => statement.streams)).toEqual([40]);
  });
});

describe('the fence', () => {
  test('an attempt that lost the turn writes nothing more, and is told', async () => {
    const target = await calling();
    let lost = 0;
    const stream = writer.open(target, () => lost++);
    stream.push('mine');
    await written(target.session, 'mine');
    await takeOver(target.turn, 2);
    stream.push(' late');
    await until('the loss', async () => lost > 0);
    expect(await texts(target.session)).toBe('mine');
  });

  test('text of a turn that has ended is not written', async () => {
    const target = await calling();
    let lost = 0;
    const stream = writer.open(target, () => lost++);
    await transaction(database, (tx) => endFromOutside(tx, target.turn, 'cancelled'));
    stream.push('late');
    await until('the loss', async () => lost > 0);
    expect((await outputs(target.session)).at(-1)!.body).toEqual({ type: 'done', text: 'cancelled' });
  });

  test('the fence is read at the flush, also by a flush that waited for the one who raised it', async () => {
    const target = await calling();
    let lost = 0;
    const stream = writer.open(target, () => lost++);
    const other = await database.pool.connect();
    await other.query('BEGIN');
    await other.query('UPDATE planner_turns SET fence = fence + 1 WHERE id = $1', [target.turn]);
    stream.push('late');
    await sleep(60);
    expect(lost).toBe(0);
    await other.query('COMMIT');
    other.release();
    await until('the loss', async () => lost > 0);
    expect(await texts(target.session)).toBe('');
  });

  test('two attempts of one turn in one process: the newer one writes, the older is told, others go on', async () => {
    const old = await calling();
    const bystander = await calling();
    const newer = { ...old, ...(await takeOver(old.turn, 2)) };
    let lost = 0;
    const streams = [writer.open(old, () => lost++), writer.open(newer, never), writer.open(bystander, never)];
    ['old', 'new', 'other'].forEach((text, index) => streams[index]!.push(text));
    await written(newer.session, 'new');
    await written(bystander.session, 'other');
    await until('the loss', async () => lost > 0);
    expect(await texts(old.session)).toBe('new');
    expect(await texts(bystander.session)).toBe('other');
  });
});

describe('failed writes', () => {
  test('a write that took effect although its reply was lost is followed by one that says all again', async () => {
    const target = await calling();
    const bystander = await calling();
    let repliesLost = 0;
    const shaky: Database = {
      ...database,
      query: async (text, values) => {
        const rows = await database.query(text, values);
        if (repliesLost++ === 0) throw new Error('Connection terminated unexpectedly');
        return rows as never;
      },
    };
    const writer = new DeltaWriter(shaky);
    const stream = writer.open(target, never);
    stream.push('one ');
    writer.open(bystander, never).push('else');
    await written(target.session, 'one ');
    stream.push('two');
    await until('the replacement', async () => (await texts(target.session)) === 'one |=one two');
    await until('the same for others', async () => (await texts(bystander.session)) === 'else|=else');
    stream.push(' three');
    await until('the rest', async () => (await texts(target.session)) === 'one |=one two| three');
    expect(await stream.finish()).toBeUndefined();
  });

  test('a stream that ends after a failed write hands all of it to the caller', async () => {
    const target = await calling();
    const broken: Database = { ...database, query: () => Promise.reject(new Error('Connection terminated')) };
    const stream = new DeltaWriter(broken).open(target, never);
    stream.push('all ');
    await sleep(20);
    stream.push('of it');
    expect(await stream.finish()).toEqual({ type: 'text', text: 'all of it', replace: true });
  });
});

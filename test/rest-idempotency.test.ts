// Idempotency-Key: one effect and one answer a key (spec: planner 10), and limits a minute.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { once } from '../store/idempotency.ts';
import { startTestApi, type Answer, type TestApi } from './support/api.ts';

let t: TestApi;
beforeAll(async () => {
  t = await startTestApi();
});
afterAll(() => t.close());

const v1 = '/api/v1';
const createItem = (key: string, title: string, token = t.tokens.engineer): Promise<Answer> =>
  t.rest(token, 'POST', `${v1}/projects/WEB/items`, { kind: 'ticket', title }, { 'idempotency-key': key });

test('spec: planner 10.6: the same request again gets the stored answer; another request under the key is a conflict', async () => {
  const first = await createItem('one', 'Once');
  expect(first.status).toBe(201);
  const again = await createItem('one', 'Once');
  expect({ status: again.status, body: again.body }).toEqual({ status: 201, body: first.body });
  expect(await createItem('one', 'Other')).toMatchObject({ status: 409, body: { error: 'conflict' } });
  const other = await createItem('one', 'Once', t.tokens.admin);
  expect(other.body['key']).not.toBe(first.body['key']);
});

test('spec: planner 10.6: twenty at the same time make one item, and all get its answer', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => createItem('race', 'Raced')));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
  expect(new Set(answers.map(({ body }) => body['key'])).size).toBe(1);
  const [count] = await t.database.query<{ count: number }>(`SELECT count(*) FROM items WHERE title = 'Raced'`);
  expect(count).toEqual({ count: 1 });
});

test('a failed request frees its key', async () => {
  expect(await createItem('fails', ' ')).toMatchObject({ status: 400 });
  expect(await createItem('fails', 'Now well')).toMatchObject({ status: 201 });
});

test('spec: planner 10.6: a session is created once, a message is sent once', async () => {
  const headers = { 'idempotency-key': 'session' };
  const sessions = `${v1}/projects/WEB/planner/sessions`;
  const make = () => t.rest(t.tokens.engineer, 'POST', sessions, { title: 'One' }, headers);
  const [a, b] = await Promise.all([make(), make()]);
  expect(a.body['id']).toBe(b.body['id']);
  const path = `${v1}/planner/sessions/${String(a.body['id'])}/messages`;
  const send = () => t.rest(t.tokens.engineer, 'POST', path, { text: 'Hello' }, { 'idempotency-key': 'message' });
  const [first, second] = await Promise.all([send(), send()]);
  expect(first.status).toBe(201);
  expect(second.body).toEqual(first.body);
  // Even when the stored answer is gone, the message's own id keeps it from being sent twice.
  await t.database.query(`DELETE FROM idempotency_keys WHERE key = 'message'`);
  expect((await send()).body).toEqual(first.body);
});

test('a key that is no visible ASCII or too long is refused', async () => {
  expect(await createItem('with space', 'x')).toMatchObject({ status: 400 });
  expect(await createItem('k'.repeat(256), 'x')).toMatchObject({ status: 400 });
});

test('a request that died with its process is taken over; the dead one can no longer answer', async () => {
  const request = { subject: 'engineer', key: 'dead', hash: Buffer.from('hash') };
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => (release = resolve));
  const dead = once(t.database, request, async () => {
    await gate;
    return { status: 201, body: { by: 'dead' } };
  });
  await expect
    .poll(async () => (await t.database.query(`SELECT 1 FROM idempotency_keys WHERE key = 'dead'`)).length)
    .toBe(1);
  const taken = await once(t.database, request, async () => ({ status: 201, body: { by: 'heir' } }), { staleMs: 0 });
  expect(taken.body).toEqual({ by: 'heir' });
  release();
  await expect(dead).rejects.toMatchObject({ code: 'conflict' });
  const repeated = await once(t.database, request, () => Promise.reject(new Error('ran again')));
  expect(repeated.body).toEqual({ by: 'heir' });
});

test('one that is still under way after the wait is a conflict', async () => {
  const request = { subject: 'engineer', key: 'slow', hash: Buffer.from('hash') };
  let release = (): void => undefined;
  const slow = once(t.database, request, async () => {
    await new Promise<void>((resolve) => (release = resolve));
    return { status: 200, body: {} };
  });
  await expect
    .poll(async () => (await t.database.query(`SELECT 1 FROM idempotency_keys WHERE key = 'slow'`)).length)
    .toBe(1);
  const second = once(t.database, request, () => Promise.reject(new Error('ran twice')), { waitMs: 50 });
  await expect(second).rejects.toMatchObject({ code: 'conflict' });
  release();
  await expect(slow).resolves.toMatchObject({ status: 200 });
});

test('past its requests a minute a subject gets 429 with Retry-After; others are served', async () => {
  const limited = await startTestApi({ requestsPerMinute: 3 });
  try {
    const get = (token: string) => limited.rest(token, 'GET', `${v1}/me`);
    for (let i = 0; i < 3; i++) expect(await get(limited.tokens.viewer)).toMatchObject({ status: 200 });
    const refused = await get(limited.tokens.viewer);
    expect(refused).toMatchObject({ status: 429, body: { error: 'rate_limited' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await get(limited.tokens.admin)).toMatchObject({ status: 200 });
  } finally {
    await limited.close();
  }
});

test('past its messages a minute a subject gets 429 or -32029, whichever door it takes; cancelling is served', async () => {
  const limited = await startTestApi({ sendsPerMinute: 1 });
  try {
    const { engineer } = limited.tokens;
    const made = await limited.rest(engineer, 'POST', `${v1}/projects/WEB/planner/sessions`, {});
    const session = String(made.body['id']);
    const path = `${v1}/planner/sessions/${session}`;
    expect(await limited.rest(engineer, 'POST', `${path}/messages`, { text: 'One' })).toMatchObject({ status: 201 });
    const refused = await limited.rest(engineer, 'POST', `${path}/messages`, { text: 'Two' });
    expect(refused).toMatchObject({ status: 429, body: { error: 'rate_limited' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    const socket = await limited.socket({ token: engineer });
    const said = await socket.call('planner.send', { session, text: 'Three' });
    expect(said.error).toMatchObject({ code: -32029, message: expect.stringContaining('Try again in') });
    expect((await socket.call('planner.cancel', { session })).result).toEqual({});
    socket.ws.terminate();
  } finally {
    await limited.close();
  }
});

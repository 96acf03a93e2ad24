// Faults of trackers, plans and changesets in the field that no other test of the tracker names.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApi, type TestApi } from './support/api.ts';

let t: TestApi;
beforeAll(async () => {
  t = await startTestApi();
});
afterAll(() => t.close());

const call = (method: string, path: string, body?: unknown) => t.rest(t.tokens.engineer, method, `/api/v1${path}`, body);
const created = async (fields: Record<string, unknown> = {}): Promise<string> => {
  const { status, body } = await call('POST', '/projects/WEB/items', { kind: 'ticket', title: 'A ticket', ...fields });
  expect([status, body['message']]).toEqual([201, undefined]);
  return body['key'] as string;
};
const propose = (operations: unknown[]) => call('POST', '/projects/WEB/changesets', { title: 'A plan', operations });
const create = (ref: string, fields: Record<string, unknown> = {}) => ({
  kind: 'create_item',
  ref,
  create: { kind: 'ticket', title: `Item ${ref}`, ...fields },
});
const update = (item: string, fields: Record<string, unknown>) => ({ kind: 'update_item', update: { item, ...fields } });
const blocks = (from: string, to: string) => ({ kind: 'add_dependency', dependency: { from, to, type: 'blocks' } });
const items = async (): Promise<number> => (await call('GET', '/projects/WEB/items?limit=500')).body.items!.length;

test('reports f07: by the specification only edges make cycles: an epic may block what blocks one of its children', async () => {
  const epic = await created({ kind: 'epic' });
  const child = await created({ epic });
  const other = await created();
  const link = (from: string, to: string) => call('POST', `/items/${from}/dependencies`, { type: 'blocks', to });
  expect((await link(epic, other)).status).toBe(201);
  expect((await link(other, child)).status).toBe(201);
  expect((await link(child, epic)).body).toMatchObject({
    error: 'conflict',
    message: `${child} blocks ${epic} would close a cycle: ${child} -> ${epic} -> ${other} -> ${child}.`,
  });
});

test('reports f15: a stale version is a 409 for an update and for a move; edges have no version', async () => {
  const key = await created();
  expect((await call('PATCH', `/items/${key}`, { version: 1, title: 'Second' })).status).toBe(200);
  const stale = [
    await call('PATCH', `/items/${key}`, { version: 1, title: 'Third' }),
    await call('POST', `/items/${key}/transition`, { version: 1, state: 'ready' }),
  ];
  for (const answer of stale) {
    expect(answer).toMatchObject({ status: 409, body: { error: 'conflict', message: expect.stringContaining('version 2') } });
  }
  expect((await call('GET', `/items/${key}`)).body).toMatchObject({ title: 'Second', state: 'backlog', version: 2 });
});

test('reports f19: an operation that is wrong in the middle leaves nothing behind, and is named', async () => {
  const before = await items();
  const { status, body } = await propose([create('a'), create('b'), create('c', { epic: 'WEB-99999' }), create('d'), create('e')]);
  expect([status, body['error']]).toEqual([400, 'invalid_argument']);
  expect(body['message']).toContain('operation 3: create.epic');
  expect(await items()).toBe(before);
});

test('reports f21: a version conflict on the second of three operations leaves no half batch', async () => {
  const [first, second] = [await created(), await created()];
  const { body } = await propose([update(first, { title: 'P1' }), update(second, { title: 'P2' }), create('n')]);
  await call('PATCH', `/items/${second}`, { version: 1, title: 'Changed meanwhile' });
  const before = await items();
  const apply = (more = {}) => call('POST', `/changesets/${body['id']}/apply`, { operations: [0, 1, 2], ...more });
  expect(await apply()).toMatchObject({ status: 409, body: { message: expect.stringContaining(`operation 2: ${second}`) } });
  expect((await call('GET', `/items/${first}`)).body).toMatchObject({ title: 'A ticket', version: 1 });
  expect(await items()).toBe(before);
  expect((await apply({ accept_stale: true })).status).toBe(200);
  expect((await call('GET', `/items/${second}`)).body).toMatchObject({ title: 'P2', version: 3 });
});

test('reports f09: references of a changeset are keys from its apply on, whatever is renamed or moved later', async () => {
  const epics = [await created({ kind: 'epic', title: 'One' }), await created({ kind: 'epic', title: 'Two' })];
  const { body } = await propose([create('one', { epic: epics[0] }), create('two'), blocks('$one', '$two')]);
  const applied = await call('POST', `/changesets/${body['id']}/apply`, { operations: [0, 1, 2] });
  const [one, two] = (applied.body['results'] as { key: string }[]).map(({ key }) => key);
  expect((await call('PATCH', `/items/${one}`, { version: 1, epic: epics[1], title: 'Moved' })).status).toBe(200);
  const seen = await call('GET', `/items/${two}/dependencies`);
  expect(seen.body['blocked_by']).toEqual([expect.objectContaining({ key: one, title: 'Moved' })]);
});

test.each(['\u{1f680}\u{1f680}', '\u6f22\u5b57', '-', '\u0391'])(
  'reports f23: the title %j needs no other name: the item is reached by its key',
  async (title) => {
    const key = await created({ title });
    expect((await call('GET', `/items/${key}`)).body).toMatchObject({ key, title });
  },
);

test.each(['\u0301\u0301', '\u200b', '\u2060\u00ad', '\ufe0f'])('reports f23: the title %j shows nothing and is refused', async (title) => {
  const answer = await call('POST', '/projects/WEB/items', { kind: 'ticket', title });
  expect(answer).toMatchObject({ status: 400, body: { message: expect.stringContaining('title is blank') } });
});

test.each([50_001, 65_536, 65_537, 1_000_000])(
  'reports f25: a description of %i characters is refused when it is proposed, with its number',
  async (length) => {
    const { status, body } = await propose([create('a'), create('b', { description: 'x'.repeat(length) })]);
    expect(status).toBe(400);
    expect(body['message']).toContain(`operation 2: create.description has ${length} characters`);
  },
);

test('reports f25: one of 50,000 characters is taken whole', async () => {
  const description = '\u{1f680}'.repeat(50_000);
  const { body } = await propose([create('a', { description })]);
  const applied = await call('POST', `/changesets/${body['id']}/apply`, { operations: [0] });
  const [{ key }] = applied.body['results'] as [{ key: string }];
  expect((await call('GET', `/items/${key}`)).body['description']).toBe(description);
});

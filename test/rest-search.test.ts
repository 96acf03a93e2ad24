// The routes of search: shapes, limits, rights (spec: planner 4, 5, 10).

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { indexAll, planeEmbedder } from './support/search.ts';
import { startTestApi, type TestApi } from './support/api.ts';

const embedder = planeEmbedder((text) => (/heron|Heron/.test(text) ? 0 : 90));
let failing = false;
let api: TestApi;
const rest = (token: string | undefined, method: string, path: string, body?: unknown) =>
  api.rest(token, method, `/api/v1${path}`, body);
beforeAll(async () => {
  const query: typeof embedder.query = (text) => (failing ? Promise.reject(new Error('down')) : embedder.query(text));
  api = await startTestApi({ embedder: { ...embedder, query } });
  const { admin, engineer } = api.tokens;
  const item = (project: string, title: string) =>
    rest(admin, 'POST', `/projects/${project}/items`, { kind: 'ticket', title });
  await item('WEB', 'Heron in web');
  await item('OPS', 'Heron in ops');
  const skill = { scope: 'project', project: 'WEB', name: 'heron', description: 'Herons', body: 'Wade.' };
  const { body } = await rest(admin, 'POST', '/skills', skill);
  const published = await rest(admin, 'POST', `/skills/${String(body['id'])}/publish`, { version: 1 });
  expect([body, published.body, published.status]).toEqual([body, published.body, 201]);
  const entries = `/organizations/acme/knowledge/entries`;
  const note = { kind: 'note', title: 'Heron', body: 'A heron stands in the reeds.', items: ['OPS-1', 'WEB-1'] };
  expect((await rest(admin, 'POST', entries, note)).status).toBe(201);
  expect((await rest(engineer, 'POST', entries, { kind: 'debt', title: 'Reeds', body: 'Cut them.' })).status).toBe(201);
  await indexAll(api.database, embedder);
});
afterAll(() => api.close());

const search = (token: string | undefined, query: string) => rest(token, 'GET', `/search?${query}`);
const refs = async (token: string, query: string) =>
  (await search(token, query)).body.items!.map(({ kind, ref }) => `${String(kind)} ${String(ref)}`).sort();

describe('spec: planner 10: GET /search', () => {
  test('items and skills of all projects that the caller may read, or of one; by kind; as many as asked for', async () => {
    expect(await refs(api.tokens.engineer, 'q=heron')).toEqual(['item WEB-1', 'skill heron']);
    expect(await refs(api.tokens.admin, 'q=heron')).toEqual(['item OPS-1', 'item WEB-1', 'skill heron']);
    expect(await refs(api.tokens.admin, 'q=heron&project=OPS')).toEqual(['item OPS-1']);
    expect(await refs(api.tokens.admin, 'q=heron&kind=skill')).toEqual(['skill heron']);
    expect(await refs(api.tokens.admin, 'q=heron&limit=1')).toHaveLength(1);
    expect(await refs(api.tokens.stranger, 'q=heron')).toEqual([]);
    const { body } = await search(api.tokens.engineer, 'q=herons&kind=item');
    expect(body).toEqual({ items: [{ kind: 'item', ref: 'WEB-1', title: 'Heron in web', snippet: '' }] });
  });

  test('a project that may not be read is not found, as one that is not there', async () => {
    const hidden = await search(api.tokens.engineer, 'q=x&project=OPS');
    const none = await search(api.tokens.engineer, 'q=x&project=NO');
    expect([hidden.status, none.status]).toEqual([404, 404]);
    expect(JSON.stringify(hidden.body).replace('OPS', 'NO')).toBe(JSON.stringify(none.body));
    expect((await search(undefined, 'q=x')).status).toBe(401);
  });

  test('a missing query, a kind or a limit that is none, an unknown parameter: 400; a query without words: no items', async () => {
    for (const query of ['', 'q=x&kind=epic', 'q=x&limit=51', 'q=x&limit=0', 'q=x&near=1', `q=${'x'.repeat(1_001)}`]) {
      expect((await search(api.tokens.admin, query)).status, query).toBe(400);
    }
    const asked = embedder.asked.length;
    expect((await search(api.tokens.admin, 'q=%21%22*')).body).toEqual({ items: [] });
    expect(embedder.asked.length).toBe(asked);
  });

  test('when embedding fails, words alone are compared and the answer says so', async () => {
    failing = true;
    const { status, body } = await search(api.tokens.engineer, 'q=heron&kind=item');
    failing = false;
    expect(status).toBe(200);
    expect(body).toMatchObject({ items: [{ ref: 'WEB-1' }], warning: expect.stringMatching(/only words/) });
  });
});

describe('spec: planner 10: GET /organizations/{o}/knowledge/search', () => {
  const knowledge = (token: string, query: string, organization = 'acme') =>
    rest(token, 'GET', `/organizations/${organization}/knowledge/search?${query}`);

  test('entries with a snippet and a score, with those keys that the caller may see', async () => {
    const { status, body } = await knowledge(api.tokens.engineer, 'q=heron');
    expect(status).toBe(200);
    expect(body.items).toHaveLength(1);
    expect(body.items![0]).toMatchObject({
      entry: { kind: 'note', title: 'Heron', items: ['WEB-1'], snippet: 'A heron stands in the reeds.' },
      score: 2 / 61,
    });
    const debts = await knowledge(api.tokens.viewer, 'q=reeds&kind=debt');
    expect(debts.body.items).toMatchObject([{ entry: { title: 'Reeds' } }]);
  });

  test('an organization that may not be read is not found', async () => {
    expect((await knowledge(api.tokens.stranger, 'q=heron')).status).toBe(404);
    expect((await knowledge(api.tokens.admin, 'q=heron', 'globex')).status).toBe(404);
    expect((await knowledge(api.tokens.admin, 'q=heron&kind=item')).status).toBe(400);
  });
});

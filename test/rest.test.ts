// REST: who may ask, how errors look, and each family of routes (spec: planner 10).

import net from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as contracts from '../api/contracts/index.ts';
import { transaction } from '../store/database.ts';
import { createRoleBinding } from '../store/role-bindings.ts';
import { inHours, makeToken, startTestApi, type TestApi } from './support/api.ts';

let t: TestApi;
beforeAll(async () => {
  t = await startTestApi();
});
afterAll(() => t.close());

const v1 = '/api/v1';

const make = async (path: string, body: unknown): Promise<Record<string, unknown>> =>
  (await t.rest(t.tokens.engineer, 'POST', `${v1}/projects/WEB/${path}`, body)).body;
const newItem = async () => String((await make('items', { kind: 'ticket', title: 'Some item' }))['key']);
const newSession = async () => String((await make('planner/sessions', {}))['id']);

describe('who may ask', () => {
  test('spec: planner 10.1: no token, an unknown one and a wrong scheme: 401 with one text', async () => {
    const missing = await t.rest(undefined, 'GET', `${v1}/me`);
    expect(missing).toMatchObject({ status: 401, body: { error: 'unauthenticated' } });
    expect(missing.headers.get('www-authenticate')).toBe('Bearer');
    expect(await t.rest('plt_wrong', 'GET', `${v1}/me`)).toMatchObject({ status: 401, body: missing.body });
    const basic = await t.rest(undefined, 'GET', `${v1}/me`, undefined, { authorization: `Basic ${t.tokens.admin}` });
    expect(basic).toMatchObject({ status: 401, body: missing.body });
  });

  test('GET /me tells the caller, its bindings and projects, the model and the engine\'s page', async () => {
    const { status, body } = await t.rest(t.tokens.engineer, 'GET', `${v1}/me`);
    expect(status).toBe(200);
    expect(contracts.me.parse(body)).toMatchObject({
      subject: 'engineer',
      kind: 'human',
      bindings: [{ role: 'engineer', project: 'WEB' }],
      projects: [{ key: 'WEB', organization: 'acme' }],
      model: { name: 'demo-planner', demo: true },
      temporal_ui: 'http://127.0.0.1:8233',
    });
  });

  test('spec: planner 1.18: a token narrows its subject\'s actions', async () => {
    const narrow = { subject: 'admin', expires_at: inHours(1), actions: ['tracker.read' as const] };
    const { token } = await makeToken(t.database, narrow);
    expect(await t.rest(token, 'GET', `${v1}/projects/WEB/items`)).toMatchObject({ status: 200 });
    const refused = await t.rest(token, 'POST', `${v1}/projects/WEB/items`, { kind: 'ticket', title: 'No' });
    const message = 'This token does not carry tracker.write; use another token.';
    expect(refused).toMatchObject({ status: 403, body: { error: 'forbidden', message } });
  });

  test('where the subject lacks the right itself, the advice is a role, whatever its token carries', async () => {
    const narrow = { subject: 'viewer', expires_at: inHours(1), actions: ['tracker.read' as const] };
    const { token } = await makeToken(t.database, narrow);
    const refused = await t.rest(token, 'POST', `${v1}/projects/WEB/items`, { kind: 'ticket', title: 'No' });
    expect(refused).toMatchObject({ status: 403, body: { message: expect.stringContaining('a role that has it') } });
  });

  test('a hidden project is not found; a readable one without the right is forbidden', async () => {
    expect(await t.rest(t.tokens.viewer, 'GET', `${v1}/projects/OPS/items`)).toMatchObject({ status: 404 });
    const made = await t.rest(t.tokens.viewer, 'POST', `${v1}/projects/WEB/items`, { kind: 'ticket', title: 'No' });
    expect(made).toMatchObject({ status: 403, body: { error: 'forbidden' } });
  });
});

describe('bad requests', () => {
  test.each([
    ['an unknown field', (deep: string) => `{"kind": "ticket", "title": "x", "more": ${deep}}`],
    ['a field of one of some values', (deep: string) => `{"kind": ${deep}, "title": "x"}`],
  ])('spec: planner 10.3: a body nested 100,000 deep, in %s, is refused, with and without an Idempotency-Key', async (_what, body) => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    for (const headers of [undefined, { 'idempotency-key': 'deep' }]) {
      const answer = await t.rest(t.tokens.engineer, 'POST', '/api/v1/projects/WEB/items', body(deep), headers);
      expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_argument', message: expect.stringMatching(/deep/) } });
    }
  });

  test('spec: planner 10.2: a body that is no JSON, too large, of another type, with unknown fields: 400 that says so', async () => {
    const post = (body: unknown, headers?: Record<string, string>) =>
      t.rest(t.tokens.engineer, 'POST', `${v1}/projects/WEB/planner/sessions`, body, headers);
    expect(await post('{"title":')).toMatchObject({ status: 400, body: { error: 'invalid_argument' } });
    const large = await post(JSON.stringify({ title: 'x'.repeat(1024 * 1024) }));
    expect(large).toMatchObject({ status: 400, body: { message: expect.stringContaining('1 MiB') } });
    const typed = await post('title=x', { 'content-type': 'text/plain' });
    expect(typed).toMatchObject({ status: 400, body: { message: expect.stringContaining('application/json') } });
    expect(await post('[]')).toMatchObject({ status: 400 });
    expect(await post('null')).toMatchObject({ status: 400 });
    const unknown = await post({ title: 'x', colour: 'red' });
    expect(unknown).toMatchObject({ status: 400, body: { message: expect.stringContaining('"colour"') } });
    expect(await post('{"__proto__": {"title": "x"}}')).toMatchObject({ status: 400 });
  });

  test('a body without a type, in another charset, or not in UTF-8 at all: 400 that says so', async () => {
    const post = async (body: Uint8Array<ArrayBuffer>, type?: string) => {
      const headers = { authorization: `Bearer ${t.tokens.engineer}`, ...(type ? { 'content-type': type } : {}) };
      const path = `${t.address}${v1}/projects/WEB/planner/sessions`;
      const response = await fetch(path, { method: 'POST', headers, body });
      return { status: response.status, message: ((await response.json()) as { message?: string }).message };
    };
    const body = (title: Buffer) =>
      new Uint8Array(Buffer.concat([Buffer.from('{"title":"'), title, Buffer.from('"}')]));
    const umlaut = body(Buffer.from('\u00fc'));
    const refused = { status: 400, message: 'Send the body as JSON in UTF-8, with Content-Type: application/json.' };
    expect(await post(umlaut)).toEqual(refused);
    const others = ['charset=latin1', 'charset="utf-16"'].map((charset) => `application/json; ${charset}`);
    for (const type of ['text/plain', 'application/xml', ...others]) {
      expect(await post(umlaut, type)).toEqual(refused);
    }
    const broken = { status: 400, message: 'The body is not in UTF-8.' };
    expect(await post(body(Buffer.from([0xfc])), 'application/json')).toEqual(broken);
    for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"']) {
      expect(await post(umlaut, type)).toMatchObject({ status: 201 });
    }
  });

  test('spec: planner 10.4: `limit` and `after` that are none: 400 with one text each, wherever a list is paged', async () => {
    const key = await newItem();
    const session = await newSession();
    const lists = {
      [`${v1}/organizations`]: 500,
      [`${v1}/projects`]: 500,
      [`${v1}/projects/WEB/items`]: 500,
      [`${v1}/items/${key}/history`]: 500,
      [`${v1}/projects/WEB/runnable`]: 500,
      [`${v1}/projects/WEB/changesets`]: 500,
      [`${v1}/role-bindings`]: 500,
      [`${v1}/repositories`]: 500,
      [`${v1}/bounded-runs`]: 500,
      [`${v1}/skills`]: 500,
      [`${v1}/organizations/acme/knowledge/entries`]: 500,
      [`${v1}/projects/WEB/planner/sessions`]: 500,
      [`${v1}/planner/sessions/${session}`]: 1_000,
      [`${v1}/planner/sessions/${session}/turns`]: 500,
    };
    for (const [path, most] of Object.entries(lists)) {
      const get = async (query: string) => (await t.rest(t.tokens.engineer, 'GET', `${path}?${query}`)).body;
      const cursor = { error: 'invalid_argument', message: 'after must be the `next` of the page before, not "zzz"' };
      expect(await get('after=zzz'), path).toEqual(cursor);
      for (const limit of ['', 'x', '0', '1.5', '1e1']) {
        const message = `limit must be a whole number from 1 to ${most}, not "${limit}"`;
        expect(await get(`limit=${limit}`), path).toEqual({ error: 'invalid_argument', message });
      }
    }
    const far = `${v1}/planner/sessions/${session}?after=9007199254740991`;
    expect(await t.rest(t.tokens.engineer, 'GET', far)).toMatchObject({ status: 200, body: { messages: [] } });
  });

  test('a turn that is no id is named as such; an index that is none is no operation', async () => {
    const path = `${v1}/planner/sessions/${await newSession()}/cancel`;
    const cancelled = await t.rest(t.tokens.engineer, 'POST', path, { turn: 'x' });
    expect(cancelled).toMatchObject({ status: 400, body: { message: 'turn must be the id of a turn, not "x"' } });
    const applied = await t.rest(t.tokens.engineer, 'POST', `${v1}/changesets/x/apply`, { operations: [0, 1.5] });
    expect(applied).toMatchObject({
      status: 400,
      body: { message: 'operations[1] must be the index of an operation, counted from 0; not 1.5' },
    });
  });

  test('a title is one line, of an item, a changeset and a session', async () => {
    const post = (path: string, body: unknown) => t.rest(t.tokens.engineer, 'POST', `${v1}/projects/WEB/${path}`, body);
    for (const title of ['two\nlines', 'two\u2028lines', 'line\r']) {
      const create = { kind: 'ticket', title };
      const creating = (one: unknown) => [{ kind: 'create_item', ref: 'a', create: one }];
      for (const [path, body] of [
        ['items', create],
        ['changesets', { title, operations: creating({ ...create, title: 'Cart' }) }],
        ['changesets', { title: 'Cart', operations: creating(create) }],
        ['planner/sessions', { title }],
      ] as const) {
        const message = expect.stringContaining('one line');
        expect(await post(path, body)).toMatchObject({ status: 400, body: { message } });
      }
    }
  });

  test('unknown and repeated query parameters, limits out of range: 400', async () => {
    const get = (query: string) => t.rest(t.tokens.engineer, 'GET', `${v1}/projects/WEB/items?${query}`);
    const unknown = await get('colour=red');
    expect(unknown).toMatchObject({ status: 400, body: { message: expect.stringContaining('"colour"') } });
    expect(await get('limit=1&limit=2')).toMatchObject({ status: 400 });
    expect(await get('limit=0')).toMatchObject({ status: 400 });
    expect(await get('limit=many')).toMatchObject({ status: 400 });
    expect(await get('limit=500')).toMatchObject({ status: 200 });
  });

  test('an unknown route and another method are 404, broken escapes and NUL are 400, none ends the server', async () => {
    const get = (path: string) => t.rest(t.tokens.admin, 'GET', path);
    const put = await t.rest(t.tokens.admin, 'PUT', `${v1}/items/WEB-1`, {});
    expect(put).toMatchObject({ status: 404, body: { message: 'There is no route PUT /api/v1/items/WEB-1.' } });
    expect(await get(`${v1}/bounded-runs/x?repo=%00`)).toMatchObject({
      status: 400,
      body: { message: '"repo" can\'t be read.' },
    });
    expect(await get(`${v1}/nothing`)).toMatchObject({ status: 404, body: { error: 'not_found' } });
    expect(await get('/else')).toMatchObject({ status: 404, body: { error: 'not_found' } });
    expect(await get(`${v1}/items/%E0%A4%A`)).toMatchObject({ status: 400 });
    expect(await get(`${v1}/items/WEB%00-1`)).toMatchObject({ status: 400 });
    expect(await get(`${v1}/changesets/not-a-uuid`)).toMatchObject({ status: 404 });
    expect(await t.rest(t.tokens.admin, 'DELETE', `${v1}/dependencies/%27`)).toMatchObject({ status: 404 });
  });

  test('reports e29: 2,000 headers are refused with 400 and the server lives on', async () => {
    const flood = `GET ${v1}/me HTTP/1.1\r\nHost: x\r\n${'a: b\r\n'.repeat(2_000)}\r\n`;
    expect(await raw(flood)).toContain('400 Bad Request');
    expect(await raw('no http at all\r\n\r\n')).toContain('400 Bad Request');
    expect(await t.rest(undefined, 'GET', '/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } });
  });

  test('answers carry security headers and no sign of the framework', async () => {
    const { headers } = await t.rest(t.tokens.admin, 'GET', `${v1}/me`);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-powered-by')).toBeNull();
  });

  test('spec: planner 10.3: a fault of ours is 500 without detail', async () => {
    await t.database.query('ALTER TABLE planner_sessions RENAME TO hidden_sessions');
    try {
      const { status, body } = await t.rest(t.tokens.engineer, 'GET', `${v1}/projects/WEB/planner/sessions`);
      expect({ status, body }).toEqual({ status: 500, body: { error: 'internal', message: 'Internal error.' } });
    } finally {
      await t.database.query('ALTER TABLE hidden_sessions RENAME TO planner_sessions');
    }
  });
});

describe('organizations, projects, role bindings', () => {
  test('an administrator makes an organization, a project and a binding, and takes the binding back', async () => {
    const { admin, stranger } = t.tokens;
    const made = await t.rest(admin, 'POST', `${v1}/organizations`, { key: 'globex', name: 'Globex' });
    expect(made).toMatchObject({ status: 201, body: { key: 'globex' } });
    expect(await t.rest(admin, 'POST', `${v1}/organizations`, { key: 'globex', name: 'Globex' })).toMatchObject({
      status: 409,
      body: { error: 'already_exists' },
    });
    const project = await t.rest(admin, 'POST', `${v1}/projects`, { organization: 'globex', key: 'GLX', name: 'G' });
    expect(contracts.project.parse(project.body)).toMatchObject({ key: 'GLX', organization: 'globex' });
    const binding = { subject: 'stranger', role: 'viewer', project: 'GLX' };
    const bound = await t.rest(admin, 'POST', `${v1}/role-bindings`, binding);
    expect(contracts.roleBinding.parse(bound.body)).toMatchObject({ subject: 'stranger', project: 'GLX' });
    expect(await t.rest(stranger, 'GET', `${v1}/projects/GLX`)).toMatchObject({ status: 200 });
    expect((await t.rest(stranger, 'GET', `${v1}/organizations`)).body.items).toMatchObject([{ key: 'globex' }]);
    const path = `${v1}/role-bindings/${String(bound.body['id'])}`;
    expect(await t.rest(admin, 'DELETE', path)).toMatchObject({ status: 204 });
    expect(await t.rest(stranger, 'GET', `${v1}/projects/GLX`)).toMatchObject({ status: 404 });
  });

  test('spec: planner 10.4: lists are paged by key', async () => {
    const first = await t.rest(t.tokens.admin, 'GET', `${v1}/projects?limit=1`);
    expect(first.body.items).toHaveLength(1);
    const second = await t.rest(t.tokens.admin, 'GET', `${v1}/projects?limit=1&after=${String(first.body['next'])}`);
    expect(second.body.items?.[0]?.['key']).not.toBe(first.body.items?.[0]?.['key']);
  });

  test('spec: planner 10.4: a list is read in pages, each from where the one before ended', async () => {
    const made = [await newItem(), await newItem(), await newItem()];
    for (const key of made) await t.rest(t.tokens.engineer, 'POST', `${v1}/items/${key}/transition`, { state: 'ready' });
    const path = `${v1}/projects/WEB/runnable`;
    const all = (await t.rest(t.tokens.viewer, 'GET', path)).body.items!.map((item) => item['key']);
    const read: unknown[] = [];
    let after: unknown;
    do {
      const { body } = await t.rest(t.tokens.viewer, 'GET', `${path}?limit=2${after ? `&after=${String(after)}` : ''}`);
      expect(body.items!.length).toBeLessThanOrEqual(2);
      read.push(...body.items!.map((item) => item['key']));
      after = body['next'];
    } while (after !== undefined);
    expect(read).toEqual(all);
    expect(read).toEqual(expect.arrayContaining(made));
  });

  test('a stranger makes nothing', async () => {
    const { stranger } = t.tokens;
    const organization = { key: 'mine', name: 'Mine' };
    expect(await t.rest(stranger, 'POST', `${v1}/organizations`, organization)).toMatchObject({ status: 403 });
    const binding = { subject: 'stranger', role: 'platform-admin' };
    expect(await t.rest(stranger, 'POST', `${v1}/role-bindings`, binding)).toMatchObject({ status: 403 });
  });
});

describe('items, dependencies, changesets', () => {
  test('an item is made, read, changed, moved; its history tells it', async () => {
    const { engineer } = t.tokens;
    const made = await t.rest(engineer, 'POST', `${v1}/projects/WEB/items`, { kind: 'ticket', title: 'Cart' });
    expect(made.status).toBe(201);
    const item = contracts.item.parse(made.body);
    const patched = await t.rest(engineer, 'PATCH', `${v1}/items/${item.key}`, { version: 1, title: 'Cart page' });
    expect(contracts.item.parse(patched.body)).toMatchObject({ title: 'Cart page', version: 2 });
    const unchanged = { version: 2, title: 'Cart page', epic: '' };
    const same = await t.rest(engineer, 'PATCH', `${v1}/items/${item.key}`, unchanged);
    expect(same).toMatchObject({ status: 200, body: patched.body });
    expect(await t.rest(engineer, 'PATCH', `${v1}/items/${item.key}`, { version: 1, title: 'x' })).toMatchObject({
      status: 409,
      body: { error: 'conflict' },
    });
    expect(await t.rest(engineer, 'POST', `${v1}/items/${item.key}/transition`, { state: 'ready' })).toMatchObject({
      status: 200,
      body: { state: 'ready', version: 3 },
    });
    const runnable = await t.rest(engineer, 'GET', `${v1}/projects/WEB/runnable`);
    expect(runnable.body.items?.map((each) => each['key'])).toContain(item.key);
    const history = await t.rest(engineer, 'GET', `${v1}/items/${item.key}/history`);
    const events = contracts.listOf(contracts.event).parse(history.body).items;
    expect(events.map((event) => event.type)).toEqual(['item.created', 'item.updated', 'item.state_changed']);
    const listed = await t.rest(engineer, 'GET', `${v1}/projects/WEB/items?state=ready&limit=1`);
    expect(contracts.listOf(contracts.itemSummary).parse(listed.body).items).toHaveLength(1);
  });

  test('a dependency is added, seen from both ends, and removed', async () => {
    const { engineer } = t.tokens;
    const [a, b] = await Promise.all(
      ['A', 'B'].map(async (title) => {
        const { body } = await t.rest(engineer, 'POST', `${v1}/projects/WEB/items`, { kind: 'ticket', title });
        return String(body['key']);
      }),
    );
    const added = await t.rest(engineer, 'POST', `${v1}/items/${a}/dependencies`, { type: 'blocks', to: b });
    const { id } = contracts.dependency.parse(added.body);
    const seen = await t.rest(engineer, 'GET', `${v1}/items/${b}/dependencies`);
    expect(contracts.itemDependencies.parse(seen.body).blocked_by).toMatchObject([{ id, key: a }]);
    const back = await t.rest(engineer, 'POST', `${v1}/items/${b}/dependencies`, { type: 'blocks', to: a });
    expect(back).toMatchObject({ status: 409, body: { error: 'conflict' } });
    expect(await t.rest(engineer, 'DELETE', `${v1}/dependencies/${id}`)).toMatchObject({ status: 204 });
    expect(await t.rest(engineer, 'DELETE', `${v1}/dependencies/${id}`)).toMatchObject({ status: 404 });
  });

  test('a changeset is proposed, read, applied once; viewers may not decide', async () => {
    const { engineer, viewer } = t.tokens;
    const proposal = {
      title: 'Checkout',
      operations: [
        { kind: 'create_item', ref: 'epic', create: { kind: 'epic', title: 'Checkout' } },
        { kind: 'create_item', ref: 'pay', create: { kind: 'ticket', title: 'Pay', epic: '$epic' } },
      ],
    };
    const proposed = await t.rest(engineer, 'POST', `${v1}/projects/WEB/changesets`, proposal);
    expect(proposed.status).toBe(201);
    const { id } = contracts.changeset.parse(proposed.body);
    const apply = (token: string) => t.rest(token, 'POST', `${v1}/changesets/${id}/apply`, { operations: [0, 1] });
    expect(await apply(viewer)).toMatchObject({ status: 403 });
    const applied = await apply(engineer);
    expect(contracts.changeset.parse(applied.body)).toMatchObject({ status: 'applied', approved: [0, 1] });
    expect(await t.rest(engineer, 'POST', `${v1}/changesets/${id}/reject`, {})).toMatchObject({ status: 409 });
    const list = await t.rest(viewer, 'GET', `${v1}/projects/WEB/changesets?status=applied`);
    expect(contracts.listOf(contracts.changesetSummary).parse(list.body).items).toMatchObject([
      { id, operations: 2, proposed_by: { kind: 'human', subject: 'engineer' }, created_at: expect.any(String) },
    ]);
  });
});

describe('sessions', () => {
  test('spec: planner 10.9: a session is made, renamed, sent to, cancelled; its turns link to their workflows', async () => {
    const { engineer } = t.tokens;
    const made = await t.rest(engineer, 'POST', `${v1}/projects/WEB/planner/sessions`, { title: 'Plan' });
    expect(made.status).toBe(201);
    const { id } = contracts.session.parse(made.body);
    const renamed = await t.rest(engineer, 'PATCH', `${v1}/planner/sessions/${id}`, { title: 'The plan' });
    expect(contracts.session.parse(renamed.body)).toMatchObject({ title: 'The plan' });
    const sent = await t.rest(engineer, 'POST', `${v1}/planner/sessions/${id}/messages`, { text: 'Plan a shop' });
    expect(sent.status).toBe(201);
    const { turn } = contracts.sent.parse(sent.body);
    expect(t.told.sent).toContain(turn);
    const busy = await t.rest(engineer, 'POST', `${v1}/planner/sessions/${id}/messages`, { text: 'And another' });
    expect(busy).toMatchObject({ status: 409, body: { error: 'conflict' } });
    const view = await t.rest(engineer, 'GET', `${v1}/planner/sessions/${id}`);
    expect(contracts.sessionView.parse(view.body)).toMatchObject({
      running: turn,
      messages: [{ seq: 1, author: 'engineer' }],
    });
    const turns = await t.rest(engineer, 'GET', `${v1}/planner/sessions/${id}/turns`);
    expect(contracts.listOf(contracts.turn).parse(turns.body).items).toMatchObject([
      { id: turn, workflow_url: `http://127.0.0.1:8233/namespaces/default/workflows/planner-turn-${turn}` },
    ]);
    const cancelled = await t.rest(engineer, 'POST', `${v1}/planner/sessions/${id}/cancel`);
    expect(cancelled).toMatchObject({ status: 200, body: {} });
    expect(t.told.cancelled).toContain(turn);
    const listed = await t.rest(engineer, 'GET', `${v1}/projects/WEB/planner/sessions`);
    expect(contracts.listOf(contracts.session).parse(listed.body).items[0]).toMatchObject({ id });
  });

  test('blank and over-long text, an unknown session, a viewer\'s message are refused', async () => {
    const { body } = await t.rest(t.tokens.engineer, 'POST', `${v1}/projects/WEB/planner/sessions`, {});
    const send = (token: string, text: string, id = String(body['id'])) =>
      t.rest(token, 'POST', `${v1}/planner/sessions/${id}/messages`, { text });
    expect(await send(t.tokens.engineer, ' \u200b\n')).toMatchObject({ status: 400 });
    expect(await send(t.tokens.engineer, 'x'.repeat(100_001))).toMatchObject({ status: 400 });
    expect(await send(t.tokens.engineer, 'x', '018f0000-0000-7000-8000-000000000000')).toMatchObject({ status: 404 });
    expect(await send(t.tokens.engineer, 'x', 'nonsense')).toMatchObject({ status: 404 });
    expect(await send(t.tokens.viewer, 'x')).toMatchObject({ status: 403 });
    expect(await send(t.tokens.stranger, 'x')).toMatchObject({ status: 404 });
  });

  test('spec: planner 5.6: rights act at once: a role that was given a moment ago counts', async () => {
    const list = () => t.rest(t.tokens.stranger, 'GET', `${v1}/projects/OPS/planner/sessions`);
    expect(await list()).toMatchObject({ status: 404 });
    const admin = { subject: 'admin', kind: 'human' } as const;
    const binding = { subject: 'stranger', role: 'viewer', project: 'OPS' } as const;
    await transaction(t.database, (tx) => createRoleBinding(tx, admin, binding));
    expect(await list()).toMatchObject({ status: 200 });
  });
});

test('/metrics shows requests by route, never by id', async () => {
  await t.rest(t.tokens.admin, 'GET', `${v1}/items/WEB-4711`);
  const response = await fetch(`${t.address}/metrics`);
  const text = await response.text();
  expect(text).toMatch(/ballet_api_request_seconds_count\{method="GET",route="\/items\/:key",status="404"\} \d/);
  expect(text).not.toContain('4711');
});

/** Sends bytes as they are and reads what comes back until the end. */
function raw(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(t.api.port, '127.0.0.1', () => socket.write(bytes));
    let text = '';
    socket.on('data', (data) => (text += String(data)));
    socket.on('close', () => resolve(text));
    socket.on('error', (error) => (text === '' ? reject(error) : resolve(text)));
    socket.setTimeout(5_000, () => socket.destroy());
  });
}

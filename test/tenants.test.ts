// Tenant isolation: whoever may not see a thing gets, from every route and every method, the answer of a thing that
// does not exist (spec: planner 5, 10, 11).

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rpcParams } from '../api/contracts/realtime.ts';
import { systemActor } from '../domain/actor.ts';
import { transaction } from '../store/database.ts';
import { createOrganization, createProject } from '../store/projects.ts';
import { bindRole } from '../store/role-bindings.ts';
import { createSubject } from '../store/tokens.ts';
import { inHours, makeToken, startTestApi, type TestApi } from './support/api.ts';
import { indexAll } from './support/search.ts';
import { furnish, madeUp, secret, withoutNames, type Names } from './support/tenants.ts';

interface Case {
  /** A request that its owner could make. */
  body?: (names: Names) => unknown;
  query?: (names: Names) => string;
  /** It names nothing that may be hidden: everybody gets what is theirs, and nothing else. */
  list?: true;
  /** What outsiders get: 404 unless it is the platform's, which nobody has to look for. */
  outsider?: 403;
  /** Of a method that writes: a viewer may all the same. Of one that reads: a viewer may not. */
  viewer?: 200 | 403;
}

/** Credentials, even as fingerprints, are for those who manage them. */
const managed = { viewer: 403 } as const;
const ticket = { kind: 'ticket', title: 'x' };

/** Every route of the OpenAPI document. A new one needs its line here. */
const cases: Record<string, Case> = {
  'GET /me': { list: true },
  'GET /organizations': { list: true },
  'POST /organizations': { body: () => ({ key: 'mine', name: 'Mine' }), outsider: 403 },
  'GET /projects': { list: true },
  'POST /projects': { body: ({ organization }) => ({ organization, key: 'MINE', name: 'Mine' }) },
  'GET /projects/{project}': {},
  'PATCH /projects/{project}': { body: () => ({ name: 'x', settings: { model: 'x' } }) },
  'GET /organizations/{organization}': {},
  'PATCH /organizations/{organization}': { body: () => ({ name: 'x', settings: { daily_tokens: 0 } }) },
  'GET /organizations/{organization}/credentials': managed,
  'GET /organizations/{organization}/credentials/{provider}': managed,
  'PUT /organizations/{organization}/credentials/{provider}': { body: () => ({ api_key: 'x' }) },
  'DELETE /organizations/{organization}/credentials/{provider}': {},
  'GET /projects/{project}/credentials': managed,
  'GET /projects/{project}/credentials/{provider}': managed,
  'PUT /projects/{project}/credentials/{provider}': { body: () => ({ api_key: 'x' }) },
  'DELETE /projects/{project}/credentials/{provider}': {},
  'GET /projects/{project}/usage': {},
  'GET /role-bindings': { list: true },
  'POST /role-bindings': { body: ({ project }) => ({ subject: 'stranger', role: 'viewer', project }) },
  'DELETE /role-bindings/{id}': {},
  'GET /projects/{project}/planner/sessions': {},
  'POST /projects/{project}/planner/sessions': { body: () => ({}) },
  'GET /planner/sessions/{session}': {},
  'PATCH /planner/sessions/{session}': { body: () => ({ title: 'x' }) },
  'POST /planner/sessions/{session}/messages': { body: () => ({ text: 'x' }) },
  'POST /planner/sessions/{session}/cancel': { body: ({ turn }) => ({ turn }) },
  'GET /planner/sessions/{session}/turns': {},
  'GET /projects/{project}/items': { query: ({ epic }) => `epic=${epic}` },
  'POST /projects/{project}/items': { body: ({ epic }) => ({ ...ticket, epic }) },
  'GET /projects/{project}/runnable': {},
  'GET /items/{key}': {},
  'PATCH /items/{key}': { body: () => ({ version: 1, title: 'x' }) },
  'POST /items/{key}/transition': { body: () => ({ state: 'ready' }) },
  'GET /items/{key}/history': {},
  'GET /items/{key}/dependencies': {},
  'POST /items/{key}/dependencies': { body: ({ other }) => ({ type: 'relates', to: other }) },
  'DELETE /dependencies/{id}': {},
  'GET /projects/{project}/changesets': {},
  'POST /projects/{project}/changesets': {
    body: () => ({ title: 'x', operations: [{ kind: 'create_item', ref: 'a', create: ticket }] }),
  },
  'GET /changesets/{id}': {},
  'POST /changesets/{id}/apply': { body: () => ({ operations: [0] }) },
  'POST /changesets/{id}/reject': {},
  'GET /skills': { list: true },
  'POST /skills': {
    body: ({ project }) => ({ scope: 'project', project, name: 'mine', description: 'x', body: 'x' }),
  },
  'GET /skills/{id}': {},
  'PATCH /skills/{id}': { body: () => ({ version: 1, body: 'x' }) },
  'POST /skills/{id}/publish': { body: () => ({ version: 1 }) },
  'GET /skills/{id}/versions': {},
  'GET /skills/{id}/versions/{version}': {},
  'GET /projects/{project}/skills': {},
  'GET /projects/{project}/skill-pins': {},
  'PUT /projects/{project}/skills/{name}/pin': { body: () => ({ disabled: true }) },
  'DELETE /projects/{project}/skills/{name}/pin': {},
  'GET /organizations/{organization}/knowledge/entries': { query: ({ project }) => `project=${project}` },
  'POST /organizations/{organization}/knowledge/entries': {
    body: ({ project, item }) => ({ kind: 'note', title: 'x', body: 'x', projects: [project], items: [item] }),
  },
  'GET /organizations/{organization}/knowledge/entries/{id}': {},
  'PATCH /organizations/{organization}/knowledge/entries/{id}': {
    body: ({ project, item }) => ({ version: 1, title: 'x', projects: [project], items: [item] }),
  },
  'GET /organizations/{organization}/knowledge/entries/{id}/versions': {},
  'GET /organizations/{organization}/knowledge/entries/{id}/versions/{version}': {},
  'GET /search': { query: ({ project }) => `q=${secret}&project=${project}` },
  'GET /organizations/{organization}/knowledge/search': { query: () => `q=${secret}` },
  'GET /repositories': { list: true },
  'GET /bounded-runs': { list: true },
  'POST /bounded-runs': {
    body: ({ repository }) => ({ repo: repository, host: 'codex', role: 'deep_reasoner', packet: '# x' }),
  },
  'GET /bounded-runs/{run}': { query: ({ repository }) => `repo=${repository}` },
  'GET /bounded-runs/{run}/artifacts/{name}': {},
  'POST /bounded-runs/{run}/cancel': {},
  'POST /bounded-runs/{run}/resume': { body: () => ({}) },
  'GET /revalidations': { list: true },
  'POST /revalidations': { body: ({ repository }) => ({ repo: repository, host: 'codex', role: 'deep_reasoner' }) },
  'GET /revalidations/{validation}': {},
  'GET /revalidations/{validation}/report': {},
  'POST /revalidations/{validation}/cancel': {},
  'POST /revalidations/{validation}/acknowledge': { body: () => ({ note: 'x' }) },
  'GET /revalidation-schedules': { list: true },
  'POST /revalidation-schedules': {
    body: ({ repository }) => ({ repo: repository, host: 'codex', role: 'deep_reasoner', cron: '0 3 * * *' }),
  },
  'GET /revalidation-schedules/{schedule}': {},
  'PATCH /revalidation-schedules/{schedule}': { body: () => ({ paused: true }) },
  'DELETE /revalidation-schedules/{schedule}': {},
  'POST /revalidation-schedules/{schedule}/trigger': {},
  'POST /revalidation-schedules/{schedule}/backfill': {
    body: () => ({ from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }),
  },
};

/** Lists that take a name: with a hidden one as with one that nothing has. */
const filters: Record<string, (names: Names) => string> = {
  'GET /organizations': ({ organization }) => `after=${organization}`,
  'GET /projects': ({ project }) => `after=${project}`,
  'GET /role-bindings': ({ project, organization }) => `project=${project}&organization=${organization}`,
  'GET /skills': ({ project, organization }) => `project=${project}&organization=${organization}`,
  'GET /repositories': ({ repository }) => `after=${repository}`,
  'GET /bounded-runs': ({ project }) => `project=${project}`,
  'GET /revalidations': ({ project }) => `project=${project}`,
  'GET /revalidation-schedules': ({ project }) => `project=${project}`,
};

/** Methods of the socket that name something; the others name nothing but the client's own subscriptions. */
const methods: Record<string, ((names: Names) => Record<string, unknown>[]) | 'names nothing'> = {
  auth: 'names nothing',
  'auth.refresh': 'names nothing',
  '$/heartbeat': 'names nothing',
  'system.ping': 'names nothing',
  'stream.unsubscribe': 'names nothing',
  'stream.subscribe': ({ project, item }) =>
    [`project:${project}`, `item:${item}`].flatMap((stream) => [
      { subscription: 's', stream },
      { subscription: 's', stream, from_seq: 0 },
    ]),
  'planner.send': ({ session }) => [{ session, text: 'x' }],
  'planner.cancel': ({ session, turn }) => [{ session }, { session, turn }],
  'planner.watch': ({ session }) => [
    { subscription: 's', session },
    { subscription: 's', session, from_output: 0 },
  ],
  'run.watch': ({ run }) => [
    { subscription: 's', run },
    { subscription: 's', run, from_output: 0 },
  ],
  'run.cancel': ({ run }) => [{ run }],
};

let t: TestApi;
let routes: string[];
/** Where everything is: WEB and OPS of acme; RIV of rival. */
let web: Names;
let ops: Names;
let rival: Names;
let rivalToken: string;

beforeAll(async () => {
  t = await startTestApi({ requestsPerMinute: 0 });
  await transaction(t.database, async (tx) => {
    const { id: organization_id } = await createOrganization(tx, systemActor, { key: 'rival', name: secret });
    await createProject(tx, systemActor, { organization_id, key: 'RIVAL', name: secret, description: secret });
    await createSubject(tx, { subject: 'rita', kind: 'human', name: 'Rita' });
    await bindRole(tx, systemActor, { subject: 'rita', role: 'organization-admin', organization_id });
  });
  rivalToken = (await makeToken(t.database, { subject: 'rita', expires_at: inHours(1) })).token;
  const admin = { subject: 'admin', kind: 'human' } as const;
  web = await furnish(t.database, admin, 'WEB');
  ops = await furnish(t.database, admin, 'OPS');
  rival = await furnish(t.database, admin, 'RIVAL');
  await indexAll(t.database);
  const { body } = await t.rest(undefined, 'GET', '/api/openapi.json');
  routes = Object.entries(body['paths'] as Record<string, object>).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
});
afterAll(() => t.close());

/** Who asks, for what is hidden from it. */
const outsiders = (): [who: string, token: string, hidden: Names][] => [
  ['who has no role', t.tokens.stranger, web],
  ['an administrator of another organization', rivalToken, web],
  ['a viewer of another organization\'s project', t.tokens.viewer, rival],
];

const thing: Record<string, keyof Names> = {
  'role-bindings': 'binding',
  dependencies: 'dependency',
  changesets: 'changeset',
  skills: 'skill',
  organizations: 'entry',
};

function address(route: string, names: Names): string {
  const path = route.split(' ')[1]!.replace(/\{(\w+)\}/g, (_all, name: string) => {
    if (name === 'id') return names[thing[route.split('/')[1]!]!];
    if (name === 'key') return names.item;
    if (name === 'name') return route.includes('/skills/') ? `${secret}-skill` : 'packet.md';
    if (name === 'version') return '1';
    return names[name as keyof Names] ?? `no value for {${name}}`;
  });
  const query = cases[route]?.query?.(names);
  return `/api/v1${path}${query === undefined ? '' : `?${query}`}`;
}

/** Status and body, without what was asked for. */
async function ask(token: string | undefined, route: string, names: Names, path = address(route, names)): Promise<string> {
  const method = route.split(' ')[0]!;
  const { status, body } = await t.rest(token, method, path, cases[route]?.body?.(names));
  return `${status} ${withoutNames(JSON.stringify(body), names)}`;
}

test('every route of the document has a case here, and every case is a route', () => {
  expect(routes.filter((route) => !(route in cases))).toEqual([]);
  expect(Object.keys(cases).filter((route) => !routes.includes(route))).toEqual([]);
  expect(Object.keys(methods).sort()).toEqual(Object.keys(rpcParams).sort());
});

describe('spec: planner 5: REST', () => {
  const named = Object.keys(cases).filter((route) => !cases[route]!.list);

  test.each(named)('%s: a hidden thing answers as one that does not exist', async (route) => {
    for (const [who, token, hidden] of outsiders()) {
      const answer = await ask(token, route, hidden);
      expect([who, answer]).toEqual([who, await ask(token, route, madeUp(hidden))]);
      expect([who, answer.slice(0, 3)]).toEqual([who, String(cases[route]!.outsider ?? 404)]);
      expect(answer).not.toContain(secret);
    }
    if (/organization/.test(route) || cases[route]!.outsider || route === 'POST /projects') return;
    expect(await ask(t.tokens.viewer, route, ops)).toBe(await ask(t.tokens.viewer, route, madeUp(ops)));
  });

  test.each(Object.keys(cases).filter((route) => cases[route]!.list))('%s tells everybody only of their own', async (route) => {
    for (const [who, token, hidden] of outsiders()) {
      const { status, body } = await t.rest(token, 'GET', address(route, hidden));
      const own = token === t.tokens.stranger ? [] : token === rivalToken ? [rival] : [web];
      const told = Object.values(hidden).filter((name) => !own.some((names) => Object.values(names).includes(name)));
      const text = JSON.stringify(body);
      expect([who, status, told.filter((name) => text.includes(JSON.stringify(name)))]).toEqual([who, 200, []]);
      if (own.length === 0) expect(text).not.toContain(secret);
    }
    expect((await t.rest(t.tokens.stranger, 'GET', address(route, web))).body.items ?? []).toEqual([]);
  });

  test.each(Object.keys(filters))('%s: a filter by a hidden name answers as one by a name that nothing has', async (route) => {
    for (const [, token, hidden] of outsiders()) {
      const answers = [hidden, madeUp(hidden)].map((names) =>
        ask(token, route, names, `${address(route, names)}?${filters[route]!(names)}`),
      );
      const [real, unreal] = await Promise.all(answers);
      expect(real).toBe(unreal);
    }
  });

  test('GET /search over everything finds for each only what is theirs', async () => {
    const search = async (token: string): Promise<string> => {
      const { status, body } = await t.rest(token, 'GET', `/api/v1/search?q=${secret}&limit=50`);
      expect(status).toBeLessThan(500);
      return JSON.stringify(body);
    };
    expect(await search(t.tokens.admin)).toContain(web.item);
    expect(await search(t.tokens.stranger)).not.toContain(secret);
    const [inside, beside] = [await search(t.tokens.viewer), await search(rivalToken)];
    expect([inside.includes(`"${web.item}"`), inside.includes(`"${ops.item}"`), inside.includes(`"${rival.item}"`)]).toEqual([
      true, false, false,
    ]);
    expect([beside.includes(`"${web.item}"`), beside.includes(`"${rival.item}"`)]).toEqual([false, true]);
  });

  test('a list that can be filtered by name has a case for it', async () => {
    const { body } = await t.rest(undefined, 'GET', '/api/openapi.json');
    const paths = body['paths'] as Record<string, { get?: { parameters?: { in: string; name: string }[] } }>;
    const open = Object.keys(cases).filter((route) => cases[route]!.list);
    const filtered = open.filter((route) => {
      const parameters = paths[route.split(' ')[1]!]?.get?.parameters ?? [];
      return parameters.some((parameter) => parameter.in === 'query' && parameter.name !== 'limit');
    });
    expect(Object.keys(filters).sort()).toEqual(filtered.sort());
  });

  test.each(named.filter((route) => (cases[route]!.viewer ?? (route.startsWith('GET') ? 200 : 403)) === 403))(
    '%s: a viewer, who may see its project, is forbidden',
    async (route) => {
      const answer = await ask(t.tokens.viewer, route, web);
      expect(answer).toMatch(/^403 .*"error":"forbidden"/);
      expect(answer).not.toContain(secret);
      // Nor does it learn what is there that only others see.
      const unknown = { ...web, provider: madeUp(web).provider };
      expect(await ask(t.tokens.viewer, route, unknown)).toBe(answer);
    },
  );

  test('without a token every route gives one and the same answer, real or not', async () => {
    const answers = new Set<string>();
    for (const route of routes) {
      for (const names of [web, madeUp(web)]) answers.add(await ask(undefined, route, names));
    }
    expect([...answers]).toEqual([expect.stringMatching(/^401 .*"unauthenticated"/)]);
  });

  test('a key of somebody else\'s request brings nobody their answer', async () => {
    const key = { 'idempotency-key': 'the-same' };
    const path = '/api/v1/projects/WEB/items';
    const made = await t.rest(t.tokens.engineer, 'POST', path, ticket, key);
    expect(made.status).toBe(201);
    expect((await t.rest(t.tokens.stranger, 'POST', path, ticket, key)).status).toBe(404);
    expect((await t.rest(t.tokens.viewer, 'POST', path, ticket, key)).status).toBe(403);
    expect((await t.rest(t.tokens.engineer, 'POST', path, ticket, key)).body).toEqual(made.body);
  });

  test('what needs no token names nobody\'s things', async () => {
    for (const path of ['/healthz', '/metrics', '/api/openapi.json', '/nothing', '/api/v1/nothing']) {
      const text = await (await fetch(t.address + path)).text();
      const told = [web, ops, rival].flatMap((names) => Object.values(names)).filter((name) => text.includes(`"${name}"`));
      expect([path, told]).toEqual([path, []]);
      expect(text).not.toContain(secret);
    }
  });
});

describe('spec: planner 5: references inside a request to what the asker may not see', () => {
  const inside: [string, string, string, (names: Names) => unknown][] = [
    ['an item\'s epic', 'POST', '/projects/WEB/items', ({ epic }) => ({ ...ticket, epic })],
    ['a dependency\'s other end', 'POST', '/items/{item}/dependencies', ({ other }) => ({ type: 'blocks', to: other })],
    [
      'an update of a changeset',
      'POST',
      '/projects/WEB/changesets',
      ({ item }) => ({ title: 'x', operations: [{ kind: 'update_item', update: { item, title: 'x' } }] }),
    ],
    [
      'an edge of a changeset',
      'POST',
      '/projects/WEB/changesets',
      ({ item, other }) => ({
        title: 'x',
        operations: [{ kind: 'add_dependency', dependency: { from: item, to: other, type: 'blocks' } }],
      }),
    ],
  ];

  test.each(inside)('%s answers as a key that nothing has', async (_what, method, path, body) => {
    for (const hidden of [ops, rival]) {
      const [real, unreal] = await Promise.all(
        [hidden, madeUp(hidden)].map(async (names) => {
          const answer = await t.rest(t.tokens.engineer, method, `/api/v1${path.replace('{item}', web.item)}`, body(names));
          return `${answer.status} ${withoutNames(JSON.stringify(answer.body), names)}`;
        }),
      );
      expect(real).toBe(unreal);
      expect(real).toMatch(/^4/);
    }
  });
});

describe('spec: planner 5: the socket', () => {
  const named = Object.entries(methods).flatMap(([method, params]) =>
    params === 'names nothing' ? [] : [[method, params] as const],
  );

  test.each(named)('%s: a hidden thing answers as one that does not exist', async (method, params) => {
    for (const [who, token, hidden] of [...outsiders(), ['a viewer of another project', t.tokens.viewer, ops] as const]) {
      const socket = await t.socket({ token });
      for (const index of params(hidden).keys()) {
        const [real, unreal] = [
          await socket.call(method, params(hidden)[index]),
          await socket.call(method, params(madeUp(hidden))[index]),
        ];
        expect([who, withoutNames(JSON.stringify(real.error), hidden)]).toEqual([
          who,
          withoutNames(JSON.stringify(unreal.error), madeUp(hidden)),
        ]);
        expect(real.error?.code).toBe(-32004);
      }
      expect(socket.frames.filter(({ method: told }) => told?.startsWith('stream.'))).toEqual([]);
      socket.ws.terminate();
    }
  });

  test.each(['planner.send', 'planner.cancel', 'run.cancel'])('%s: a viewer, who may watch, is forbidden', async (method) => {
    const params = methods[method];
    if (typeof params !== 'function') throw new Error(`${method} names nothing`);
    const socket = await t.socket({ token: t.tokens.viewer });
    for (const given of params(web)) expect((await socket.call(method, given)).error).toMatchObject({ code: -32003 });
    socket.ws.terminate();
  });
});

test('spec: planner 5: no outsider has changed anything', async () => {
  const count = async (): Promise<unknown> =>
    t.database.query(
      `SELECT (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM items) AS items,
              (SELECT count(*) FROM role_bindings) AS bindings, (SELECT count(*) FROM planner_messages) AS messages,
              (SELECT count(*) FROM bounded_runs WHERE cancel_requested_at IS NULL) AS runs`,
    );
  const before = await count();
  for (const route of Object.keys(cases)) {
    for (const [, token, hidden] of outsiders()) await ask(token, route, hidden);
    if (!route.startsWith('GET')) await ask(t.tokens.viewer, route, web);
  }
  expect(await count()).toEqual(before);
});

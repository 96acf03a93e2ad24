// Rights at the API: who binds what where, narrowed tokens, and what a socket that loses a right is told
// (spec: planner 5).

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { registerRepository, startRun } from '../bounded/index.ts';
import { systemActor, type Action, type Role } from '../domain/actor.ts';
import { createSession } from '../planner/conversation.ts';
import { transaction } from '../store/database.ts';
import { createOrganization, createProject } from '../store/projects.ts';
import { bindRole, deleteRoleBinding, listRoleBindings } from '../store/role-bindings.ts';
import type { Scope } from '../store/rights.ts';
import { createSubject } from '../store/tokens.ts';
import { inHours, makeToken, startTestApi, type TestApi, type TestSocket } from './support/api.ts';
import { packet } from './support/bounded-attempt.ts';

let t: TestApi;
const bindings = '/api/v1/role-bindings';
const admin = { subject: 'admin', kind: 'human' } as const;

beforeAll(async () => {
  t = await startTestApi();
  await transaction(t.database, async (tx) => {
    const { id: organization_id } = await createOrganization(tx, systemActor, { key: 'rival', name: 'Rival' });
    await createProject(tx, systemActor, { organization_id, key: 'RIV', name: 'Rival\'s' });
  });
});
afterAll(() => t.close());

/** A new human with a role, and a token that carries `actions`, or all. */
async function someone(subject: string, role?: Role, scope: Scope = {}, actions?: Action[]): Promise<string> {
  await transaction(t.database, async (tx) => {
    await createSubject(tx, { subject, kind: 'human', name: subject });
    if (role) await bindRole(tx, systemActor, { subject, role, ...scope });
  });
  return tokenOf(subject, actions);
}

async function tokenOf(subject: string, actions?: Action[]): Promise<string> {
  return (await makeToken(t.database, { subject, expires_at: inHours(1), ...(actions ? { actions } : {}) })).token;
}

const bind = (token: string, subject: string, role: string, at: { project?: string; organization?: string } = {}) =>
  t.rest(token, 'POST', bindings, { subject, role, ...at });

describe('spec: planner 5: role bindings over REST', () => {
  let olga: string;
  beforeAll(async () => {
    olga = await someone('olga', 'organization-admin', { organization_id: t.web.organization_id });
    await someone('new');
  });

  test('spec: planner 5.3: an organization\'s administrator binds in it and in its projects, and nowhere else', async () => {
    expect((await bind(olga, 'new', 'organization-admin', { organization: 'acme' })).status).toBe(201);
    expect((await bind(olga, 'new', 'viewer', { project: 'OPS' })).body).toMatchObject({
      subject: 'new',
      role: 'viewer',
      project: 'OPS',
    });
    expect(await bind(olga, 'new', 'platform-admin')).toMatchObject({ status: 403, body: { error: 'forbidden' } });
    for (const at of [{ organization: 'rival' }, { project: 'RIV' }]) {
      expect(await bind(olga, 'new', 'viewer', at)).toMatchObject({ status: 404, body: { error: 'not_found' } });
    }
  });

  test('no role below an administrator\'s may bind', async () => {
    for (const token of [t.tokens.engineer, t.tokens.viewer]) {
      expect((await bind(token, 'new', 'viewer', { project: 'WEB' })).status).toBe(403);
    }
    expect((await bind(t.tokens.stranger, 'new', 'viewer', { project: 'WEB' })).status).toBe(404);
  });

  test('who may not bind somewhere learns nothing of who is there: an unknown subject answers alike', async () => {
    const known = await bind(t.tokens.engineer, 'admin', 'viewer', { project: 'WEB' });
    const unknown = await bind(t.tokens.engineer, 'nobody', 'viewer', { project: 'WEB' });
    expect(known.body).toEqual(unknown.body);
  });

  test('listed by subject, organization and project, as far as the asker may read them', async () => {
    const list = async (token: string, query = '') =>
      (await t.rest(token, 'GET', `${bindings}${query}`)).body.items!.map(
        ({ subject, role, project, organization }) => `${subject} ${role} ${project ?? organization ?? '-'}`,
      );
    expect(await list(t.tokens.admin, '?project=WEB')).toEqual(['engineer engineer WEB', 'viewer viewer WEB']);
    expect(await list(t.tokens.admin, '?organization=acme')).toEqual([
      'olga organization-admin acme',
      'new organization-admin acme',
    ]);
    expect(await list(t.tokens.admin, '?subject=new')).toEqual(['new organization-admin acme', 'new viewer OPS']);
    expect(await list(t.tokens.viewer)).toEqual(['engineer engineer WEB', 'viewer viewer WEB']);
    expect(await list(t.tokens.viewer, '?project=OPS')).toEqual([]);
    expect(await list(olga, '?subject=admin')).toEqual([]);
    expect(await list(t.tokens.admin, '?subject=admin')).toEqual(['admin platform-admin -']);
  });

  test('read page by page, also while bindings come to an end', async () => {
    const pages: unknown[][] = [];
    for (let after: string | undefined = ''; after !== undefined; ) {
      const { body } = await t.rest(t.tokens.admin, 'GET', `${bindings}?limit=2${after === '' ? '' : `&after=${after}`}`);
      pages.push(body.items!);
      after = body['next'] as string | undefined;
    }
    expect(pages.map(({ length }) => length)).toEqual([2, 2, 2]);
    expect(pages.flat()).toEqual(await listRoleBindings(t.database, admin));
    expect((await t.rest(t.tokens.admin, 'GET', `${bindings}?after=018f0000-0000-7000-8000-0000000000ff`)).status).toBe(200);
    expect((await t.rest(t.tokens.admin, 'GET', `${bindings}?after=x`)).status).toBe(400);
  });

  test('spec: planner 5.6: a binding that is made, and one that is ended, counts from the next request on', async () => {
    const token = await someone('nora');
    const look = async () => (await t.rest(token, 'GET', '/api/v1/projects/WEB')).status;
    expect(await look()).toBe(404);
    const { body } = await bind(olga, 'nora', 'viewer', { project: 'WEB' });
    expect(await look()).toBe(200);
    expect((await t.rest(olga, 'DELETE', `${bindings}/${body['id']}`)).status).toBe(204);
    expect(await look()).toBe(404);
    expect((await t.rest(olga, 'DELETE', `${bindings}/${body['id']}`)).status).toBe(404);
  });

  test('a hidden binding, an unknown one and an id that is none answer alike', async () => {
    const [hidden] = await listRoleBindings(t.database, admin, { subject: 'admin' });
    const answers = new Set<string>();
    for (const id of [hidden!.id, '018f0000-0000-7000-8000-0000000000ff', 'none']) {
      const { status, body } = await t.rest(olga, 'DELETE', `${bindings}/${id}`);
      answers.add(JSON.stringify([status, body]));
    }
    expect([...answers]).toEqual([expect.stringContaining('404')]);
    expect(await listRoleBindings(t.database, admin, { subject: 'admin' })).toHaveLength(1);
  });
});

describe('spec: planner 5: a token narrows its subject\'s actions', () => {
  test('spec: planner 1.18: what it does not carry is refused, and said to be the token\'s lack', async () => {
    const token = await tokenOf('engineer', ['tracker.read', 'project.read']);
    expect((await t.rest(token, 'GET', '/api/v1/projects/WEB/items')).status).toBe(200);
    const { status, body } = await t.rest(token, 'POST', '/api/v1/projects/WEB/items', { kind: 'ticket', title: 'x' });
    expect({ status, ...body }).toMatchObject({ status: 403, message: expect.stringMatching(/token .*tracker\.write/) });
  });

  test('spec: planner 1.18: what its subject may not do, it does not give', async () => {
    const token = await tokenOf('viewer', ['tracker.read', 'tracker.write']);
    const { status } = await t.rest(token, 'POST', '/api/v1/projects/WEB/items', { kind: 'ticket', title: 'x' });
    expect(status).toBe(403);
  });

  test('spec: planner 1.16, 1.18: a service whose token carries run.manage alone moves tickets through execution, and reads and writes nothing', async () => {
    await transaction(t.database, async (tx) => {
      await createSubject(tx, { subject: 'runner', kind: 'service', name: 'Runner' });
      await bindRole(tx, systemActor, { subject: 'runner', role: 'organization-admin', organization_id: t.web.organization_id });
    });
    const token = await tokenOf('runner', ['run.manage']);
    const made = await t.rest(t.tokens.engineer, 'POST', '/api/v1/projects/WEB/items', { kind: 'ticket', title: 'Run me' });
    const path = `/api/v1/items/${made.body['key']}`;
    const move = async (who: string, state: string) => (await t.rest(who, 'POST', `${path}/transition`, { state })).status;
    expect(await move(token, 'in_progress')).toBe(400);
    expect(await move(t.tokens.engineer, 'ready')).toBe(200);
    for (const state of ['in_progress', 'waiting_for_answer', 'in_progress', 'done']) {
      expect(await move(token, state)).toBe(200);
    }
    expect(await move(token, 'backlog')).toBe(400);
    expect((await t.rest(token, 'GET', path)).status).toBe(404);
    expect((await t.rest(token, 'PATCH', path, { version: 1, title: 'x' })).status).toBe(404);
  });

  test('spec: planner 1.16: a service without run.manage moves nothing', async () => {
    await transaction(t.database, async (tx) => {
      await createSubject(tx, { subject: 'helper', kind: 'service', name: 'Helper' });
      await bindRole(tx, systemActor, { subject: 'helper', role: 'engineer', project_id: t.web.id });
    });
    const made = await t.rest(t.tokens.engineer, 'POST', '/api/v1/projects/WEB/items', { kind: 'ticket', title: 'Not me' });
    const answer = await t.rest(await tokenOf('helper'), 'POST', `/api/v1/items/${made.body['key']}/transition`, {
      state: 'ready',
    });
    expect(answer).toMatchObject({ status: 403, body: { error: 'forbidden' } });
  });
});

describe('spec: planner 5: a subscription whose right is lost closes with forbidden', () => {
  const closings = (socket: TestSocket) =>
    socket.frames.filter(({ method }) => method === 'stream.closed').map(({ params }) => params);

  async function watchEverything(socket: TestSocket): Promise<void> {
    const session = (
      await transaction(t.database, (tx) => createSession(tx, { subject: 'engineer', kind: 'human' }, { project: 'WEB' }))
    ).id;
    const calls = [
      await socket.call('stream.subscribe', { subscription: 'events', stream: 'project:WEB' }),
      await socket.call('planner.watch', { subscription: 'session', session }),
      await socket.call('run.watch', { subscription: 'run', run: await aRun() }),
    ];
    expect(calls.map(({ error }) => error)).toEqual([undefined, undefined, undefined]);
  }

  let runId: string | undefined;
  async function aRun(): Promise<string> {
    if (runId) return runId;
    await transaction(t.database, (tx) =>
      registerRepository(tx, { machine: 'm', path: '/srv/shop', project: 'WEB', alias: 'shop' }),
    );
    const request = { repo: 'shop', host: 'codex', role: 'deep_reasoner', packet } as const;
    const { run } = await startRun(t.database, { subject: 'engineer', kind: 'human' }, request);
    return (runId = run);
  }

  const all = ['events', 'run', 'session'].map((subscription) => ({ subscription, reason: 'forbidden' }));

  test('spec: planner 5.10: a watch of a session, of a run, and of a project\'s events', async () => {
    const token = await someone('wendy', 'viewer', { project_id: t.web.id });
    const socket = await t.socket({ token });
    await watchEverything(socket);
    const [binding] = await listRoleBindings(t.database, admin, { subject: 'wendy' });
    await transaction(t.database, (tx) => deleteRoleBinding(tx, admin, binding!.id));
    await socket.until(() => (closings(socket).length === 3 ? true : undefined));
    expect(closings(socket)).toEqual(expect.arrayContaining(all));
    expect((await socket.call('system.ping')).result).toMatchObject({ subject: 'wendy' });
    socket.ws.terminate();
  });

  test('spec: planner 5.10: a token that is refreshed by a narrower one takes the watches along that it does not carry', async () => {
    const token = await someone('nell', 'viewer', { organization_id: t.web.organization_id });
    const socket = await t.socket({ token });
    await watchEverything(socket);
    await socket.call('auth.refresh', { token: await tokenOf('nell', ['bounded_run.read']) });
    await socket.until(() => (closings(socket).length === 2 ? true : undefined));
    expect(closings(socket)).toEqual(expect.arrayContaining(all.filter(({ subscription }) => subscription !== 'run')));
    socket.ws.terminate();
  });

  test('it goes on while another binding of the subject still has the right', async () => {
    const token = await someone('zoe', 'viewer', { organization_id: t.web.organization_id });
    await bind(t.tokens.admin, 'zoe', 'engineer', { project: 'WEB' });
    const socket = await t.socket({ token });
    await watchEverything(socket);
    const [first, second] = await listRoleBindings(t.database, admin, { subject: 'zoe' });
    await transaction(t.database, (tx) => deleteRoleBinding(tx, admin, first!.id));
    await t.rest(t.tokens.engineer, 'POST', '/api/v1/projects/WEB/items', { kind: 'ticket', title: 'Seen' });
    await socket.until(() => socket.notes('stream.event', 'events').find(({ type }) => type === 'item.created'));
    expect(closings(socket)).toEqual([]);
    await transaction(t.database, (tx) => deleteRoleBinding(tx, admin, second!.id));
    await socket.until(() => (closings(socket).length === 3 ? true : undefined));
    socket.ws.terminate();
  });
});

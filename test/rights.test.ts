import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { actions, systemActor, type Action, type Principal, type Role } from '../domain/actor.ts';
import type { Tx } from '../store/database.ts';
import { createItem, getItem, transitionItem, updateItem } from '../store/items.ts';
import {
  createOrganization,
  createProject,
  listOrganizations,
  listProjects,
  visibleOrganization,
  visibleProject,
} from '../store/projects.ts';
import { can } from '../store/rights.ts';
import { createRoleBinding, deleteRoleBinding, listRoleBindings } from '../store/role-bindings.ts';
import { addDependency, listDependencies } from '../store/dependencies.ts';
import { createTracker, subject, type Tracker } from './support/tracker.ts';

let t: Tracker;
beforeAll(async () => {
  t = await createTracker();
});
afterAll(() => t.drop());

const failing = (code: string) => expect.objectContaining({ code });
const granted = async (principal: Principal, scope: Parameters<typeof can>[3]): Promise<Action[]> => {
  const found: Action[] = [];
  for (const action of actions) if (await can(t.database, principal, action, scope)) found.push(action);
  return found;
};
const reads = actions.filter((action) => action.endsWith('.read'));

describe('spec: planner 5: roles', () => {
  const writes = ['tracker.write', 'changeset.decide', 'knowledge.write', 'bounded_run.start', 'bounded_run.cancel'];

  test.each<[Role, readonly string[], readonly string[]]>([
    ['engineer', [...reads, ...writes], ['knowledge.read', 'knowledge.write', 'skill.read']],
    ['approver', [...reads, 'changeset.decide'], ['knowledge.read', 'skill.read']],
    ['viewer', reads, ['knowledge.read', 'skill.read']],
  ])('spec: planner 5.2, 5.5: %s bound at a project grants this there, its organization\'s knowledge and skills, nothing elsewhere', async (
    role,
    expected,
    shared,
  ) => {
    const who = await subject(t.database, `project-${role}`, 'human', role, { project_id: t.web.id });
    expect((await granted(who, { project_id: t.web.id })).sort()).toEqual([...expected].sort());
    expect(await granted(who, { organization_id: t.organization.id })).toEqual(['organization.read', ...shared]);
    expect(await granted(who, { project_id: t.ops.id })).toEqual([]);
    expect(await granted(who, {})).toEqual(['skill.read']);
  });

  test('spec: planner 5.2: organization-admin may do all but organization.create, in every project of the organization', async () => {
    const scope = { organization_id: t.organization.id };
    const who = await subject(t.database, 'olga', 'human', 'organization-admin', scope);
    const all = actions.filter((action) => action !== 'organization.create');
    expect(await granted(who, scope)).toEqual(all);
    expect(await granted(who, { project_id: t.ops.id })).toEqual(all);
    expect(await granted(who, {})).toEqual(['skill.read']);
  });

  test('spec: planner 5.1, 5.2: platform-admin may do everything everywhere; who is bound to nothing, nothing', async () => {
    expect(await granted(t.admin, {})).toEqual([...actions]);
    expect(await granted(t.admin, { project_id: t.ops.id })).toEqual([...actions]);
    for (const scope of [{ project_id: t.web.id }, {}]) expect(await granted(t.stranger, scope)).toEqual([]);
  });

  test('spec: planner 5.4, 1.18: a subject has the union of its bindings, narrowed by its token', async () => {
    const who = await subject(t.database, 'uma', 'human', 'viewer', { organization_id: t.organization.id });
    await t.run((tx) => createRoleBinding(tx, t.admin, { subject: 'uma', role: 'approver', project: 'WEB' }));
    const has = (principal: Principal, action: Action, project = t.web) =>
      can(t.database, principal, action, { project_id: project.id });
    expect(await has(who, 'changeset.decide')).toBe(true);
    expect(await has(who, 'changeset.decide', t.ops)).toBe(false);
    expect(await has(who, 'tracker.read', t.ops)).toBe(true);
    const narrowed: Principal = { ...who, actions: ['changeset.decide', 'tracker.write'] };
    expect(await has(narrowed, 'changeset.decide')).toBe(true);
    expect(await has(narrowed, 'tracker.read')).toBe(false);
    expect(await has(narrowed, 'tracker.write')).toBe(false);
  });

  test('spec: planner 5.6: a revoked binding counts from the very next check on', async () => {
    const who = await subject(t.database, 'rita', 'human');
    const { id } = await t.run((tx) =>
      createRoleBinding(tx, t.admin, { subject: 'rita', role: 'engineer', project: 'WEB' }),
    );
    expect(await can(t.database, who, 'tracker.write', { project_id: t.web.id })).toBe(true);
    await t.run((tx) => deleteRoleBinding(tx, t.admin, id));
    expect(await can(t.database, who, 'tracker.write', { project_id: t.web.id })).toBe(false);
  });
});

describe('spec: planner 5: role bindings', () => {
  test('making and ending one leaves one event each where it is bound', async () => {
    await subject(t.database, 'eve', 'human');
    const made = await t.run((tx) =>
      createRoleBinding(tx, t.admin, { subject: 'eve', role: 'viewer', organization: 'acme' }),
    );
    await t.run((tx) => deleteRoleBinding(tx, t.admin, made.id));
    const events = await t.database.query(
      'SELECT scope, type, actor, payload FROM events WHERE entity_id = $1 ORDER BY seq',
      [made.id],
    );
    const scope = `organization:${t.organization.id}`;
    const actor = { kind: 'human', subject: 'ada' };
    expect(events).toEqual([
      { scope, type: 'role_binding.created', actor, payload: { subject: 'eve', role: 'viewer' } },
      { scope, type: 'role_binding.deleted', actor, payload: { subject: 'eve', role: 'viewer' } },
    ]);
  });

  test.each([
    ['a role where it can\'t be bound', { subject: 'sam', role: 'platform-admin', project: 'WEB' }, 'invalid_argument'],
    ['a role at the platform that is none of it', { subject: 'sam', role: 'viewer' }, 'invalid_argument'],
    ['two scopes', { subject: 'sam', role: 'viewer', project: 'WEB', organization: 'acme' }, 'invalid_argument'],
    ['an unknown subject', { subject: 'nobody', role: 'viewer', project: 'WEB' }, 'not_found'],
    ['an unknown project', { subject: 'sam', role: 'viewer', project: 'NONE' }, 'not_found'],
    ['one that exists', { subject: 'vic', role: 'viewer', project: 'WEB' }, 'already_exists'],
  ] as const)('spec: planner 5.3: %s is refused', async (_what, input, code) => {
    await expect(t.run((tx) => createRoleBinding(tx, t.admin, { ...input }))).rejects.toEqual(failing(code));
  });

  test('the last platform-admin stays: also of two that end each other at once one is left', async () => {
    const first = (await listRoleBindings(t.database, t.admin)).filter(({ role }) => role === 'platform-admin');
    expect(first).toHaveLength(1);
    await expect(t.run((tx) => deleteRoleBinding(tx, t.admin, first[0]!.id))).rejects.toEqual(failing('conflict'));
    await subject(t.database, 'ruth', 'human');
    const second = await t.run((tx) => createRoleBinding(tx, t.admin, { subject: 'ruth', role: 'platform-admin' }));
    const ends = await Promise.allSettled([
      t.run((tx) => deleteRoleBinding(tx, t.admin, second.id)),
      t.run((tx) => deleteRoleBinding(tx, { subject: 'ruth', kind: 'human' }, first[0]!.id)),
    ]);
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const left = await t.database.query<{ subject: string }>(
      `SELECT subject FROM role_bindings WHERE role = 'platform-admin'`,
    );
    expect(left).toHaveLength(1);
    if (left[0]!.subject === 'ruth') {
      const ruth: Principal = { subject: 'ruth', kind: 'human' };
      await t.run((tx) => createRoleBinding(tx, ruth, { subject: t.admin.subject, role: 'platform-admin' }));
    }
  });

  test('spec: planner 5.1: nobody makes or ends a binding without role_binding.manage there, and nobody learns of hidden ones', async () => {
    const bind = (who: Principal) =>
      t.run((tx) => createRoleBinding(tx, who, { subject: 'sam', role: 'viewer', project: 'WEB' }));
    await expect(bind(t.engineer)).rejects.toEqual(failing('forbidden'));
    await expect(bind(t.stranger)).rejects.toEqual(failing('not_found'));
    const [own] = await listRoleBindings(t.database, t.admin, { subject: 'vic' });
    await expect(t.run((tx) => deleteRoleBinding(tx, t.engineer, own!.id))).rejects.toEqual(failing('forbidden'));
    await expect(t.run((tx) => deleteRoleBinding(tx, t.stranger, own!.id))).rejects.toEqual(failing('not_found'));
    expect(await listRoleBindings(t.database, t.stranger)).toEqual([]);
    const seen = await listRoleBindings(t.database, t.viewer);
    expect(seen.every(({ project }) => project === 'WEB')).toBe(true);
    expect(seen.length).toBeGreaterThan(2);
  });
});

describe('spec: planner 5: what may not be read is not found', () => {
  test('a hidden project answers as an unknown one; a readable one in which the right lacks is forbidden', async () => {
    const look = (who: Principal, key: string, action: Action) => visibleProject(t.database, who, key, action);
    await expect(look(t.stranger, 'WEB', 'tracker.read')).rejects.toThrow('There is no project "WEB".');
    await expect(look(t.stranger, 'NONE', 'tracker.read')).rejects.toThrow('There is no project "NONE".');
    await expect(look(t.viewer, 'WEB', 'tracker.write')).rejects.toEqual(failing('forbidden'));
    expect((await look(t.viewer, 'WEB', 'tracker.read')).organization_key).toBe('acme');
    await expect(visibleOrganization(t.database, t.stranger, 'acme', 'organization.read')).rejects.toEqual(
      failing('not_found'),
    );
    await expect(visibleOrganization(t.database, t.viewer, 'acme', 'project.create')).rejects.toEqual(
      failing('forbidden'),
    );
  });

  test('a hidden item answers as an unknown one', async () => {
    const { key } = await t.item({});
    for (const unknown of [key, 'WEB-999999', 'NONE-1', 'no key', '']) {
      const message = `There is no item ${JSON.stringify(unknown)}.`;
      await expect(getItem(t.database, t.stranger, unknown)).rejects.toThrow(message);
    }
  });

  test('reading takes tracker.read, writing tracker.write', async () => {
    const { key } = await t.item({});
    expect(await getItem(t.database, t.viewer, key)).toMatchObject({ key });
    expect(await listDependencies(t.database, t.approver, key)).toMatchObject({ blocks: [] });
    for (const who of [t.viewer, t.approver]) {
      const attempt = (write: (tx: Tx) => Promise<unknown>) =>
        expect(t.run(write)).rejects.toEqual(failing('forbidden'));
      await attempt((tx) => createItem(tx, who, 'WEB', { kind: 'ticket', title: 'x' }));
      await attempt((tx) => updateItem(tx, who, key, { version: 1, title: 'x' }));
      await attempt((tx) => transitionItem(tx, who, key, { state: 'ready' }));
      await attempt((tx) => addDependency(tx, who, key, { type: 'blocks', to: key }));
    }
  });

  test('lists hold what may be read and nothing else', async () => {
    const keys = async (who: Principal) => (await listProjects(t.database, who)).map(({ key }) => key);
    expect(await keys(t.viewer)).toEqual(['WEB']);
    expect(await keys(t.admin)).toEqual(['OPS', 'WEB']);
    expect(await keys(t.stranger)).toEqual([]);
    expect(await listOrganizations(t.database, t.viewer)).toEqual([t.organization]);
    expect(await listOrganizations(t.database, t.stranger)).toEqual([]);
  });
});

describe('spec: planner 1: keys', () => {
  test.each(['W', 'web', '1WEB', 'WEB-1', 'W'.repeat(11), 'WEB\n'])('spec: planner 1.12: %j is no project key', async (key) => {
    const input = { organization_id: t.organization.id, key, name: 'x' };
    await expect(t.run((tx) => createProject(tx, systemActor, input))).rejects.toEqual(failing('invalid_argument'));
  });

  test.each(['a', 'Acme', '1a', '-a', 'a'.repeat(33), 'a_b'])('spec: planner 1.13: %j is no organization key', async (key) => {
    await expect(t.run((tx) => createOrganization(tx, systemActor, { key, name: 'x' }))).rejects.toEqual(
      failing('invalid_argument'),
    );
  });

  test('spec: planner 1.12: a key is taken once', async () => {
    const input = { organization_id: t.organization.id, key: 'WEB', name: 'x' };
    await expect(t.run((tx) => createProject(tx, systemActor, input))).rejects.toEqual(failing('already_exists'));
    await expect(t.run((tx) => createOrganization(tx, systemActor, { key: 'acme', name: 'x' }))).rejects.toEqual(
      failing('already_exists'),
    );
  });
});

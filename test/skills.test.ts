// Skills in the store: drafts, versions, pins, who reads and writes them (spec: planner 3).

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemActor, type Principal } from '../domain/actor.ts';
import type { NewSkill, Skill } from '../domain/skill.ts';
import { createOrganization, createProject, type Project } from '../store/projects.ts';
import {
  listPins,
  listProjectSkills,
  pinSkill,
  readSkill,
  skillsOf,
  unpinSkill,
} from '../store/skill-pins.ts';
import {
  createSkill,
  getSkill,
  getSkillVersion,
  listSkills,
  listSkillVersions,
  publishSkill,
  updateSkill,
} from '../store/skills.ts';
import { createTracker, projectEvents, subject, type Tracker } from './support/tracker.ts';

let t: Tracker;
/** organization-admin of acme. */
let olga: Principal;
/** engineer in a project of another organization. */
let other: { project: Project; engineer: Principal };
beforeAll(async () => {
  t = await createTracker();
  olga = await subject(t.database, 'olga', 'human', 'organization-admin', { organization_id: t.organization.id });
  const globex = await t.run((tx) => createOrganization(tx, systemActor, { key: 'globex', name: 'Globex' }));
  const project = await t.run((tx) =>
    createProject(tx, systemActor, { organization_id: globex.id, key: 'GLX', name: 'GLX' }),
  );
  other = { project, engineer: await subject(t.database, 'gus', 'human', 'engineer', { project_id: project.id }) };
});
afterAll(() => t.drop());

const content = { description: 'How we plan.', body: 'Plan.' };
const owner = { platform: {}, organization: { organization: 'acme' }, project: { project: 'WEB' } };
function create(scope: NewSkill['scope'], name: string, fields: Partial<NewSkill> = {}): Promise<Skill> {
  return t.run((tx) => createSkill(tx, t.admin, { scope, ...owner[scope], name, ...content, ...fields }));
}
const publish = (id: string, version = 1) => t.run((tx) => publishSkill(tx, t.admin, id, { version }));
async function published(scope: NewSkill['scope'], name: string, fields: Partial<NewSkill> = {}): Promise<Skill> {
  const skill = await create(scope, name, fields);
  await publish(skill.id);
  return skill;
}
const pin = (name: string, input: { version?: number; disabled?: boolean }) =>
  t.run((tx) => pinSkill(tx, t.admin, 'WEB', name, input));
const resolved = async (name: string, project = t.web) =>
  (await skillsOf(t.database, project)).find((each) => each.name === name);
const events = async (scope: string) =>
  t.database.query<{ type: string; entity_key: string; payload: object; actor: object }>(
    'SELECT type, entity_key, payload, actor FROM events WHERE scope = $1 ORDER BY seq',
    [scope],
  );

describe('spec: planner 3: drafts and versions', () => {
  test('spec: planner 3.4: a draft is published as version 1, 2, ...; a published version never changes', async () => {
    const files = [{ path: 'templates/epic.md', content: 'Epic' }];
    const skill = await create('organization', 'release', { files });
    expect(skill).toMatchObject({ scope: 'organization', organization: 'acme', name: 'release', latest: 0 });
    expect(skill.draft).toEqual({ version: 1, ...content, files });
    const first = await publish(skill.id);
    expect(first).toMatchObject({ version: 1, ...content, files, published_by: { kind: 'human', subject: 'ada' } });

    const changed = await t.run((tx) => updateSkill(tx, olga, skill.id, { version: 1, body: 'Better.' }));
    expect(changed).toMatchObject({ latest: 1, draft: { ...content, version: 2, body: 'Better.', files } });
    await publish(skill.id, 2);
    await t.run((tx) => updateSkill(tx, olga, skill.id, { version: 2, description: 'New.', files: [] }));
    expect(await getSkillVersion(t.database, t.viewer, skill.id, 1)).toEqual(first);
    expect(await getSkillVersion(t.database, t.viewer, skill.id, 2)).toMatchObject({ body: 'Better.', files });
    await expect(getSkillVersion(t.database, t.viewer, skill.id, 3)).rejects.toThrow('no version 3; the newest is 2');
    const listed = await listSkillVersions(t.database, t.viewer, skill.id, { limit: 1 });
    expect(listed).toMatchObject({ items: [{ version: 2 }], next: 2 });
    const rest = await listSkillVersions(t.database, t.viewer, skill.id, { after: 2 });
    expect(rest).toEqual({ items: [expect.objectContaining({ version: 1, description: 'How we plan.' })] });
  });

  test('spec: planner 3.4: a stale draft version is a conflict, for an update and a publication', async () => {
    const { id } = await create('project', 'stale');
    await t.run((tx) => updateSkill(tx, t.admin, id, { version: 1, body: 'Mine.' }));
    const conflict = { code: 'conflict', message: expect.stringContaining('has version 2, not 1') };
    const late = t.run((tx) => updateSkill(tx, t.admin, id, { version: 1, body: 'No.' }));
    await expect(late).rejects.toMatchObject(conflict);
    await expect(publish(id, 1)).rejects.toMatchObject(conflict);
    expect(await getSkill(t.database, t.admin, id)).toMatchObject({ latest: 0, draft: { version: 2, body: 'Mine.' } });
  });

  test('an update that changes nothing writes nothing; a publication of nothing new is a conflict', async () => {
    const { id } = await published('project', 'same', { files: [{ path: 'a', content: 'b' }] });
    const files = [{ path: 'a', content: 'b' }];
    const same = await t.run((tx) => updateSkill(tx, t.admin, id, { version: 1, ...content, files }));
    expect(same.draft.version).toBe(1);
    const message = 'The draft is as version 1 is: there is nothing to publish.';
    await expect(publish(id)).rejects.toMatchObject({ code: 'conflict', message });
  });

  test('of ten publications at once one makes a version', async () => {
    const { id } = await create('project', 'race');
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => publish(id)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBe(1);
    expect((await getSkill(t.database, t.admin, id)).latest).toBe(1);
  });

  test('spec: planner 3.1: a name is unique in its scope and free in others', async () => {
    await create('platform', 'unique');
    await create('organization', 'unique');
    await create('project', 'unique');
    for (const scope of ['platform', 'organization', 'project'] as const) {
      await expect(create(scope, 'unique')).rejects.toMatchObject({ code: 'already_exists' });
    }
  });

  test('spec: planner 12.1, 12.3: one event a change, in the log of the skill\'s scope', async () => {
    const { id } = await create('platform', 'told');
    await t.run((tx) => updateSkill(tx, t.admin, id, { version: 1, body: 'x' }));
    await publish(id, 2);
    const told = (await events('installation')).filter((event) => event.entity_key === 'told');
    expect(told.map(({ type, payload }) => [type, payload])).toEqual([
      ['skill.created', { scope: 'platform', draft_version: 1 }],
      ['skill.updated', { draft_version: 2, fields: ['body'] }],
      ['skill.published', { version: 1, draft_version: 2 }],
    ]);
    expect(told[0]!.actor).toEqual({ kind: 'human', subject: 'ada' });
    await create('organization', 'told');
    await create('project', 'told');
    expect((await events(`organization:${t.organization.id}`)).at(-1)).toMatchObject({ type: 'skill.created' });
    const last = (await projectEvents(t.database, t.web)).at(-1);
    expect(last).toMatchObject({ type: 'skill.created', entity_key: 'told' });
  });
});

describe('spec: planner 3: what a project resolves', () => {
  test('spec: planner 3.6: the most specific scope that has published it; a draft never hides a parent', async () => {
    await published('platform', 'layers', { body: 'platform' });
    const ours = await create('organization', 'layers', { body: 'organization' });
    const mine = await create('project', 'layers', { body: 'project' });
    expect(await resolved('layers')).toMatchObject({ scope: 'platform', version: 1 });
    await publish(ours.id);
    expect(await resolved('layers')).toMatchObject({ scope: 'organization', version: 1 });
    await publish(mine.id);
    expect(await resolved('layers')).toMatchObject({ scope: 'project', id: mine.id });
    expect(await resolved('layers', t.ops)).toMatchObject({ scope: 'organization' });
    expect(await resolved('layers', other.project)).toMatchObject({ scope: 'platform' });
    expect(await readSkill(t.database, t.web, 'layers')).toMatchObject({ version: 1, body: 'project' });
  });

  test('spec: planner 3.5, 3.7: a pin keeps a version, disables a skill, or has a problem', async () => {
    const { id } = await published('platform', 'pinned', { body: 'one' });
    await t.run((tx) => updateSkill(tx, t.admin, id, { version: 1, body: 'two' }));
    await publish(id, 2);
    expect(await readSkill(t.database, t.web, 'pinned')).toMatchObject({ version: 2, body: 'two' });
    await pin('pinned', { version: 1 });
    expect(await readSkill(t.database, t.web, 'pinned')).toMatchObject({ version: 1, body: 'one' });
    expect(await resolved('pinned', t.ops)).toMatchObject({ version: 2 });
    await pin('pinned', { version: 7 });
    const problem = 'Version 7 is pinned, but the newest is 2. Pin a version from 1 to 2, or 0 for the newest.';
    expect(await resolved('pinned')).toMatchObject({ version: 0, problem });
    await expect(readSkill(t.database, t.web, 'pinned')).rejects.toThrow(problem);
    await pin('pinned', { disabled: true });
    expect(await resolved('pinned')).toBeUndefined();
    await expect(readSkill(t.database, t.web, 'pinned')).rejects.toThrow('Project WEB has no skill "pinned"');
    await t.run((tx) => unpinSkill(tx, t.admin, 'WEB', 'pinned'));
    expect(await resolved('pinned')).toMatchObject({ version: 2 });
  });

  test('spec: planner 3.8: a pin to an unknown name is an entry with a problem', async () => {
    await create('project', 'only-a-draft');
    for (const name of ['nowhere', 'only-a-draft']) {
      await pin(name, { version: 3 });
      const entry = { name, version: 0, problem: expect.stringContaining('no published skill') };
      expect(await resolved(name)).toEqual(entry);
      await expect(readSkill(t.database, t.web, name)).rejects.toMatchObject({ code: 'not_found' });
      await t.run((tx) => unpinSkill(tx, t.admin, 'WEB', name));
      expect(await resolved(name)).toBeUndefined();
    }
  });

  test('spec: planner 3.9: readers see it sorted by name, with the descriptions of those versions', async () => {
    await published('platform', 'zeta', { description: 'Last.' });
    await published('organization', 'alpha', { description: 'First.' });
    const listed = await listProjectSkills(t.database, t.viewer, 'WEB');
    expect(listed.map(({ name }) => name)).toEqual(listed.map(({ name }) => name).sort());
    expect(listed.find(({ name }) => name === 'alpha')).toMatchObject({ description: 'First.', scope: 'organization' });
    expect(listed.at(-1)).toMatchObject({ name: 'zeta', description: 'Last.' });
  });
});

describe('spec: planner 3: pins', () => {
  test('spec: planner 3.5: are listed by name and told in the project\'s events, a repeated one once', async () => {
    await pin('pin-b', { version: 2 });
    await pin('pin-a', { disabled: true });
    await pin('pin-a', { disabled: true });
    const pins = (await listPins(t.database, t.viewer, 'WEB')).filter(({ name }) => name.startsWith('pin-'));
    expect(pins).toMatchObject([
      { name: 'pin-a', version: 0, disabled: true },
      { name: 'pin-b', version: 2, disabled: false },
    ]);
    await t.run((tx) => unpinSkill(tx, t.admin, 'WEB', 'pin-a'));
    const told = (await projectEvents(t.database, t.web)).slice(-3);
    expect(told.map(({ type, entity_key, payload }) => [type, entity_key, payload])).toEqual([
      ['project.skill_pinned', 'WEB', { name: 'pin-b', version: 2, disabled: false }],
      ['project.skill_pinned', 'WEB', { name: 'pin-a', version: 0, disabled: true }],
      ['project.skill_unpinned', 'WEB', { name: 'pin-a' }],
    ]);
    await expect(t.run((tx) => unpinSkill(tx, t.admin, 'WEB', 'pin-a'))).rejects.toMatchObject({ code: 'not_found' });
    await expect(pin('Pin A', {})).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  test('need skill.write in the project', async () => {
    const refused = (act: Promise<unknown>, code: string) => expect(act).rejects.toMatchObject({ code });
    await refused(t.run((tx) => pinSkill(tx, t.engineer, 'WEB', 'pin-c', {})), 'forbidden');
    await refused(t.run((tx) => unpinSkill(tx, t.engineer, 'WEB', 'pin-b')), 'forbidden');
    await refused(t.run((tx) => pinSkill(tx, olga, 'GLX', 'pin-c', {})), 'not_found');
    expect((await t.run((tx) => pinSkill(tx, olga, 'WEB', 'pin-c', {}))).name).toBe('pin-c');
  });
});

describe('spec: planner 5: who reads and writes skills', () => {
  const code = async (act: Promise<unknown>): Promise<unknown> =>
    act.then(() => 'done', (error: unknown) => (error as { code?: unknown }).code);

  test('members read skills of the platform, their organization and their projects; others are not found', async () => {
    const skills = {
      platform: await create('platform', 'read'),
      organization: await create('organization', 'read'),
      web: await create('project', 'read'),
      ops: await create('project', 'read', { project: 'OPS' }),
    };
    const read = async (who: Principal) => {
      const ids = (await listSkills(t.database, who, { limit: 500 })).items.map(({ id }) => id);
      const listed = Object.entries(skills).filter(([, { id }]) => ids.includes(id));
      for (const [name, { id }] of Object.entries(skills)) {
        const expected = listed.some(([each]) => each === name) ? 'done' : 'not_found';
        expect([name, await code(getSkill(t.database, who, id))]).toEqual([name, expected]);
      }
      return listed.map(([name]) => name);
    };
    expect(await read(t.viewer)).toEqual(['platform', 'organization', 'web']);
    expect(await read(olga)).toEqual(['platform', 'organization', 'web', 'ops']);
    expect(await read(other.engineer)).toEqual(['platform']);
    expect(await read(t.stranger)).toEqual([]);
    expect(await code(getSkill(t.database, t.viewer, 'nonsense'))).toBe('not_found');
  });

  test('only administrators write: the platform\'s of everything, the organization\'s of what is theirs', async () => {
    const write = (who: Principal, fields: Partial<NewSkill>) =>
      code(t.run((tx) => createSkill(tx, who, { scope: 'platform', name: 'written', ...content, ...fields })));
    const organization = { scope: 'organization', organization: 'acme' } as const;
    const project = { scope: 'project', project: 'WEB' } as const;
    for (const fields of [{}, organization, project]) expect(await write(t.engineer, fields)).toBe('forbidden');
    expect(await write(other.engineer, organization)).toBe('not_found');
    expect(await write(other.engineer, project)).toBe('not_found');
    expect(await write(olga, {})).toBe('forbidden');
    expect(await write(olga, organization)).toBe('done');
    expect(await write(olga, project)).toBe('done');
    const { id } = await create('platform', 'not-yours');
    const update = (who: Principal) => code(t.run((tx) => updateSkill(tx, who, id, { version: 1, body: 'x' })));
    expect(await update(olga)).toBe('forbidden');
    expect(await update(t.stranger)).toBe('not_found');
    expect(await update(t.admin)).toBe('done');
    expect(await code(t.run((tx) => publishSkill(tx, t.viewer, id, { version: 2 })))).toBe('forbidden');
  });

  test('a token without skill.read is told so, and lists nothing', async () => {
    const { id } = await create('project', 'token');
    const narrow: Principal = { ...t.viewer, actions: ['tracker.read'] };
    await expect(getSkill(t.database, narrow, id)).rejects.toThrow('This token does not carry skill.read');
    expect((await listSkills(t.database, narrow)).items).toEqual([]);
  });

  test('lists are filtered by scope and owner, and paged', async () => {
    const list = async (filter: Parameters<typeof listSkills>[2], who = olga) =>
      (await listSkills(t.database, who, { limit: 500, ...filter })).items;
    const scopes = async (filter: Parameters<typeof listSkills>[2]) => {
      const found = await list(filter);
      return [...new Set(found.map((each) => `${each.scope} ${each.project ?? each.organization ?? ''}`))].sort();
    };
    expect(await scopes({ project: 'OPS' })).toEqual(['project OPS']);
    expect(await scopes({ organization: 'acme' })).toEqual(['organization acme', 'project OPS', 'project WEB']);
    expect(await scopes({ scope: 'platform' })).toEqual(['platform ']);
    expect(await list({ scope: 'platform', project: 'WEB' })).toEqual([]);
    expect(await code(list({ project: 'OPS' }, t.viewer))).toBe('not_found');
    expect(await code(list({ organization: 'globex' }))).toBe('not_found');

    const all = (await list({})).map(({ id }) => id);
    const first = await listSkills(t.database, olga, { limit: 3 });
    const second = await listSkills(t.database, olga, { limit: 500, after: first.next });
    expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(all);
    await expect(listSkills(t.database, olga, { after: 'x' })).rejects.toThrow('after must be');
  });
});

// The knowledge base: entries, versions, what of them a reader sees; and the planner's tools for skills and knowledge
// (spec: planner 4, 6).

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { plannerActor, systemActor, type Principal } from '../domain/actor.ts';
import type { KnowledgeEntry, KnowledgePatch, NewKnowledge } from '../domain/knowledge.ts';
import { callTool, type ToolOutcome } from '../planner/tools/index.ts';
import { createItem } from '../store/items.ts';
import {
  createKnowledge,
  getKnowledge,
  getKnowledgeVersion,
  listKnowledge,
  listKnowledgeVersions,
  updateKnowledge,
} from '../store/knowledge.ts';
import { createOrganization, createProject, type Project } from '../store/projects.ts';
import { pinSkill } from '../store/skill-pins.ts';
import { createSkill, publishSkill, updateSkill } from '../store/skills.ts';
import { createTracker, subject, type Tracker } from './support/tracker.ts';

let t: Tracker;
/** Another organization with a project and its engineer. */
let globex: { project: Project; engineer: Principal };
let keys: { web: string; ops: string; globex: string };
beforeAll(async () => {
  t = await createTracker();
  const { id } = await t.run((tx) => createOrganization(tx, systemActor, { key: 'globex', name: 'Globex' }));
  const project = await t.run((tx) => createProject(tx, systemActor, { organization_id: id, key: 'GLX', name: 'GLX' }));
  globex = { project, engineer: await subject(t.database, 'gus', 'human', 'engineer', { project_id: project.id }) };
  const item = async (who: Principal, key: string) =>
    (await t.run((tx) => createItem(tx, who, key, { kind: 'ticket', title: 'About something' }))).key;
  keys = { web: await item(t.engineer, 'WEB'), ops: await item(t.admin, 'OPS'), globex: await item(t.admin, 'GLX') };
});
afterAll(() => t.drop());

const note = { kind: 'note', title: 'A note', body: 'Noted.' } as const;
const create = (input: Partial<NewKnowledge> = {}, who = t.engineer): Promise<KnowledgeEntry> =>
  t.run((tx) => createKnowledge(tx, who, 'acme', { ...note, ...input }));
const update = (id: string, input: KnowledgePatch, who = t.engineer): Promise<KnowledgeEntry> =>
  t.run((tx) => updateKnowledge(tx, who, 'acme', id, input));
const read = (id: string, who = t.engineer) => getKnowledge(t.database, who, 'acme', id);
const refusal = (act: Promise<unknown>): Promise<unknown> =>
  act.then(
    () => 'done',
    (error: unknown) => (error as { code?: unknown }).code,
  );
const message = (act: Promise<unknown>): Promise<string> =>
  act.then(
    () => 'done',
    (error: unknown) => (error as Error).message,
  );
const events = (organization: string) =>
  t.database.query<{ type: string; entity_id: string; actor: object; payload: object; project_id: string | null }>(
    `SELECT type, entity_id, actor, payload, project_id FROM events
     WHERE scope = $1 AND entity_type = 'knowledge' ORDER BY seq`,
    [`organization:${organization}`],
  );

describe('spec: planner 4: entries', () => {
  test('spec: planner 4.1, 4.3: an entry is the organization\'s; every update is a new immutable version', async () => {
    const entry = await create({ kind: 'decision', projects: ['WEB'], items: [keys.web, keys.web] });
    expect(entry).toMatchObject({
      organization: 'acme',
      kind: 'decision',
      title: 'A note',
      body: 'Noted.',
      projects: ['WEB'],
      items: [keys.web],
      version: 1,
      author: 'erin',
    });
    expect(await read(entry.id, t.viewer)).toEqual(entry);
    const second = await update(entry.id, { version: 1, body: 'Changed.', items: [] });
    expect(second).toMatchObject({ version: 2, kind: 'decision', title: 'A note', body: 'Changed.', items: [] });
    const third = await update(entry.id, { version: 2, title: 'Renamed' }, t.admin);
    expect(third).toMatchObject({ version: 3, author: 'erin', body: 'Changed.', projects: ['WEB'] });

    const { items, next } = await listKnowledgeVersions(t.database, t.viewer, 'acme', entry.id, { limit: 2 });
    expect(items.map(({ version, author, title }) => [version, author, title])).toEqual([
      [3, 'ada', 'Renamed'],
      [2, 'erin', 'A note'],
    ]);
    expect((await listKnowledgeVersions(t.database, t.viewer, 'acme', entry.id, { after: next })).items.length).toBe(1);
    const first = await getKnowledgeVersion(t.database, t.viewer, 'acme', entry.id, 1);
    expect(first).toMatchObject({ version: 1, body: 'Noted.', items: [keys.web], actor: { subject: 'erin' } });
    const missing = getKnowledgeVersion(t.database, t.viewer, 'acme', entry.id, 4);
    expect(await message(missing)).toBe('The entry has no version 4; the newest is 3.');
  });

  test('spec: planner 4.3: a stale update is a conflict; of ten at once one wins', async () => {
    const { id } = await create();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) => update(id, { version: 1, body: `Body ${index}` })),
    );
    const losers = outcomes.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []));
    expect(losers.length).toBe(9);
    for (const loser of losers) {
      expect(loser).toMatchObject({ code: 'conflict', message: expect.stringContaining('has version 2, not 1') });
    }
    const { body } = await read(id);
    expect(await update(id, { version: 2, body })).toMatchObject({ version: 2 });
  });

  test('spec: planner 4.1: titles have 1-300 characters on one line, bodies at most 200,000', async () => {
    const title = '\u{1f680}'.repeat(300);
    const body = '\u{1f680}'.repeat(200_000);
    expect(await create({ title, body })).toMatchObject({ title, body });
    expect(await create({ body: '' })).toMatchObject({ body: '' });
    for (const blank of ['', ' ', '\u200b', '\u0301']) {
      expect(await message(create({ title: blank }))).toBe('title is blank');
    }
    expect(await message(create({ title: 'a\nb' }))).toContain('a title is one line');
    expect(await message(create({ title: 'x'.repeat(301) }))).toContain('title has 301 characters');
    expect(await message(create({ body: 'x'.repeat(200_001) }))).toContain('body has 200001 characters');
    const wrong = { kind: 'idea', title: '', items: ['web-1'], projects: ['web'], author: 'x' } as never;
    expect((await message(create(wrong))).split('\n')[0]).toBe('5 problems:');
    const { id } = await create();
    expect(await message(update(id, { version: 1 }))).toContain('names nothing to change: send one of kind, title');
  });

  test('spec: planner 4.2: items and projects must be of this organization and seen by the writer', async () => {
    const input = { projects: ['WEB', 'OPS', 'NOPE', 'GLX'], items: [keys.web, keys.ops, 'WEB-999', keys.globex] };
    const absent = (what: string, key: string) => `${what}s: There is no ${what} "${key}" in organization acme.`;
    expect((await message(create(input))).split('\n')).toEqual([
      '6 problems:',
      ...['OPS', 'NOPE', 'GLX'].map((key) => absent('project', key)),
      ...[keys.ops, 'WEB-999', keys.globex].map((key) => absent('item', key)),
    ]);
    const seen = { projects: ['WEB', 'OPS'], items: [keys.web, keys.ops] };
    expect(await create(seen, t.admin)).toMatchObject(seen);
    const { id } = await create();
    expect(await refusal(update(id, { version: 1, items: ['WEB-999'] }))).toBe('invalid_argument');
    expect(await read(id)).toMatchObject({ version: 1, items: [] });
  });

  test('spec: planner 12.1, 12.3: one event a change, in the organization\'s log', async () => {
    const { id } = await create({ projects: ['WEB'] });
    await update(id, { version: 1, kind: 'debt', body: 'More.' });
    const told = (await events(t.organization.id)).filter(({ entity_id }) => entity_id === id);
    expect(told).toEqual([
      {
        type: 'knowledge.created',
        entity_id: id,
        actor: { kind: 'human', subject: 'erin' },
        payload: { version: 1, kind: 'note', title: 'A note' },
        project_id: null,
      },
      expect.objectContaining({ type: 'knowledge.updated', payload: { version: 2, fields: ['kind', 'body'] } }),
    ]);
  });

  test('lists are newest first, without bodies, filtered by kind and project, and paged', async () => {
    const debt = await create({ kind: 'debt', projects: ['WEB'], title: 'Listed' });
    const { body: _body, ...listed } = debt;
    const list = (filter: Parameters<typeof listKnowledge>[3], who = t.engineer) =>
      listKnowledge(t.database, who, 'acme', filter);
    expect((await list({ limit: 1 })).items).toEqual([listed]);
    const kinds = (await list({ kind: 'debt' })).items.map(({ kind }) => kind);
    expect(new Set(kinds)).toEqual(new Set(['debt']));
    expect((await list({ project: 'WEB', limit: 1 })).items).toEqual([listed]);
    const all = (await list({ limit: 500 })).items.map(({ id }) => id);
    const first = await list({ limit: 2 });
    const rest = await list({ limit: 500, after: first.next });
    expect([...first.items, ...rest.items].map(({ id }) => id)).toEqual(all);
    for (const after of ['x', '01890000-0000-7000-8000-000000000000']) {
      expect(await message(list({ after }))).toContain('after must be');
    }
    expect(await refusal(list({ project: 'OPS' }))).toBe('not_found');
    expect(await refusal(list({ project: 'GLX' }, t.admin))).toBe('not_found');
  });
});

describe('spec: planner 5: who reads and writes knowledge', () => {
  test('spec: planner 5.5: members of any project, by their role; for others there is no organization', async () => {
    const { id } = await create();
    expect(await refusal(read(id, t.viewer))).toBe('done');
    expect(await refusal(create({}, t.viewer))).toBe('forbidden');
    expect(await refusal(update(id, { version: 1, body: 'x' }, t.approver))).toBe('forbidden');
    for (const who of [t.stranger, globex.engineer]) {
      expect(await refusal(read(id, who))).toBe('not_found');
      expect(await refusal(create({}, who))).toBe('not_found');
      expect(await refusal(listKnowledge(t.database, who, 'acme'))).toBe('not_found');
    }
    const elsewhere = getKnowledge(t.database, globex.engineer, 'globex', id);
    expect(await message(elsewhere)).toBe(`There is no knowledge entry "${id}" in organization globex.`);
    expect(await refusal(read('nonsense'))).toBe('not_found');
  });

  test('keys that a reader may not see are left out of entries, lists and versions, and kept on update', async () => {
    const both = { projects: ['WEB', 'OPS'], items: [keys.ops, keys.web] };
    const { id } = await create(both, t.admin);
    const seen = { projects: ['WEB'], items: [keys.web] };
    expect(await read(id)).toMatchObject(seen);
    expect((await listKnowledge(t.database, t.viewer, 'acme', { limit: 1 })).items[0]).toMatchObject({ id, ...seen });
    const { items } = await listKnowledgeVersions(t.database, t.viewer, 'acme', id);
    expect(items).toMatchObject([seen]);
    expect(await getKnowledgeVersion(t.database, t.viewer, 'acme', id, 1)).toMatchObject(seen);

    expect(await update(id, { version: 1, body: 'x' })).toMatchObject(seen);
    expect(await update(id, { version: 2, ...seen })).toMatchObject({ ...seen, version: 2 });
    expect(await update(id, { version: 2, projects: [], items: [] })).toMatchObject({ projects: [], items: [] });
    expect(await read(id, t.admin)).toMatchObject({ version: 3, projects: ['OPS'], items: [keys.ops] });
    expect(await update(id, { version: 3, ...seen })).toMatchObject(seen);
    expect(await read(id, t.admin)).toMatchObject({ projects: ['WEB', 'OPS'], items: [keys.web, keys.ops] });
    const narrow: Principal = { ...t.admin, actions: ['knowledge.read', 'organization.read', 'project.read'] };
    expect(await read(id, narrow)).toMatchObject({ projects: ['WEB', 'OPS'], items: [] });
  });
});

describe('spec: planner 6: tools for knowledge and skills', () => {
  const actor = plannerActor('01890000-0000-7000-8000-000000000000', 'erin');
  function call(name: string, input: object, human = t.engineer, project = t.web): Promise<ToolOutcome> {
    const context = { project, human, actor, maxOutputCharacters: 60_000 };
    return t.run((tx) => callTool({ ...context, tx }, name, { ...input }));
  }
  async function output(...args: Parameters<typeof call>): Promise<Record<string, unknown>> {
    const { text, is_error } = await call(...args);
    expect([text, is_error]).toEqual([text, false]);
    return JSON.parse(text) as Record<string, unknown>;
  }
  const fault = async (...args: Parameters<typeof call>): Promise<string> => {
    const { text, is_error } = await call(...args);
    expect(is_error).toBe(true);
    return text;
  };

  test('spec: planner 4.4, 5.15, 6.15: create_knowledge writes for this project, for the human', async () => {
    const made = await output('create_knowledge', { ...note, kind: 'decision', items: [keys.web] });
    expect(made).toMatchObject({ kind: 'decision', projects: ['WEB'], items: [keys.web], version: 1, author: 'erin' });
    const told = (await events(t.organization.id)).at(-1);
    expect(told).toMatchObject({ type: 'knowledge.created', entity_id: made['id'], actor });
    const version = await getKnowledgeVersion(t.database, t.viewer, 'acme', String(made['id']), 1);
    expect(version).toMatchObject({ author: 'erin', actor });
    expect(await fault('create_knowledge', { ...note, projects: ['OPS'] })).toContain('unknown field "projects"');
    expect(await fault('create_knowledge', { ...note, items: [keys.ops] })).toContain(`no item "${keys.ops}"`);
    expect(await fault('create_knowledge', note, t.viewer)).toContain('may not do this in this project');
  });

  test('spec: planner 6.15: update_knowledge changes only what was sent; a stale version is a conflict', async () => {
    const { id } = await create({ projects: ['WEB', 'OPS'], items: [keys.ops, keys.web] }, t.admin);
    const changed = await output('update_knowledge', { id, version: 1, title: 'Retitled' });
    expect(changed).toMatchObject({ id, version: 2, title: 'Retitled', body: 'Noted.', items: [keys.web] });
    expect(await read(id, t.admin)).toMatchObject({ projects: ['WEB', 'OPS'], items: [keys.ops, keys.web] });
    expect(await fault('update_knowledge', { id, version: 1, title: 'Late' })).toContain('has version 2, not 1');
    expect(await fault('update_knowledge', { id, version: 2 })).toContain('send one of kind, title, body, items');
    expect(await fault('update_knowledge', { id, version: 2, projects: [] })).toContain('unknown field "projects"');
    expect(await fault('update_knowledge', { id, version: 2, body: 'x' }, t.viewer)).toContain('may not do this');
    expect((await events(t.organization.id)).at(-1)).toMatchObject({ type: 'knowledge.updated', actor });
  });

  test('spec: planner 6.5, 6.14: get_knowledge is confined to the session\'s organization', async () => {
    const entry = await create();
    expect(await output('get_knowledge', { id: entry.id })).toEqual(entry);
    const elsewhere = await fault('get_knowledge', { id: entry.id }, t.admin, globex.project);
    expect(elsewhere).toBe(`There is no knowledge entry "${entry.id}" in organization globex.`);
    expect(await fault('get_knowledge', { id: '7' })).toContain('must be the id of a knowledge entry');
  });

  test('spec: planner 6.5, 6.13: list_skills and read_skill show what the project resolves', async () => {
    const publish = async (name: string, project: string, body: string): Promise<string> => {
      const skill = { scope: 'project', project, name, description: 'What it is for.', body } as const;
      const { id } = await t.run((tx) => createSkill(tx, t.admin, skill));
      await t.run((tx) => publishSkill(tx, t.admin, id, { version: 1 }));
      return id;
    };
    const id = await publish('review', 'WEB', 'Read it twice.');
    await publish('elsewhere', 'OPS', 'Hidden.');
    await t.run((tx) => updateSkill(tx, t.admin, id, { version: 1, body: 'A draft.' }));
    await t.run((tx) => pinSkill(tx, t.admin, 'WEB', 'missing', {}));
    expect(await output('list_skills', {})).toEqual({
      items: [
        { name: 'missing', version: 0, problem: expect.stringContaining('no published skill') },
        { name: 'review', scope: 'project', version: 1 },
      ],
    });
    const read = { name: 'review', version: 1, body: 'Read it twice.' };
    expect(await output('read_skill', { name: 'review' })).toEqual(read);
    expect(await fault('read_skill', { name: 'elsewhere' }, t.admin)).toContain('no skill "elsewhere"');
    expect(await fault('read_skill', { name: 'missing' })).toContain('no published skill');
    expect(await fault('read_skill', { name: '../etc' })).toContain("a skill's name");
    expect(await fault('list_skills', {}, t.stranger)).toContain('may not do this in this project');
  });
});

// Hybrid search: what counts as a hit, whose rights, which skills, what a query can't do (spec: planner 4, 5, 6).

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { plannerActor, systemActor, type Principal } from '../domain/actor.ts';
import { fuse, snippet, snippetLength } from '../domain/search.ts';
import { characters } from '../domain/text.ts';
import { embedQuery } from '../models/embeddings/index.ts';
import { callTool, prepareTool } from '../planner/tools/index.ts';
import { createItem, updateItem } from '../store/items.ts';
import { createKnowledge } from '../store/knowledge.ts';
import { createOrganization, createProject, type Project } from '../store/projects.ts';
import { knowledgeScope, projectScope, readableScope } from '../store/search-scope.ts';
import { lexicalList, searchEntries, searchHits, type Query } from '../store/search.ts';
import { pinSkill } from '../store/skill-pins.ts';
import { createSkill, publishSkill, updateSkill } from '../store/skills.ts';
import { indexAll, lexical, planeEmbedder } from './support/search.ts';
import { createTracker, subject, type Tracker } from './support/tracker.ts';

let t: Tracker;
let globex: { project: Project; engineer: Principal };
beforeAll(async () => {
  t = await createTracker();
  const { id } = await t.run((tx) => createOrganization(tx, systemActor, { key: 'globex', name: 'Globex' }));
  const project = await t.run((tx) => createProject(tx, systemActor, { organization_id: id, key: 'GLX', name: 'GLX' }));
  globex = { project, engineer: await subject(t.database, 'gus', 'human', 'engineer', { project_id: project.id }) };
});
afterAll(() => t.drop());

const item = (who: Principal, project: string, title: string, description = '') =>
  t.run((tx) => createItem(tx, who, project, { kind: 'ticket', title, description }));
const note = (who: Principal, organization: string, title: string, body: string, kind: 'note' | 'debt' = 'note') =>
  t.run((tx) => createKnowledge(tx, who, organization, { kind, title, body }));

async function refs(query: string | Query, who = t.engineer, limit = 20): Promise<string[]> {
  const asked = typeof query === 'string' ? lexical(query) : query;
  const { items } = await searchHits(t.database, await readableScope(t.database, who), asked, limit);
  return items.map(({ ref }) => ref);
}

describe('spec: planner 4: words', () => {
  test('spec: planner 6.10: a title, a description and a key are found, as kind, ref, title and snippet', async () => {
    const { key } = await item(t.engineer, 'WEB', 'Giraffe enclosure', 'The gate\n of the paddock squeaks at night.');
    await indexAll(t.database);
    const snippet = 'The gate of the paddock squeaks at night.';
    const hit = { kind: 'item', ref: key, title: 'Giraffe enclosure', snippet };
    const scope = await readableScope(t.database, t.engineer);
    for (const query of ['giraffes', 'squeaking paddocks', key, 'GIRAFFE']) {
      expect((await searchHits(t.database, scope, lexical(query), 1)).items).toEqual([hit]);
    }
  });

  test('spec: planner 4.7: a hit covers at least half of the query\'s weight: a frequent word alone is not enough', async () => {
    for (let n = 0; n < 8; n++) await item(t.engineer, 'WEB', `Ferry timetable ${n}`);
    const { key } = await item(t.engineer, 'WEB', 'Ferry with a zeppelin');
    await indexAll(t.database);
    expect(await refs('ferry zeppelin')).toEqual([key]);
    expect(await refs('ferry')).toHaveLength(9);
    expect(await refs('ferry zeppelin submarine gondola')).toEqual([]);
  });

  test('spec: planner 4.7: half of a long query\'s weight is half of all its words', async () => {
    const words = Array.from({ length: 40 }, (_, n) => `x${String.fromCodePoint(97 + (n >> 3), 97 + (n & 7))}k`);
    const { key } = await item(t.engineer, 'WEB', 'Most', words.slice(18).join(' '));
    await item(t.engineer, 'WEB', 'Fewer', words.slice(0, 18).join(' '));
    await indexAll(t.database);
    expect(await refs(words.join(' '))).toEqual([key]);
  });

  test('spec: planner 4.8: a query without words finds nothing, and nothing is wrong with it', async () => {
    const scope = await readableScope(t.database, t.engineer);
    for (const query of ['', '   ', '!!! --- ***', '\u0000', '🦒']) {
      const embedding = { model: 'plane', embedding: [1, 0] };
      expect(await searchHits(t.database, scope, { text: query, embedding }, 20)).toEqual({ items: [] });
    }
  });

  test('spec: planner 4.9: no operator of the database is reachable: marks change nothing, whatever they are', async () => {
    const scope = await readableScope(t.database, t.engineer);
    const found = (text: string) => lexicalList(t.database, scope, text);
    const alone = { ferry: await found('ferry'), zeppelin: await found('zeppelin') };
    expect(alone.zeppelin).toHaveLength(1);
    const marks = fc.string({ unit: fc.constantFrom(...'!&|()\'"*\\~^<>-+:/.@#%_ '), maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('ferry', 'zeppelin' as const), marks, marks, async (word, before, after) => {
        expect(await found(`${before}${word}${after}`)).toEqual(alone[word as keyof typeof alone]);
      }),
      { numRuns: 60 },
    );
    const tricks = ['-ferry', '"ferry', 'ferry:*', 'ferry OR', 'ferry <-> ferry', 'ferry & !ferry', "'ferry' | 'ferry'"];
    for (const query of tricks) {
      expect((await found(query)).length, query).toBeGreaterThan(0);
    }
    expect(await found('zepp:*')).toEqual([]);
  });

  test('any text can be searched for', async () => {
    const scope = await readableScope(t.database, t.engineer);
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 80 }), async (text) => {
        const clean = text.toWellFormed().replaceAll('\0', '\uFFFD');
        expect((await searchHits(t.database, scope, lexical(clean), 50)).items.length).toBeLessThanOrEqual(50);
      }),
      { numRuns: 60 },
    );
  });
});

describe('spec: planner 4: meaning', () => {
  test('spec: planner 4.5: hits are no further than a cosine distance of 0.85, of the same model and dimension, nearest first', async () => {
    const places: Record<string, number> = { 'Near it': 20, 'Just near': 81, 'Just far': 82, Opposite: 180 };
    const notes: Record<string, string> = {};
    for (const title of Object.keys(places)) notes[title] = (await note(t.admin, 'acme', title, 'x')).id;
    const embedder = planeEmbedder((text) => places[text.split('\n')[0]!]);
    await indexAll(t.database, embedder);
    const reader = { organization: t.organization, principal: t.engineer };
    const search = (embedding: Query['embedding']) =>
      searchEntries(t.database, reader, knowledgeScope(t.organization.id), { text: 'words elsewhere', embedding }, 20);
    const { items } = await search({ model: 'plane', embedding: [1, 0] });
    expect(items.map(({ entry }) => entry.title)).toEqual(['Near it', 'Just near']);
    expect(items.map(({ score }) => score)).toEqual([1 / 61, 1 / 62]);
    expect((await search({ model: 'another', embedding: [1, 0] })).items).toEqual([]);
    expect((await search({ model: 'plane', embedding: [1, 0, 0] })).items).toEqual([]);
  });

  test('spec: planner 4.10: without the query\'s embedding, words alone are compared, with a warning', async () => {
    const scope = await readableScope(t.database, t.engineer);
    const found = await searchHits(t.database, scope, lexical('zeppelin'), 20);
    expect(found.items).toHaveLength(1);
    expect(found.warning).toMatch(/could not be embedded.*only words/);
  });

  test('spec: planner 4.10, 4.12: a query that takes longer than a second to embed, or fails, is searched by words', async () => {
    const warnings: string[] = [];
    const warn = (message: string): void => void warnings.push(message);
    const never = { ...planeEmbedder(() => 0), query: () => new Promise<never>(() => undefined) };
    const begun = performance.now();
    expect(await embedQuery(never, 'ferry', warn)).toBeUndefined();
    expect(performance.now() - begun).toBeGreaterThan(950);
    const broken = { ...planeEmbedder(() => 0), query: () => Promise.reject(new Error('refused')) };
    expect(await embedQuery(broken, 'ferry', warn)).toBeUndefined();
    const told = [/longer than 1000 ms/, /lexical only: refused/];
    expect(warnings).toEqual(told.map((words) => expect.stringMatching(words)));
  });

  test('spec: planner 4.6: two lists become one by reciprocal rank: the sum of 1 / (60 + rank)', () => {
    expect(fuse([['a', 'b', 'c'], ['c', 'd']])).toEqual([
      { id: 'c', score: 1 / 63 + 1 / 61 },
      { id: 'a', score: 1 / 61 },
      { id: 'b', score: 1 / 62 },
      { id: 'd', score: 1 / 62 },
    ]);
  });

  test('a snippet is one line of at most 240 characters around the first of the query\'s words', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 2_000 }), fc.string({ maxLength: 30 }), (body, query) => {
        const shown = snippet(body, query);
        expect(characters(shown)).toBeLessThanOrEqual(snippetLength);
        expect(shown).not.toMatch(/\n/);
      }),
    );
    const body = `${'before '.repeat(100)}the zeppelins landed ${'after '.repeat(100)}`;
    expect(snippet(body, 'a zeppelin')).toMatch(/^…before .*the zeppelins landed after.*after…$/);
    expect(snippet(body, 'nothing of it')).toMatch(/^before .*before…$/);
  });
});

describe('spec: planner 4, 5: rights', () => {
  test('spec: planner 4.5, 4.14: no hit is lost to hidden ones: rights are checked before the limit', async () => {
    for (let n = 0; n < 60; n++) await item(t.admin, 'OPS', 'Walrus walrus walrus', 'walrus');
    const { key } = await item(t.engineer, 'WEB', 'A pond', 'Long text about water, in which a walrus is named once.');
    await indexAll(t.database, planeEmbedder((text) => (text.startsWith('Walrus') ? 0 : 30)));
    expect(await refs('walrus')).toEqual([key]);
    const query = { text: 'water walrus', embedding: { model: 'plane', embedding: [1, 0] } };
    expect(await refs(query, t.engineer, 1)).toEqual([key]);
    expect(await refs('walrus', t.admin, 50)).toHaveLength(50);
  });

  test('spec: planner 4.14: what is hidden does not even count: words that are frequent elsewhere are rare here', async () => {
    const { key } = await item(t.engineer, 'WEB', 'Okapi');
    await item(t.engineer, 'WEB', 'Tapir');
    await indexAll(t.database);
    const before = await refs('okapi tapir');
    for (let n = 0; n < 40; n++) await item(t.admin, 'OPS', `Okapi ${n}`);
    await indexAll(t.database);
    expect(await refs('okapi tapir')).toEqual(before);
    expect(before).toContain(key);
  });

  test('another organization\'s items, skills and knowledge are not found, nor those of no right at all', async () => {
    await item(globex.engineer, 'GLX', 'Quetzal nest');
    await note(t.admin, 'globex', 'Quetzal facts', 'Green.');
    const owner = { scope: 'organization', organization: 'globex' } as const;
    const skill = { ...owner, name: 'quetzal', description: 'Quetzal', body: 'x' };
    const { id } = await t.run((tx) => createSkill(tx, t.admin, skill));
    await t.run((tx) => publishSkill(tx, t.admin, id, { version: 1 }));
    await indexAll(t.database);
    expect(await refs('quetzal', t.engineer)).toEqual([]);
    expect(await refs('quetzal', t.stranger)).toEqual([]);
    expect((await refs('quetzal', globex.engineer)).sort()).toEqual(['GLX-1', 'quetzal']);
    const reader = { organization: t.organization, principal: t.engineer };
    const own = await searchEntries(t.database, reader, knowledgeScope(t.organization.id), lexical('quetzal'), 20);
    expect(own.items).toEqual([]);
  });

  test('of items and skills, those are found whose right the reader has; none of both is forbidden', async () => {
    const narrowed = (...actions: NonNullable<Principal['actions']>): Principal => ({ ...t.engineer, actions });
    const skills = narrowed('project.read', 'skill.read');
    expect((await projectScope(t.database, skills, t.web)).projects).toEqual([]);
    expect((await projectScope(t.database, narrowed('tracker.read'), t.web)).projects).toEqual([t.web.id]);
    await expect(projectScope(t.database, skills, t.web, 'item')).rejects.toThrow('tracker.read');
    await expect(projectScope(t.database, narrowed('tracker.read'), t.web, 'skill')).rejects.toThrow('skill.read');
    await expect(projectScope(t.database, t.stranger, t.web)).rejects.toMatchObject({ code: 'forbidden' });
  });
});

describe('spec: planner 3, 4: skills', () => {
  test('spec: planner 3.6: the version that the project resolves is found: no draft, no disabled one, none behind a nearer one', async () => {
    const make = async (scope: 'platform' | 'project', body: string) => {
      const owner = scope === 'project' ? { project: 'WEB' } : {};
      const fields = { scope, ...owner, name: 'release', description: 'How to release', body };
      return (await t.run((tx) => createSkill(tx, t.admin, fields))).id;
    };
    const publish = (id: string, version: number) => t.run((tx) => publishSkill(tx, t.admin, id, { version }));
    const pin = (input: { version?: number; disabled?: boolean }) =>
      t.run((tx) => pinSkill(tx, t.admin, 'WEB', 'release', input));
    const found = async (word: string) => {
      await indexAll(t.database);
      const scope = await projectScope(t.database, t.engineer, t.web, 'skill');
      return (await searchHits(t.database, scope, lexical(word), 20)).items.map(({ kind, ref }) => `${kind} ${ref}`);
    };
    const platform = await make('platform', 'Use the marmot.');
    expect(await found('marmot')).toEqual([]);
    await publish(platform, 1);
    expect(await found('marmot')).toEqual(['skill release']);
    await t.run((tx) => updateSkill(tx, t.admin, platform, { version: 1, body: 'Use the badger.' }));
    expect(await found('badger')).toEqual([]);
    await publish(platform, 2);
    expect([await found('badger'), await found('marmot')]).toEqual([['skill release'], []]);
    await pin({ version: 1 });
    expect([await found('badger'), await found('marmot')]).toEqual([[], ['skill release']]);
    await pin({ disabled: true });
    expect(await found('marmot')).toEqual([]);
    await pin({ version: 0 });
    await publish(await make('project', 'Use the otter.'), 1);
    expect([await found('badger'), await found('otter')]).toEqual([[], ['skill release']]);
  });
});

describe('spec: planner 6: the tools', () => {
  const actor = plannerActor('01890000-0000-7000-8000-000000000000', 'erin');
  async function call(name: string, input: Record<string, unknown>, human = t.engineer) {
    const context = { project: t.web, human, actor, maxOutputCharacters: 60_000 };
    const embedQuery = async () => ({ model: 'none', embedding: [1] });
    const prepared = await prepareTool({ ...context, embedQuery }, name, input);
    const { text, is_error } = await t.run((tx) => callTool({ ...context, tx, prepared }, name, input));
    return is_error ? text : (JSON.parse(text) as { items: Record<string, unknown>[]; warning?: string });
  }

  test('spec: planner 6.4, 6.10: search_project stays in the session\'s project, whatever the human may read elsewhere', async () => {
    await item(t.admin, 'OPS', 'Narwhal in ops');
    const { key } = await item(t.engineer, 'WEB', 'Narwhal in web');
    await indexAll(t.database);
    const hit = { kind: 'item', ref: key, title: 'Narwhal in web', snippet: '' };
    const found = await call('search_project', { query: 'narwhal', kind: 'item', limit: 1 }, t.admin);
    expect(found).toEqual({ items: [hit] });
    expect(await call('search_project', { query: 'narwhal' }, t.stranger)).toMatch(/may not do this/);
    expect(await call('search_project', { query: 'narwhal', limit: 51 })).toMatch(/limit/);
    expect(await call('search_project', { query: 'narwhal', near: 1 })).toMatch(/near/);
    expect(await call('search_project', {})).toMatch(/query/);
  });

  test('spec: planner 6.14: search_knowledge tells entries with their score, without bodies, with those keys only that the human may see', async () => {
    const hidden = await item(t.admin, 'OPS', 'Hidden');
    const shown = await item(t.engineer, 'WEB', 'Shown');
    const input = { kind: 'debt' as const, title: 'Lemur', body: 'Lemurs climb.', items: [hidden.key, shown.key] };
    const { id } = await t.run((tx) => createKnowledge(tx, t.admin, 'acme', input));
    await note(t.admin, 'acme', 'Lemur too', 'A lemur.');
    await indexAll(t.database);
    const found = await call('search_knowledge', { query: 'lemur', kind: 'debt' });
    expect(found).toEqual({ items: [{ entry: expect.anything(), score: 1 / 61 }] });
    const { entry } = (found as { items: { entry: Record<string, unknown> }[] }).items[0]!;
    expect(entry).toMatchObject({ id, kind: 'debt', title: 'Lemur', items: [shown.key], snippet: 'Lemurs climb.' });
    expect(entry).not.toHaveProperty('body');
    expect(await call('search_knowledge', { query: 'lemur', kind: 'item' })).toMatch(/kind/);
  });

  test('spec: planner 4.11: an item that changes is found by what it says now', async () => {
    const { key, version } = await item(t.engineer, 'WEB', 'About pangolins');
    await indexAll(t.database);
    expect(await refs('pangolin')).toEqual([key]);
    await t.run((tx) => updateItem(tx, t.engineer, key, { version, title: 'About armadillos' }));
    await indexAll(t.database);
    expect([await refs('pangolin'), await refs('armadillo')]).toEqual([[], [key]]);
  });
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addDependency, listDependencies, removeDependency } from '../store/dependencies.ts';
import { createItem, getItem, itemHistory, listItems, listRunnable, transitionItem, updateItem } from '../store/items.ts';
import { createProject } from '../store/projects.ts';
import { systemActor } from '../domain/actor.ts';
import { createTracker, projectEvents, type Tracker } from './support/tracker.ts';

let t: Tracker;
beforeAll(async () => {
  t = await createTracker();
});
afterAll(() => t.drop());

const code = (expected: string, message: string | RegExp) =>
  expect.objectContaining({
    code: expected,
    message: message instanceof RegExp ? expect.stringMatching(message) : message,
  });
const update = (key: string, patch: Record<string, unknown>) => t.run((tx) => updateItem(tx, t.engineer, key, patch));
const move = (key: string, state: string, version?: number) =>
  t.run((tx) => transitionItem(tx, t.engineer, key, { state, version }));
const link = (from: string, type: string, to: string) =>
  t.run((tx) => addDependency(tx, t.engineer, from, { type, to }));

describe('spec: planner 1: items', () => {
  test('spec: planner 1.1, 1.5, 1.7, 1.8: one number sequence a project for all kinds; a new item has its defaults', async () => {
    const milestone = await t.item({ kind: 'milestone', title: 'Beta' });
    const epic = await t.item({ kind: 'epic', title: 'Search', milestone: milestone.key });
    const ticket = await t.item({ title: 'Index', epic: epic.key, milestone: milestone.key });
    const numbers = [milestone, epic, ticket].map(({ key }) => Number(key.slice('WEB-'.length)));
    expect(numbers).toEqual([numbers[0], numbers[0]! + 1, numbers[0]! + 2]);
    expect(ticket).toEqual({
      key: ticket.key,
      kind: 'ticket',
      title: 'Index',
      state: 'backlog',
      type: 'feature',
      epic: epic.key,
      milestone: milestone.key,
      description: '',
      acceptance_criteria: [],
      policy: { review_mode: 'agent', merge_mode: 'auto' },
      version: 1,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      dependencies: { blocks: [], blocked_by: [], relates: [] },
    });
    expect(epic).not.toHaveProperty('policy');
    expect(epic).not.toHaveProperty('acceptance_criteria');
    expect([epic.state, milestone.state, epic.type]).toEqual(['open', 'open', undefined]);
  });

  test('spec: planner 1.8, 1.11: links must name items of the right kind in the same project; all violations together', async () => {
    const ticket = await t.item({});
    const foreign = await t.run((tx) => createItem(tx, t.admin, 'OPS', { kind: 'milestone', title: 'Theirs' }));
    await expect(t.item({ epic: ticket.key, milestone: foreign.key })).rejects.toEqual(
      code(
        'invalid_argument',
        `2 problems:\nepic: ${ticket.key} is a ticket, not an epic\n` +
          `milestone: there is no item ${foreign.key} in project WEB`,
      ),
    );
  });

  test('spec: planner 1.24: a refused create leaves no gap in the numbers', async () => {
    const before = await t.item({});
    await expect(t.item({ epic: 'WEB-9999' })).rejects.toEqual(code('invalid_argument', /no item WEB-9999/));
    const after = await t.item({});
    expect(Number(after.key.slice(4))).toBe(Number(before.key.slice(4)) + 1);
  });

  test('spec: planner 1.9: each write raises the version by one; a write with another version is a conflict', async () => {
    const { key } = await t.item({ title: 'Old' });
    expect(await update(key, { version: 1, title: 'New', type: 'bug' })).toMatchObject({ version: 2, title: 'New' });
    await expect(update(key, { version: 1, title: 'Newer' })).rejects.toEqual(code('conflict', /has version 2, not 1/));
    expect(await move(key, 'ready', 2)).toMatchObject({ version: 3, state: 'ready' });
    await expect(move(key, 'paused', 2)).rejects.toEqual(code('conflict', /has version 3, not 2/));
  });

  test('spec: planner 1.9: of two racing updates with one version exactly one wins', async () => {
    const { key } = await t.item({});
    const outcomes = await Promise.allSettled(['a', 'b'].map((title) => update(key, { version: 1, title })));
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(await getItem(t.database, t.engineer, key)).toMatchObject({ version: 2 });
  });

  test('only what is sent changes; an empty link unlinks; the policy is merged', async () => {
    const epic = await t.item({ kind: 'epic', title: 'E' });
    const { key } = await t.item({ epic: epic.key, description: 'Text', acceptance_criteria: ['works'] });
    const changed = await update(key, { version: 1, epic: '', policy: { merge_mode: 'manual' } });
    expect(changed).toMatchObject({
      description: 'Text',
      acceptance_criteria: ['works'],
      policy: { review_mode: 'agent', merge_mode: 'manual' },
    });
    expect(changed.epic).toBeUndefined();
  });

  test('spec: planner 1.7: policy is for humans only', async () => {
    const { key } = await t.item({});
    const patch = { version: 1, policy: { merge_mode: 'manual' } };
    await expect(t.run((tx) => updateItem(tx, t.orchestrator, key, patch))).rejects.toEqual(
      code('invalid_argument', /humans only/),
    );
  });

  test('spec: planner 1.16: a service with run.manage executes; a human can\'t enter in_progress', async () => {
    const { key } = await t.item({});
    const run = (state: string) => t.run((tx) => transitionItem(tx, t.orchestrator, key, { state }));
    await move(key, 'ready');
    await expect(move(key, 'in_progress')).rejects.toEqual(code('invalid_argument', /can't become "in_progress"/));
    await run('in_progress');
    await run('waiting_for_answer');
    await expect(run('done')).rejects.toEqual(code('invalid_argument', /it may become in_progress/));
    await run('in_progress');
    expect(await run('done')).toMatchObject({ state: 'done', version: 6 });
  });

  test('lists are filtered and paged by number', async () => {
    const project = await t.run((tx) =>
      createProject(tx, systemActor, { organization_id: t.organization.id, key: 'LIST', name: 'List' }),
    );
    const add = (fields: Record<string, unknown>) => t.run((tx) => createItem(tx, t.admin, project.key, fields));
    await add({ kind: 'epic', title: 'E' });
    for (const title of ['a', 'b', 'c']) await add({ kind: 'ticket', title, epic: 'LIST-1' });
    await add({ kind: 'ticket', title: 'd' });
    const page = async (filter: Record<string, unknown>) => {
      const { items, next } = await listItems(t.database, t.admin, 'LIST', filter);
      return { keys: items.map(({ key }) => key), next };
    };
    expect(await page({ epic: 'LIST-1', limit: 2 })).toEqual({ keys: ['LIST-2', 'LIST-3'], next: 'LIST-3' });
    expect(await page({ epic: 'LIST-1', limit: 2, after: 'LIST-3' })).toEqual({ keys: ['LIST-4'], next: undefined });
    expect(await page({ kind: 'epic', state: 'open' })).toEqual({ keys: ['LIST-1'], next: undefined });
    await expect(page({ epic: 'LIST-2' })).rejects.toEqual(code('invalid_argument', /is a ticket, not an epic/));
    await expect(page({ after: 'WEB-1' })).rejects.toEqual(code('invalid_argument', /`next` of the page before/));
    await expect(page({ limit: 501 })).rejects.toEqual(code('invalid_argument', /limit must be at most 500/));
  });
});

describe('spec: planner 1: dependencies', () => {
  test('spec: planner 1.21: an edge is seen from both ends, and each end once', async () => {
    const [a, b, c] = [await t.item({ title: 'a' }), await t.item({ title: 'b' }), await t.item({ title: 'c' })];
    await link(a.key, 'blocks', b.key);
    const relation = await link(c.key, 'relates', b.key);
    const seen = await listDependencies(t.database, t.engineer, b.key);
    expect(seen).toMatchObject({
      blocks: [],
      blocked_by: [{ type: 'blocked_by', key: a.key, kind: 'ticket', title: 'a', state: 'backlog' }],
      relates: [{ type: 'relates', key: c.key }],
    });
    expect((await getItem(t.database, t.engineer, a.key)).dependencies.blocks).toMatchObject([{ key: b.key }]);
    await expect(link(b.key, 'relates', c.key)).rejects.toEqual(code('already_exists', /relates to .* already/));
    await t.run((tx) => removeDependency(tx, t.engineer, relation.id));
    expect((await listDependencies(t.database, t.engineer, b.key)).relates).toEqual([]);
    await expect(t.run((tx) => removeDependency(tx, t.engineer, relation.id))).rejects.toEqual(
      code('not_found', /no such dependency/),
    );
  });

  test('reports f07, spec: planner 1.19: a cycle over several kinds is refused with its path', async () => {
    const milestone = await t.item({ kind: 'milestone', title: 'm' });
    const epic = await t.item({ kind: 'epic', title: 'e' });
    const ticket = await t.item({});
    await link(milestone.key, 'blocks', epic.key);
    await link(epic.key, 'blocks', ticket.key);
    const path = [ticket.key, milestone.key, epic.key, ticket.key].join(' -> ');
    await expect(link(ticket.key, 'blocks', milestone.key)).rejects.toEqual(
      code('conflict', `${ticket.key} blocks ${milestone.key} would close a cycle: ${path}.`),
    );
    await expect(link(ticket.key, 'blocks', ticket.key)).rejects.toEqual(code('invalid_argument', /depend on itself/));
  });

  test('spec: planner 1.20: both ends are in one project', async () => {
    const ours = await t.item({});
    const theirs = await t.run((tx) => createItem(tx, t.admin, 'OPS', { kind: 'ticket', title: 'x' }));
    await expect(t.run((tx) => addDependency(tx, t.admin, ours.key, { type: 'blocks', to: theirs.key }))).rejects.toEqual(
      code('invalid_argument', /in project WEB/),
    );
  });

  test('spec: planner 1.23: runnable: ready tickets whose direct blockers are all resolved, by number', async () => {
    const [blocker, blocked, free] = [await t.item({}), await t.item({}), await t.item({})];
    await link(blocker.key, 'blocks', blocked.key);
    await move(blocked.key, 'ready');
    await move(free.key, 'ready');
    const runnable = async () => (await listRunnable(t.database, t.viewer, 'WEB')).map(({ key }) => key);
    expect(await runnable()).toContain(free.key);
    expect(await runnable()).not.toContain(blocked.key);
    await move(blocker.key, 'cancelled');
    const keys = await runnable();
    expect(keys.indexOf(blocked.key)).toBeGreaterThanOrEqual(0);
    expect(keys.indexOf(blocked.key)).toBeLessThan(keys.indexOf(free.key));
  });
});

describe('spec: planner 2: the project\'s lock', () => {
  test('reports f01, spec: planner 1.24, 2.22: 50 parallel creates get 50 consecutive numbers', async () => {
    const first = await t.item({});
    const items = await Promise.all(Array.from({ length: 50 }, () => t.item({})));
    const numbers = items.map(({ key }) => Number(key.slice(4))).sort((a, b) => a - b);
    const start = Number(first.key.slice(4)) + 1;
    expect(numbers).toEqual(Array.from({ length: 50 }, (_, index) => start + index));
  });

  test('spec: planner 1.22, 2.22: of two racing opposite blocks edges exactly one wins, every time', async () => {
    for (let round = 0; round < 10; round++) {
      const [a, b] = [await t.item({}), await t.item({})];
      const outcomes = await Promise.allSettled([link(a.key, 'blocks', b.key), link(b.key, 'blocks', a.key)]);
      const lost = outcomes.filter((outcome) => outcome.status === 'rejected');
      expect(lost).toHaveLength(1);
      expect(lost[0]!.reason).toEqual(code('conflict', /would close a cycle/));
    }
  });

  test('reports f03: a counter that was set back does not give a key twice', async () => {
    const { key } = await t.item({});
    await t.database.query('UPDATE projects SET last_number = 1 WHERE id = $1', [t.web.id]);
    expect(Number((await t.item({})).key.slice(4))).toBe(Number(key.slice(4)) + 1);
  });
});

test('spec: planner 12.3: exactly one event a change, by who made it; the history shows an item\'s', async () => {
  const [item, other] = [await t.item({ title: 'Seen' }), await t.item({})];
  await update(item.key, { version: 1, title: 'Seen twice', description: 'long' });
  await move(item.key, 'ready');
  const edge = await link(other.key, 'blocks', item.key);
  await t.run((tx) => removeDependency(tx, t.engineer, edge.id));
  await expect(move(item.key, 'open')).rejects.toThrow();
  const { items: history } = await itemHistory(t.database, t.viewer, item.key);
  expect(history.map(({ type, payload }) => [type, payload])).toEqual([
    ['item.created', { version: 1, kind: 'ticket', title: 'Seen' }],
    ['item.updated', { version: 2, changes: { title: { from: 'Seen', to: 'Seen twice' }, description: {} } }],
    ['item.state_changed', { version: 3, from: 'backlog', to: 'ready' }],
    ['dependency.added', { type: 'blocks', from: other.key, to: item.key }],
    ['dependency.removed', { type: 'blocks', from: other.key, to: item.key }],
  ]);
  expect(history.every(({ actor }) => actor.subject === 'erin' && actor.kind === 'human')).toBe(true);
  const seqs = (await projectEvents(t.database, t.web)).map(({ seq }) => seq);
  expect(seqs).toEqual(seqs.map((_, index) => index + 1));
});

test('history is paged by seq', async () => {
  const { key } = await t.item({});
  await update(key, { version: 1, title: 'x' });
  const first = await itemHistory(t.database, t.viewer, key, { limit: 1 });
  expect(first.items.map(({ type }) => type)).toEqual(['item.created']);
  const second = await itemHistory(t.database, t.viewer, key, { limit: 1, after: first.next! });
  expect(second.items.map(({ type }) => type)).toEqual(['item.updated']);
  expect(second.next).toBeUndefined();
});

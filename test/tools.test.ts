import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { plannerActor, type Principal } from '../domain/actor.ts';
import { DomainError } from '../domain/errors.ts';
import { callTool, findTool, toolSchemas, tools, type ToolOutcome } from '../planner/tools/index.ts';
import { callAmong } from '../planner/tools/call.ts';
import { defineTool } from '../planner/tools/tool.ts';
import { addDependency } from '../store/dependencies.ts';
import { createItem, transitionItem } from '../store/items.ts';
import { z } from 'zod';
import { createTracker, projectEvents, type Tracker } from './support/tracker.ts';

let t: Tracker;
beforeAll(async () => {
  t = await createTracker();
});
afterAll(() => t.drop());

const actor = plannerActor('01890000-0000-7000-8000-000000000000', 'erin');
function call(
  name: string,
  input: Record<string, unknown> | string = {},
  human: Principal = t.engineer,
  maxOutputCharacters = 60_000,
): Promise<ToolOutcome> {
  return t.run((tx) => callTool({ tx, project: t.web, human, actor, maxOutputCharacters }, name, input));
}
async function output(name: string, input: Record<string, unknown> | string = {}): Promise<Record<string, unknown>> {
  const { text, is_error } = await call(name, input);
  expect([text, is_error]).toEqual([text, false]);
  return JSON.parse(text) as Record<string, unknown>;
}
const create = (title: string) => ({ kind: 'create_item', ref: 'a', create: { kind: 'ticket', title } });
const proposal = (...operations: unknown[]) => ({ title: 'A plan', operations });

describe('spec: planner 6: the tools', () => {
  test('the tools are there, each with an object schema that names its required fields', () => {
    const required = Object.fromEntries(toolSchemas().map(({ name, parameters }) => [name, parameters['required'] ?? []]));
    expect(required).toEqual({
      list_items: [],
      get_item: ['key'],
      list_runnable: [],
      search_project: ['query'],
      list_changesets: [],
      propose_changeset: ['title', 'operations'],
      list_skills: [],
      read_skill: ['name'],
      search_knowledge: ['query'],
      get_knowledge: ['id'],
      create_knowledge: ['kind', 'title', 'body'],
      update_knowledge: ['id', 'version'],
    });
    for (const { parameters, description } of toolSchemas()) {
      expect(parameters).toMatchObject({ type: 'object', additionalProperties: false });
      expect(description.length).toBeGreaterThan(20);
    }
    const writing = tools.filter(({ writes }) => writes).map(({ name }) => name);
    expect(writing).toEqual(['propose_changeset', 'create_knowledge', 'update_knowledge']);
    expect(findTool('nope')).toBeUndefined();
  });

  test('spec: planner 6.1: of every tool, what its schema requires, bounds and lists is what its calls are held to', async () => {
    for (const { name, parameters } of toolSchemas()) {
      const { required = [], properties = {} } = parameters as {
        required?: string[];
        properties?: Record<string, { enum?: unknown[]; maximum?: number; minimum?: number; type?: string }>;
      };
      const empty = (await call(name, {})).text;
      for (const field of required) expect([name, empty]).toEqual([name, expect.stringContaining(`${field} is required`)]);
      for (const [field, schema] of Object.entries(properties)) {
        const beyond: unknown[] = [];
        if (schema.enum) beyond.push('no such');
        if (schema.maximum !== undefined) beyond.push(schema.maximum + 1);
        if (schema.minimum !== undefined) beyond.push(schema.minimum - 1);
        if (schema.type === 'string') beyond.push(7);
        for (const value of beyond) {
          const { text, is_error } = await call(name, { [field]: value });
          expect([name, is_error, text]).toEqual([name, true, expect.stringMatching(new RegExp(`^(\\d+ problems:|${field})`))]);
          expect(text).toContain(`${field} must`);
        }
      }
      expect((await call(name, { unheard_of: 1 })).text).toContain('unknown field "unheard_of"');
    }
  });

  test('spec: planner 6.3, 6.7, 6.8, 6.9, 6.16: list_items pages summaries; list_runnable and get_item show what the tracker holds', async () => {
    const epic = await t.item({ kind: 'epic', title: 'Search' });
    const ticket = await t.item({ title: 'Index', epic: epic.key, acceptance_criteria: ['fast'] });
    const other = await t.item({ title: 'Other' });
    await t.run((tx) => addDependency(tx, t.engineer, ticket.key, { type: 'blocks', to: other.key }));
    await t.run((tx) => transitionItem(tx, t.engineer, ticket.key, { state: 'ready' }));
    const summary = { key: ticket.key, kind: 'ticket', title: 'Index', state: 'ready', type: 'feature', epic: epic.key };
    expect(await output('list_items', { epic: epic.key })).toEqual({ items: [summary] });
    expect(await output('list_items', { kind: 'epic', limit: 1 })).toMatchObject({ items: [{ key: epic.key }] });
    expect(await output('list_items', { limit: 1, after: epic.key })).toEqual({ items: [summary], next: ticket.key });
    expect(await output('list_runnable')).toEqual({ items: [summary] });
    expect(await output('get_item', { key: ticket.key })).toEqual({
      ...summary,
      description: '',
      acceptance_criteria: ['fast'],
      policy: { review_mode: 'agent', merge_mode: 'auto' },
      version: 2,
      dependencies: {
        blocks: [{ type: 'blocks', key: other.key, kind: 'ticket', title: 'Other', state: 'backlog' }],
        blocked_by: [],
        relates: [],
      },
    });
  });

  test('spec: planner 6.4: items are confined to the session\'s project, whatever else the human may read', async () => {
    const { key } = await t.run((tx) => createItem(tx, t.admin, 'OPS', { kind: 'ticket', title: 'Elsewhere' }));
    expect(await call('get_item', { key }, t.admin)).toEqual({
      text: `There is no item ${key} in project WEB.`,
      is_error: true,
    });
    const operations = [{ kind: 'update_item', update: { item: key, title: 'x' } }];
    expect((await call('propose_changeset', proposal(...operations), t.admin)).text).toContain('no item OPS-1 in project WEB');
  });

  test('spec: planner 6.11, 6.12: propose_changeset stores a proposal by the planner for the human; list_changesets shows it', async () => {
    const made = await output('propose_changeset', proposal(create('Unheard of')));
    expect(made).toEqual({
      changeset: expect.any(String),
      status: 'proposed',
      operations: 1,
      note: 'Not applied yet: a human reviews the changeset, then applies or rejects it.',
    });
    const { items } = (await output('list_changesets', { status: 'proposed' })) as { items: unknown[] };
    expect(items[0]).toEqual({ id: made['changeset'], title: 'A plan', status: 'proposed', operations: 1, approved: 0 });
    const event = (await projectEvents(t.database, t.web)).at(-1)!;
    expect([event.type, event.actor]).toEqual(['changeset.proposed', actor]);
  });

  test('reports f13: a create with the title of an open item is accepted and said', async () => {
    const { key } = await t.item({ title: 'Log in' });
    const { note } = await output('propose_changeset', proposal(create('log IN')));
    expect(note).toContain(`Operation 1 has the same title as ${key}.`);
  });

  test('spec: planner 2.23: the planner can\'t set policy', async () => {
    const operation = { kind: 'create_item', ref: 'a', create: { kind: 'ticket', title: 'x', policy: {} } };
    expect(await call('propose_changeset', proposal(operation))).toEqual({
      text: 'operation 1: create.policy is for humans only: leave it out',
      is_error: true,
    });
  });
});

describe('spec: planner 6: a failing call is an error result', () => {
  test('spec: planner 6.21: an unknown tool is named, with the nearest ones', async () => {
    expect(await call('list_item')).toEqual({
      text: expect.stringMatching(/^There is no tool "list_item". Nearest: list_items/),
      is_error: true,
    });
    const all = tools.map(({ name }) => name).join(', ');
    expect((await call('rm -rf')).text).toBe(`There is no tool "rm -rf". Tools: ${all}.`);
  });

  test.each<[string, RegExp]>([
    ['{"key": "WEB-1"', /^The arguments of get_item are malformed JSON: .*position 15/],
    ['[1]', /must be one JSON object, not "\[1\]"/],
    ['null', /must be one JSON object/],
    ['""', /must be one JSON object/],
  ])('spec: planner 6.22: arguments that are no JSON object (%j) are told with the parser\'s complaint', async (input, message) => {
    expect(await call('get_item', input)).toEqual({ text: expect.stringMatching(message), is_error: true });
  });

  test('spec: planner 6.19: arguments nested 100,000 deep are told as any that are wrong', async () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    expect((await call('list_items', `{"kind": ${deep}}`)).text).toMatch(/^kind must be one of .*; not an array$/);
  });

  test('spec: planner 6.3: empty input is {}', async () => {
    expect((await call('list_runnable', '')).is_error).toBe(false);
    expect((await call('get_item', ' ')).text).toBe('key is required');
  });

  test('spec: planner 6.2: unknown fields are rejected by name, nested ones too; limits are enforced', async () => {
    expect((await call('list_items', { colour: 1, limit: 501 })).text).toBe(
      '2 problems:\nlimit must be at most 500, not 501\nunknown field "colour"',
    );
    const operation = { kind: 'create_item', ref: 'a', create: { kind: 'ticket', title: 'x', priority: 1 } };
    expect((await call('propose_changeset', proposal(operation))).text).toBe(
      'operation 1: create has unknown field "priority"',
    );
  });

  test('spec: planner 6.25: more than 256 KiB of arguments are refused', async () => {
    const half = 'x'.repeat(128 * 1024);
    const answer = await call('propose_changeset', { title: half, summary: half });
    expect(answer).toEqual({ text: expect.stringMatching(/have \d+ bytes; at most 262144 are allowed/), is_error: true });
  });

  test('spec: planner 5.14, 6.18: what the human may not do is one fixed sentence, read anew on each call', async () => {
    const refused = await call('propose_changeset', proposal(create('x')), t.viewer);
    const sentence = /^The human whom the planner acts for may not do this in this project[^.]*\.$/;
    expect(refused).toEqual({ text: expect.stringMatching(sentence), is_error: true });
    expect(await call('list_items', {}, t.stranger)).toEqual(refused);
    expect(await call('list_items', {}, { ...t.engineer, actions: ['tracker.write'] })).toEqual(refused);
    expect((await call('list_items', {}, t.viewer)).is_error).toBe(false);
  });

  test('spec: planner 6.6: results above the limit are cut with a marker that says how to narrow the call', async () => {
    for (let index = 0; index < 5; index++) await t.item({ title: '🚀'.repeat(250) });
    const { text, is_error } = await call('list_items', {}, t.engineer, 1_000);
    expect(is_error).toBe(false);
    expect(text).toMatch(/\n\[cut: \d+ characters, 1000 allowed\. To see less at once: filter by kind, state, .*\]$/);
    expect([...text]).toHaveLength(1_000);
    expect(text.isWellFormed()).toBe(true);
  });
});

describe('spec: planner 6: a call\'s effect', () => {
  const writing = (after: (t: unknown) => unknown) =>
    defineTool({
      name: 'write',
      description: 'Writes, then does something else.',
      action: 'tracker.write',
      writes: true,
      input: z.strictObject({}),
      narrow: 'nothing',
      async run({ tx, human }) {
        const item = await createItem(tx, human, 'WEB', { kind: 'ticket', title: 'Written' });
        await after(tx);
        return item;
      },
    });
  const database = (code: string) => Object.assign(new Error('from the database'), { code });
  const attempt = (error: unknown): Promise<ToolOutcome> =>
    t.run((tx) => {
      const tool = writing(() => {
        throw error;
      });
      return callAmong([tool], { tx, project: t.web, human: t.engineer, actor, maxOutputCharacters: 1_000 }, 'write', {});
    });
  const state = async () => [
    await t.database.query('SELECT count(*) FROM items'),
    (await projectEvents(t.database, t.web)).length,
  ];

  test('a failing call leaves neither rows nor events, and the transaction goes on', async () => {
    const before = await state();
    expect(await attempt(new DomainError('conflict', 'Too late.'))).toEqual({ text: 'Too late.', is_error: true });
    expect(await state()).toEqual(before);
  });

  test('spec: planner 6.20: anything unforeseen is "internal error", its details in the log', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const before = await state();
    expect(await attempt(new TypeError('secret detail'))).toEqual({ text: 'internal error', is_error: true });
    expect(JSON.parse(log.mock.calls[0]![0] as string)).toMatchObject({ tool: 'write', reason: 'secret detail' });
    log.mockRestore();
    expect(await state()).toEqual(before);
  });

  test('an error of the database inside a call spoils nothing around it', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const tool = writing((tx) => (tx as { query(sql: string): Promise<unknown> }).query('SELECT 1 / 0'));
    const context = { project: t.web, human: t.engineer, actor, maxOutputCharacters: 1_000 };
    const [outcome, rows] = await t.run(async (tx) => [
      await callAmong([tool], { ...context, tx }, 'write', {}),
      await tx.query('SELECT 1 AS one'),
    ]);
    log.mockRestore();
    expect(outcome).toEqual({ text: 'internal error', is_error: true });
    expect(rows).toEqual([{ one: 1 }]);
  });

  test.each(['08006', '57P01', 'ECONNRESET'])('a lost connection (%s) is thrown, for the call to be run again', async (code) => {
    await expect(attempt(database(code))).rejects.toMatchObject({ code });
  });

  test('a deadlock or serialization failure is thrown and the transaction run again', async () => {
    let runs = 0;
    const tool = writing(() => {
      if (++runs < 3) throw database('40P01');
    });
    const before = await t.database.query('SELECT count(*)::integer AS count FROM items');
    const outcome = await t.run((tx) =>
      callAmong([tool], { tx, project: t.web, human: t.engineer, actor, maxOutputCharacters: 1_000 }, 'write', {}),
    );
    expect([outcome.is_error, runs]).toEqual([false, 3]);
    const after = await t.database.query('SELECT count(*)::integer AS count FROM items');
    expect(after[0]!['count']).toBe(Number(before[0]!['count']) + 1);
  });
});

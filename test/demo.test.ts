// The demo model's rules: what it proposes for a text, what it answers, and that it always comes to an end.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plannerChangeset } from '../domain/changeset.ts';
import { modelView, textOf } from '../domain/transcript.ts';
import { replyTo } from '../models/demo/brain.ts';
import { conversationOf, type Finding, type Reply } from '../models/demo/conversation.ts';
import type { Operation } from '../models/demo/proposal.ts';
import { summaryRequest, summarySystem } from '../planner/summary-prompt.ts';

const allTools = ['list_items', 'list_changesets', 'list_runnable', 'get_item', 'propose_changeset'];

interface World {
  items?: Record<string, unknown>[];
  tools?: string[];
  /** What a tool answers; undefined: as an empty tracker would. */
  answer?(name: string, input: Record<string, unknown>): unknown;
}

/** Plays a turn as the planner would and returns the calls and the last answer. */
function converse(human: string, world: World = {}): { calls: Reply['calls']; answer: string } {
  const findings: Finding[] = [];
  const calls: Reply['calls'] = [];
  const results: Record<string, unknown> = {
    list_items: { items: world.items ?? [] },
    list_changesets: { items: [] },
    list_runnable: { items: [] },
    get_item: { key: 'WEB-3', kind: 'ticket', title: 'Log in', state: 'ready' },
    propose_changeset: { changeset: 'cs-1', status: 'proposed', operations: 1, note: 'Not applied yet.' },
  };
  for (let round = 0; round <= 20; round++) {
    const reply = replyTo({ human, findings, tools: new Set(world.tools ?? allTools), said: [human] });
    if (reply.calls.length === 0) return { calls, answer: reply.text };
    for (const { name, input } of reply.calls) {
      const answered = world.answer?.(name, input) ?? results[name];
      const failed = answered instanceof Error;
      const text = failed ? answered.message : JSON.stringify(answered);
      findings.push({ tool: name, input, text, value: failed ? undefined : answered });
    }
    calls.push(...reply.calls);
  }
  throw new Error('no end after 20 rounds');
}

function operationsFor(human: string, world: World = {}): Operation[] {
  const { calls } = converse(human, world);
  const proposals = calls.filter((call) => call.name === 'propose_changeset');
  expect(proposals).toHaveLength(1);
  expect(plannerChangeset.safeParse(proposals[0]?.input).error?.issues).toBeUndefined();
  return (proposals[0]?.input as { operations: Operation[] }).operations;
}

const creates = (operations: readonly Operation[]) =>
  operations.flatMap((operation) => (operation.kind === 'create_item' ? [operation.create] : []));
const edges = (operations: readonly Operation[]) =>
  operations.flatMap((operation) =>
    operation.kind === 'add_dependency' ? [`${operation.dependency.from} > ${operation.dependency.to}`] : [],
  );

const shop = `Plan the launch of our web shop:
1. Product catalogue, so that visitors find what we sell
2. Shopping cart
3. Checkout
   - must accept cards
- Load test before checkout
- Send reminder email after 3 days`;

test('a goal with a list: a milestone, its tickets, criteria, and the order of numbers and order words', () => {
  const operations = operationsFor(shop);
  const milestone = '$launch-of-our-web-shop';
  expect(creates(operations)).toEqual([
    { kind: 'milestone', title: 'Launch of our web shop' },
    {
      kind: 'ticket',
      title: 'Product catalogue',
      acceptance_criteria: ['So that visitors find what we sell'],
      milestone,
    },
    { kind: 'ticket', title: 'Shopping cart', milestone },
    { kind: 'ticket', title: 'Checkout', acceptance_criteria: ['Must accept cards'], milestone },
    { kind: 'ticket', title: 'Load test', milestone },
    { kind: 'ticket', title: 'Send reminder email after 3 days', milestone },
  ]);
  expect(edges(operations)).toEqual([
    '$product-catalogue > $shopping-cart',
    '$shopping-cart > $checkout',
    '$load-test > $checkout',
  ]);
});

test('headings become milestone and epics, bullets their tickets', () => {
  const operations = operationsFor(
    '# Launch v2\n## Backend\n- API\n- Fix crash, depends on API\n## Frontend\n- Login page\n- then Dashboard',
  );
  expect(creates(operations)).toEqual([
    { kind: 'milestone', title: 'Launch v2' },
    { kind: 'epic', title: 'Backend', milestone: '$launch-v2' },
    { kind: 'epic', title: 'Frontend', milestone: '$launch-v2' },
    { kind: 'ticket', title: 'API', epic: '$backend', milestone: '$launch-v2' },
    { kind: 'ticket', title: 'Fix crash', type: 'bug', epic: '$backend', milestone: '$launch-v2' },
    { kind: 'ticket', title: 'Login page', epic: '$frontend', milestone: '$launch-v2' },
    { kind: 'ticket', title: 'Dashboard', epic: '$frontend', milestone: '$launch-v2' },
  ]);
  expect(edges(operations)).toEqual(['$api > $fix-crash', '$login-page > $dashboard']);
});

test('a bullet with parts is an epic; phases follow each other', () => {
  expect(creates(operationsFor('- Search\n  - Index\n  - Ranking')).map(({ kind, title }) => [kind, title])).toEqual([
    ['epic', 'Search'], ['ticket', 'Index'], ['ticket', 'Ranking'],
  ]);
  const phases = operationsFor('## Phase 1: Try\n- a thing\n## Phase 2: Ship\n- b thing');
  expect(edges(phases)).toEqual(['$phase-1-try > $phase-2-ship']);
});

test.each([
  ['Build a landing page with a signup form, email verification and a dashboard, then launch it.',
    ['Build a landing page', 'Signup form', 'Email verification', 'Dashboard', 'Launch it']],
  ['Can you plan a web shop with cart and checkout?', ['Web shop', 'Cart', 'Checkout']],
])('plain sentences are read too: %s', (human, titles) => {
  expect(creates(operationsFor(human)).map(({ title }) => title)).toEqual(titles);
});

test('the tracker is read first, page by page, and what it has is linked to instead of created again', () => {
  const items = [{ key: 'WEB-7', kind: 'ticket', title: 'shopping CART', state: 'ready' }];
  const old = (i: number) => ({ key: `WEB-${100 + i}`, kind: 'ticket', title: `Old ${i}`, state: 'done' });
  const first = Array.from({ length: 100 }, (_, i) => old(i));
  const { calls, answer } = converse(shop, {
    answer: (name, input) =>
      name === 'list_items' ? (input.after === 'WEB-199' ? { items } : { items: first, next: 'WEB-199' }) : undefined,
  });
  expect(calls.map(({ name }) => name)).toEqual(['list_items', 'list_changesets', 'list_items', 'propose_changeset']);
  const { operations } = calls[3]?.input as { operations: Operation[] };
  expect(creates(operations).map(({ title }) => title)).not.toContain('Shopping cart');
  const update = { item: 'WEB-7', milestone: '$launch-of-our-web-shop' };
  expect(operations).toContainEqual({ kind: 'update_item', update });
  expect(edges(operations)).toContain('$product-catalogue > WEB-7');
  expect(answer).toContain('WEB-7');
});

test('when the tracker has all of it nothing is proposed', () => {
  const ticket = (key: string, title: string) => ({ key, kind: 'ticket', title, state: 'ready', epic: 'WEB-9' });
  const items = [ticket('WEB-1', 'One thing'), ticket('WEB-2', 'Two things')];
  const { calls, answer } = converse('- One thing\n- Two things', { items });
  expect(calls.map(({ name }) => name)).not.toContain('propose_changeset');
  expect(answer).toContain('WEB-2');
});

test('an order that would be a circle is left out and said', () => {
  const { calls, answer } = converse('- Alpha work after beta work\n- Beta work after alpha work');
  expect(edges((calls.at(-1)?.input as { operations: Operation[] }).operations)).toHaveLength(1);
  expect(answer).toContain('circle');
});

test('more than 200 operations are cut, and the answer says so', () => {
  const human = `Plan it:\n${Array.from({ length: 250 }, (_, i) => `${i + 1}. Task number ${i + 1} here`).join('\n')}`;
  expect(operationsFor(human)).toHaveLength(200);
  expect(converse(human).answer).toContain('left out');
});

test('edits of what is there become update_item and add_dependency', () => {
  expect(operationsFor('Rename WEB-3 to "Log in"\nWEB-4 depends on WEB-3')).toEqual([
    { kind: 'update_item', update: { item: 'WEB-3', title: 'Log in' } },
    { kind: 'add_dependency', dependency: { from: 'WEB-3', to: 'WEB-4', type: 'blocks' } },
  ]);
});

test.each([
  ['What is ready?', [{ name: 'list_runnable', input: {} }]],
  ["What's next", [{ name: 'list_runnable', input: {} }]],
  ['Show WEB-3 and WEB-4', ['WEB-3', 'WEB-4'].map((key) => ({ name: 'get_item', input: { key } }))],
  ['list the epics', [{ name: 'list_items', input: { limit: 100, kind: 'epic' } }]],
  ['Which tickets are done?', [{ name: 'list_items', input: { limit: 100, kind: 'ticket', state: 'done' } }]],
  ['Which changesets are open?', [{ name: 'list_changesets', input: {} }]],
])('"%s" is answered from the tracker', (human, calls) => {
  expect(converse(human).calls).toEqual(calls);
});

const idle = ['Hi', 'How are you?', 'I like trains', '???', '', 'Thanks!'];
test.each(idle)('"%s": it says what it is and how to set a real model', (human) => {
  const { calls, answer } = converse(human);
  expect(calls).toEqual([]);
  for (const name of ['PLANNER_MODEL_BASE_URL', 'PLANNER_MODEL_API_KEY', '`PLANNER_MODEL`', 'demo model']) {
    expect(answer).toContain(name);
  }
});

test('a failing call is explained, and never repeated', () => {
  const refused = (tool: string): World => ({
    answer: (name) => (name === tool ? new Error('You may not do this.') : undefined),
  });
  for (const tool of ['list_items', 'propose_changeset']) {
    const { calls, answer } = converse(shop, refused(tool));
    expect(calls.filter(({ name }) => name === tool)).toHaveLength(1);
    expect(answer).toContain('You may not do this.');
  }
  expect(converse('What is ready?', refused('list_runnable')).answer).toContain('You may not do this.');
});

test('only tools on offer are called', () => {
  const { calls, answer } = converse(shop, { tools: ['list_items'] });
  expect(calls.map(({ name }) => name)).toEqual(['list_items']);
  expect(answer).toContain('Product catalogue');
  expect(converse('What is ready?', { tools: [] }).calls).toEqual([]);
});

test('whatever a human writes, it comes to an end with a mark, and proposes only what spec: planner 2 allows', () => {
  const piece = fc.constantFrom(
    '# ', '## ', '- ', '  - ', '    - ', '1. ', '2. ', '- [x] ', 'Goal: ', 'Backend:', '\n', '\n', '\n\n', ' ',
    'after ', 'then ', 'before ', 'depends on 1', 'so that ', 'plan ', 'build ', 'login', 'search', 'WEB-1', 'WEB-2',
    '**', '`', '```', '|', '😀', '\u0000', '\ud800', 'ß', '検索', 'x'.repeat(400), ', ', '. ', '?',
    ' and ', ': ', '$ref', '(', ')',
  );
  const items = [
    { key: 'WEB-1', kind: 'epic', title: 'login', state: 'open' },
    { key: 'WEB-2', kind: 'ticket', title: 'search', state: 'done' },
  ];
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const { calls, answer } = converse(pieces.join(''), { items });
      const proposals = calls.filter(({ name }) => name === 'propose_changeset');
      expect(proposals.length).toBeLessThanOrEqual(1);
      for (const { input } of proposals) expect(plannerChangeset.safeParse(input).error?.issues).toBeUndefined();
      expect(answer).toMatch(/demo model/);
    }),
    { numRuns: 1_500 },
  );
});

test('asked for a summary, as compaction asks, it tells what the human wanted, from summary to summary', () => {
  const summaryOf = (earlier: string, talk: string): string =>
    replyTo(conversationOf({ messages: [{ role: 'system', content: summarySystem }, ...wire(earlier, talk)] })).text;
  const wire = (earlier: string, talk: string) =>
    summaryRequest(earlier, talk, 1, 1).map(({ role, blocks }) => ({ role, content: textOf(blocks) }));
  const first = summaryOf('', 'HUMAN: Plan a shop:\n1. Cart\n\nPLANNER: Proposed.\n\nHUMAN: Now the checkout');
  expect(first).toContain('- Plan a shop:\n- Now the checkout');
  expect(summaryOf(first, 'HUMAN: And a blog')).toContain('- Plan a shop:\n- Now the checkout\n- And a blog');
});

test('after a summary it answers the whole message that follows it', () => {
  const [message] = modelView([{ role: 'user', blocks: [{ type: 'text', text: 'Plan this:\n\n1. Cart\n2. Checkout' }] }], 'A shop.\n\nMore.');
  const { human } = conversationOf({ messages: [{ role: 'user', content: message!.blocks.map((block) => 'text' in block && block.text).join('\n\n') }] });
  expect(human).toBe('Plan this:\n\n1. Cart\n2. Checkout');
});

// The page's rules without a browser: exchanges, Markdown blocks, addresses, short words, what events make stale.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { emptyView, fold, type Message, type Output } from '../client/index.ts';
import { markdownBlocks } from '../web/src/base/markdown-blocks.ts';
import { safeAddress } from '../web/src/base/safe-address.ts';
import type { ConversationState } from '../web/src/chat/conversation.ts';
import { exchangesOf, saysNothing } from '../web/src/chat/exchanges.ts';
import { titleOf } from '../web/src/chat/title.ts';
import { callState, proposedBy, shortInput } from '../web/src/chat/tool-words.ts';
import { touched } from '../web/src/data/touched.ts';
import { paths } from '../web/src/paths.ts';

const at = '2026-01-01T00:00:00.000Z';
const human = (seq: number, turn: string, text: string): Message => ({
  seq, turn, role: 'user', author: 'ada', blocks: [{ type: 'text', text }], created_at: at,
});
const answer = (seq: number, turn: string, ...blocks: Message['blocks']): Message => ({
  seq, turn, role: 'assistant', blocks, created_at: at,
});
const results = (seq: number, turn: string, tool_use_id: string, text: string): Message => ({
  seq, turn, role: 'user', blocks: [{ type: 'tool_result', tool_use_id, text, is_error: false }], created_at: at,
});
const state = (change: Partial<ConversationState>): ConversationState => ({
  phase: 'ready', messages: [], view: emptyView, stopping: false, ...change,
});

type Body = { type: Output['type']; [field: string]: unknown };
const heard = (turn: string, ...bodies: Body[]) =>
  bodies
    .map((body, n) => ({ subscription: '1', session: 's', turn, attempt: 1, output: n + 1, ...body }) as Output)
    .reduce(fold, emptyView);

describe('exchanges', () => {
  test('a stored turn is one exchange: what was said, text and tool calls with their results, in order', () => {
    const messages = [
      human(1, 't1', 'Plan.'),
      answer(2, 't1', { type: 'text', text: 'Looking.' }, { type: 'tool_use', tool_use_id: 'c', name: 'list_items', input: {} }),
      results(3, 't1', 'c', '{"items":[]}'),
      answer(4, 't1', { type: 'tool_use', tool_use_id: 'c', name: 'get_item', input: { key: 'WEB-1' } }),
      results(5, 't1', 'c', '{}'),
      answer(6, 't1', { type: 'text', text: 'Done.' }),
      human(7, 't2', 'Thanks.'),
    ];
    const [first, second] = exchangesOf(state({ messages }));
    expect(first?.human?.text).toBe('Plan.');
    expect(first?.parts.map((part) => (part.type === 'text' ? part.text : `${part.tool} ${part.result?.text}`))).toEqual([
      'Looking.', 'list_items {"items":[]}', 'get_item {}', 'Done.',
    ]);
    expect(second).toMatchObject({ turn: 't2', human: { text: 'Thanks.' }, parts: [], running: false });
  });

  test('an answer without text and calls is told from one that says something', () => {
    const ended = (...bodies: Body[]) => exchangesOf(state({ view: heard('t1', ...bodies) }))[0]!;
    const call: Body = { type: 'tool_call', tool: 'list_items', tool_use_id: 'c', input: {} };
    const text: Body = { type: 'text', text: 'Hello.' };
    const done: Body = { type: 'done', text: 'end_turn' };
    expect(saysNothing(ended({ type: 'message', seq: 2 }, done), 'end_turn')).toBe(true);
    expect(saysNothing(ended(text, { type: 'message', seq: 2 }, call, done), 'end_turn')).toBe(true);
    expect(saysNothing(ended(call, text, { type: 'message', seq: 2 }, done), 'end_turn')).toBe(false);
    expect(saysNothing(ended(done), 'cancelled')).toBe(false);
  });

  test('the running turn is drawn from what was heard, once, whatever of it the transcript has already', () => {
    const messages = [human(1, 't1', 'Plan.'), answer(2, 't1', { type: 'text', text: 'First round.' })];
    const view = heard('t1', { type: 'message', seq: 1 }, { type: 'text', text: 'First round.' }, { type: 'message', seq: 2 }, { type: 'text', text: 'Sec' });
    const exchanges = exchangesOf(state({ messages, view, running: 't1' }));
    expect(exchanges).toHaveLength(1);
    expect(exchanges[0]).toMatchObject({ running: true, human: { text: 'Plan.' } });
    expect(exchanges[0]?.parts.map((part) => part.type === 'text' && part.text)).toEqual(['First round.', 'Sec']);
  });

  test('an ended turn is drawn from what was heard until the transcript has all of its messages', () => {
    const view = heard('t1', { type: 'message', seq: 1 }, { type: 'text', text: 'Live.' }, { type: 'message', seq: 2 }, { type: 'done', text: 'end_turn' });
    const before = exchangesOf(state({ messages: [human(1, 't1', 'Plan.')], view }));
    expect(before[0]?.parts).toMatchObject([{ text: 'Live.' }]);
    const messages = [human(1, 't1', 'Plan.'), answer(2, 't1', { type: 'text', text: 'Stored.' })];
    const after = exchangesOf(state({ messages, view }));
    expect(after[0]).toMatchObject({ parts: [{ text: 'Stored.' }], reason: 'end_turn', running: false });
  });

  test('what is being sent shows at once, and joins the turn that answers it', () => {
    const outgoing = { text: 'Plan.' };
    expect(exchangesOf(state({ outgoing }))).toEqual([{ human: { text: 'Plan.' }, parts: [], running: false }]);
    const view = heard('t1', { type: 'message', seq: 1 }, { type: 'text', text: 'Yes' });
    const joined = exchangesOf(state({ outgoing: { ...outgoing, seq: 1 }, view, running: 't1' }));
    expect(joined).toHaveLength(1);
    expect(joined[0]).toMatchObject({ turn: 't1', human: { text: 'Plan.' }, parts: [{ text: 'Yes' }] });
  });
});

describe('Markdown that grows', () => {
  test('blocks put together are the text', () => {
    const line = fc.constantFrom('', ' ', 'words', '- item', '  more', '```', '```js', '~~~~', '| a | b |', '> quote', '# head', '1. one');
    fc.assert(fc.property(fc.array(line), (lines) => {
      const text = lines.join('\n');
      expect(markdownBlocks(text).join('')).toBe(text);
    }));
  });

  test('all but the last block stay as they are when text is added', () => {
    const line = fc.constantFrom('', 'words', '- item', '  more', '```', '~~~', '> quote', '# head', '1. one');
    fc.assert(fc.property(fc.array(line), fc.array(line), (some, more) => {
      const text = some.map((each) => `${each}\n`).join('');
      const before = markdownBlocks(text).slice(0, -1);
      expect(markdownBlocks(text + more.join('\n')).slice(0, before.length)).toEqual(before);
    }));
  });

  test('a code fence and a loose list stay whole', () => {
    const code = '```\na\n\nb\n```\n\n';
    const list = '- one\n\n- two\n\n  still two\n\n';
    expect(markdownBlocks(`Intro.\n\n${code}${'After.\n\n'}${list}End.`)).toEqual(['Intro.\n\n', code, `After.\n\n${list}`, 'End.']);
  });
});

test.each([
  ['https://example.invalid/a?b=c#d', true],
  ['HTTP://example.invalid', true],
  ['mailto:ada@example.invalid', true],
  ['javascript:alert(1)', false],
  ['JaVaScRiPt:alert(1)', false],
  [' javascript:alert(1)', false],
  ['java\nscript:alert(1)', false],
  ['data:text/html,hi', false],
  ['vbscript:x', false],
  ['//example.invalid', false],
  ['/projects/WEB', false],
  ['https://', false],
])('a link to %j is followed: %s', (address, followed) => {
  expect(safeAddress(address)).toBe(followed ? address : '');
});

test('a tool call in few words: its input, cut; its state; how many rows it gave', () => {
  const call = { type: 'tool' as const, tool_use_id: 'c', tool: 'list_items', input: {} };
  expect(shortInput({ kind: 'ticket', limit: 5, operations: [1, 2] })).toBe('kind: ticket, limit: 5, operations: 2 entries');
  expect(shortInput({ text: 'x'.repeat(1_000) }).length).toBeLessThan(100);
  expect(shortInput('{broken')).toBe('{broken');
  expect(callState(call, true).words).toBe('running …');
  expect(callState(call, false).words).toBe('no result');
  expect(callState({ ...call, result: { text: '{"items":[1,2,3]}', is_error: false } }, false).words).toBe('ok · 3');
  expect(callState({ ...call, result: { text: 'no such item', is_error: true } }, false)).toEqual({ tone: 'bad', words: 'error' });
});

test('a card is shown for what was proposed, not for a refused proposal or another tool', () => {
  const call = { type: 'tool' as const, tool_use_id: 'c', tool: 'propose_changeset', input: { title: 'Plan' } };
  const text = '{"changeset":"01a","status":"proposed"}';
  expect(proposedBy({ ...call, result: { text, is_error: false } })).toEqual({ id: '01a', title: 'Plan' });
  expect(proposedBy({ ...call, result: { text, is_error: true } })).toBeUndefined();
  expect(proposedBy({ ...call, result: { text: 'cut …', is_error: false } })).toBeUndefined();
  expect(proposedBy({ ...call, tool: 'get_item', result: { text, is_error: false } })).toBeUndefined();
  expect(proposedBy(call)).toBeUndefined();
});

test('a session is titled by its first line, cut at a word', () => {
  for (const end of ['\n', '\r', '\u2028']) {
    expect(titleOf(`  Plan the shop${end}- a${end}- b`)).toBe('Plan the shop');
  }
  const long = titleOf('word '.repeat(40));
  expect(long).toMatch(/^(word )+word…$/);
  expect(long.length).toBeLessThanOrEqual(61);
  expect(titleOf('x'.repeat(500)).length).toBeLessThanOrEqual(61);
});

test('an event makes stale what shows it, and nothing else', () => {
  expect(touched('WEB', { type: 'item.state_changed' })).toContainEqual(['items']);
  expect(touched('WEB', { type: 'changeset.applied' })).toEqual([['changesets']]);
  expect(touched('WEB', { type: 'planner.session_updated' })).toContainEqual(['sessions', 'WEB']);
  expect(touched('WEB', { type: 'skill.updated' })).toEqual([['skills']]);
  expect(touched('WEB', { type: 'project.skill_pinned' })).toContainEqual(['skills']);
  // Its planner may have written some: knowledge is the organization's, no project's event tells of it.
  expect(touched('WEB', { type: 'planner.turn_ended' })).toContainEqual(['knowledge']);
  expect(touched('WEB', { type: 'something.new' })).toEqual([]);
});

test('an item’s path names its project', () => {
  expect(paths.item('WEB-12')).toBe('/projects/WEB/items/WEB-12');
});

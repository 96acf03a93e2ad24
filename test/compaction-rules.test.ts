// What is estimated, what is cut off, in which parts it is summarized, and what a summary may not lose. (spec: planner 8)

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  contextTokens,
  cut,
  estimateTokens,
  messageTokens,
  overheadTokens,
  partsOf,
  transcriptTexts,
} from '../domain/compaction.ts';
import { idsIn, keysIn, listKeys, without } from '../domain/named-things.ts';
import { interruptedText, modelView, type Block, type Message, type ModelMessage, type Usage } from '../domain/transcript.ts';

const human = (text: string): ModelMessage => ({ role: 'user', blocks: [{ type: 'text', text }] });
const says = (text: string): ModelMessage => ({ role: 'assistant', blocks: [{ type: 'text', text }] });
const calls = (...ids: string[]): ModelMessage => ({
  role: 'assistant',
  blocks: ids.map((id) => ({ type: 'tool_use', tool_use_id: id, name: 'list_items', input: {} })),
});
const results = (...ids: string[]): ModelMessage => ({
  role: 'user',
  blocks: ids.map((id) => ({ type: 'tool_result', tool_use_id: id, text: `result of ${id}`, is_error: false })),
});
const stored = (messages: readonly (ModelMessage & { usage?: Usage })[], from = 1): Message[] =>
  messages.map((message, index) => ({ ...message, seq: from + index, turn: 't', created_at: '' }));
const usage = (input: number, output: number, cached = 0, written = 0): Usage => ({
  input,
  output,
  cache_read: cached,
  cache_write: written,
});

describe('spec: planner 8: the estimate', () => {
  const overhead = overheadTokens({ system: 'You plan.', tools: [{ name: 'list_items', parameters: {} }] });

  test('spec: planner 8.2: with no usage known: system prompt, tool schemas, summary and all messages', () => {
    const messages = stored([human('Plan the shop.'), says('Gladly.')]);
    const all = contextTokens({ summary: 'They sell shoes.', summaryAt: 0, messages }, overhead);
    expect(all).toBe(
      overhead + estimateTokens('They sell shoes.') + messages.reduce((sum, message) => sum + messageTokens(message), 0),
    );
    expect(overhead).toBeGreaterThan(estimateTokens('You plan.'));
  });

  test('spec: planner 8.1: what the provider reported for the newest answer, cache reads and writes too, and what came since', () => {
    const since = human('And now?');
    const messages = stored([
      human('Plan.'),
      { ...says('First'), usage: usage(10, 5) },
      human('Go on.'),
      { ...says('Second'), usage: usage(1_000, 20, 300, 4) },
      since,
    ]);
    expect(contextTokens({ summary: '', summaryAt: 0, messages }, overhead)).toBe(1_324 + messageTokens(since));
  });

  test('spec: planner 8.1: usage reported before the summary was stored is of a longer context, and does not count', () => {
    const messages = stored([human('Plan.'), { ...calls('a'), usage: usage(90_000, 50) }, results('a')], 11);
    expect(contextTokens({ summary: 's', summaryAt: 13, messages }, overhead)).toBeLessThan(1_000);
    expect(contextTokens({ summary: 's', summaryAt: 11, messages }, overhead)).toBeGreaterThan(90_000);
  });

  test('reports c19, spec: planner 8.2: a provider that reports zeros has reported nothing', () => {
    for (const output of [0, 7]) {
      const messages = stored([human('Plan '.repeat(1_000)), { ...says('Yes.'), usage: usage(0, output) }]);
      expect(contextTokens({ summary: '', summaryAt: 0, messages }, overhead)).toBeGreaterThan(1_000);
    }
  });
});

describe('spec: planner 8: the cut', () => {
  test('spec: planner 8.5: everything before the newest human message is summarized, the current turn never', () => {
    const messages = [human('1'), says('2'), human('3'), calls('a'), results('a')];
    expect(cut(messages)).toBe(2);
  });

  test('spec: planner 8.5: nothing before it: nothing is summarized', () => {
    expect(cut([human('1'), calls('a'), results('a')])).toBe(0);
    expect(cut([])).toBe(0);
    expect(cut([calls('a'), results('a')])).toBe(0);
  });

  test('reports c09: a cut between a call and its result moves to before the call', () => {
    expect(cut([human('1'), says('2'), calls('a'), human('go on'), results('a')])).toBe(2);
    expect(cut([human('1'), calls('b'), calls('a'), results('b'), human('go on'), results('a')])).toBe(1);
  });

  const ids = ['a', 'b', 'c', 'd'];
  const anyMessage: fc.Arbitrary<ModelMessage> = fc.oneof(
    fc.constantFrom('go', 'on', '').map(human),
    fc.constantFrom('yes', '').map(says),
    fc.uniqueArray(fc.constantFrom(...ids), { minLength: 1 }).map((some) => calls(...some)),
    fc.uniqueArray(fc.constantFrom(...ids), { minLength: 1 }).map((some) => results(...some)),
  );

  test('whatever the conversation is, a call and its result are on one side', () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 14 }), (messages) => {
        const at = cut(messages);
        const newest = messages.findLastIndex(({ role, blocks }) => role === 'user' && blocks.some((b) => b.type === 'text'));
        expect(at).toBeLessThanOrEqual(Math.max(newest, 0));
        // The newest call of an id before the cut has its result there, or none at all.
        for (const id of ids) {
          const has = (type: Block['type']) => (message: ModelMessage) =>
            message.blocks.some((block) => block.type === type && 'tool_use_id' in block && block.tool_use_id === id);
          const call = messages.slice(0, at).findLastIndex(has('tool_use'));
          if (call < 0 || messages.slice(call, at).some(has('tool_result'))) continue;
          expect(messages.slice(at).some(has('tool_result'))).toBe(false);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('reports c03, c11: what is summarized is repaired first: every call has a result, no result lacks its call', () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 14 }), (messages) => {
        const texts = transcriptTexts(modelView(messages.slice(0, cut(messages))));
        for (const text of texts) {
          const called = text.match(/PLANNER CALLS/g)?.length ?? 0;
          expect(text.match(/(RESULT|ERROR): /g)?.length ?? 0).toBe(called);
        }
      }),
      { numRuns: 300 },
    );
    const orphan = [human('1'), calls('x'), human('go on'), says('ok'), human('2')];
    expect(transcriptTexts(modelView(orphan.slice(0, cut(orphan))))).toEqual([
      'HUMAN: 1',
      `PLANNER CALLS list_items {}\n\nERROR: ${interruptedText}\n\nHUMAN: go on`,
      'PLANNER: ok',
    ]);
  });
});

describe('spec: planner 8: a text that exceeds the window is summarized in parts', () => {
  const text = fc.oneof(
    fc.string({ maxLength: 400 }),
    fc.string({ unit: 'binary', maxLength: 120 }),
    fc.constantFrom('word '.repeat(300), '计划'.repeat(200), '😀'.repeat(100), 'line\n'.repeat(200)),
  );

  test('spec: planner 8.8: each part fits, nothing is lost, the order stays', () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 10 }), fc.integer({ min: 20, max: 400 }), (texts, limit) => {
        const parts = partsOf(texts, limit);
        for (const part of parts) expect(estimateTokens(part)).toBeLessThanOrEqual(limit);
        expect(parts.join('').replaceAll('\n', '')).toBe(texts.join('').replaceAll('\n', ''));
      }),
      { numRuns: 200 },
    );
  });

  test('what fits into one is one', () => {
    expect(partsOf(['a', 'b', 'c'], 100)).toEqual(['a\n\nb\n\nc']);
    expect(partsOf([], 100)).toEqual([]);
  });

  test('a character is never halved', () => {
    for (const part of partsOf(['😀'.repeat(101)], 20)) expect(part.isWellFormed()).toBe(true);
  });
});

describe('spec: planner 8: keys and ids that a summary misses', () => {
  const web = new Set(['WEB', 'API2']);

  test('spec: planner 8.13: keys of known projects are found wherever they stand, other words with a dash and a number are none', () => {
    const text = '{"key":"WEB-12"} WEB-3, (API2-7) は WEB-5です. UTF-8, SHA-256, XWEB-1, WEB-0, WEB-12a, web-4, WEB-09';
    expect(listKeys(keysIn(text, web))).toBe('WEB-3, WEB-5, WEB-12, API2-7');
  });

  const numbers = fc.array(fc.integer({ min: 1, max: 1_500 }), { maxLength: 700 });
  const named = (list: readonly number[]): string => list.map((n) => `WEB-${n}`).join(' ');

  test('spec: planner 8.13: the list and what the summary has are together all that was named, and nothing else', () => {
    fc.assert(
      fc.property(numbers, numbers, (before, kept) => {
        const missing = without(keysIn(named(before), web), keysIn(named(kept), web));
        const found = keysIn(`${listKeys(missing)} ${named(kept)}`, web);
        const all = keysIn(`${named(before)} ${named(kept)}`, web);
        expect(found).toEqual(all);
        const again = without(missing, keysIn(named(kept), web));
        expect(again).toEqual(missing);
      }),
      { numRuns: 200 },
    );
  });

  test('each of up to 500 keys is listed by itself; of more, neighbours as runs, so that the list stays short', () => {
    const keys = (count: number) => keysIn(named(Array.from({ length: count }, (_, n) => n + 1)), web);
    expect(listKeys(keys(500)).split(', ')).toHaveLength(500);
    expect(listKeys(keys(20_000))).toBe('WEB-1..20000');
    expect(listKeys(keysIn('WEB-1..20000 and WEB-20002', web))).toBe('WEB-1..20000, WEB-20002');
    expect(listKeys(without(keysIn('WEB-1..20000', web), keysIn('WEB-7', web)))).toBe('WEB-1..6, WEB-8..20000');
  });

  test('ids are found once each', () => {
    const id = '01939a3e-7c55-7b0e-a1f4-0123456789ab';
    expect(idsIn(`changeset ${id}, again "${id}" and x${id}`)).toEqual([id]);
  });
});

// What providers and models do in a turn, and what becomes of it: on real parts (spec: planner 9.10, reports c).

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { toolUses, type ToolResultBlock } from '../domain/transcript.ts';
import { brief, startTestPlanner, type TestPlanner } from './support/planner.ts';
import { says, type Reply, type Step } from './support/scripted-model.ts';

let planner: TestPlanner;
let session: string;
beforeAll(async () => {
  planner = await startTestPlanner();
  await planner.startWorker();
});
afterAll(() => planner.close());
beforeEach(async () => {
  session = await planner.session();
});

/** Plays replies in turn, the last one again and again, and returns the turn and how many calls it took. */
async function play(...replies: Reply[]) {
  const from = planner.model.requests.length;
  planner.model.play((_, n) => replies[Math.min(n - from, replies.length - 1)]!);
  const turn = await planner.ended(await planner.send(session, 'go'), 60_000);
  return { ...turn, calls: planner.model.requests.length - from };
}

const results = async (): Promise<ToolResultBlock[]> =>
  (await planner.transcript(session)).flatMap(({ blocks }) => blocks.filter((block) => block.type === 'tool_result'));

const chunk = (delta: object, reason: string | null = null): Step => ({
  chunk: { choices: [{ index: 0, delta, finish_reason: reason }] },
});
const done: Step[] = [{ raw: 'data: [DONE]\n\n' }, { end: true }];

test('reports c07: of four calls the second fails: four results, one an error, and the turn goes on', async () => {
  const calls = ['list_items', 'get_item', 'list_runnable', 'list_changesets'];
  const answer: Reply = calls.map((name) => ({ call: { name, input: name === 'get_item' ? { key: 'WEB-999' } : {} } }));
  expect(await play(answer, says('done'))).toMatchObject({ reason: 'end_turn' });
  expect((await results()).map(({ is_error }) => is_error)).toEqual([false, true, false, false]);
});

test('reports c21: an answer that is always cut within its call stops at once, and says why it stopped', async () => {
  const cut: Reply = [{ call: { name: 'propose_changeset', input: '{"title": "Search", "operations": [' } }, { finish: 'length' }];
  expect(await play(cut)).toMatchObject({ reason: 'max_tokens', calls: 1 });
  expect(brief(await planner.outputs(session)).at(-1)).toBe('done max_tokens');
  expect((await planner.transcript(session)).flatMap(({ blocks }) => toolUses(blocks))).toEqual([]);
});

test('reports c23: malformed arguments are called malformed, and the parser is quoted', async () => {
  await play([{ call: { name: 'list_items', input: '{"kind": listt"}' } }], says('sorry'));
  const [result] = await results();
  expect(result).toMatchObject({ is_error: true });
  expect(result!.text).toMatch(/malformed JSON: .*listt/);
  expect(result!.text).not.toMatch(/truncat|cut off/i);
});

test('reports c43: an id that is used again in every round has one result a call, and each goes with its own', async () => {
  const same = (n: number): Reply => [{ call: { id: 'call_0', name: 'list_items', input: { limit: n + 1 } } }];
  const { calls } = await play(...Array.from({ length: 8 }, (_, n) => same(n)), says('done'));
  expect(calls).toBe(9);
  expect(await results()).toHaveLength(8);
  const sent = planner.model.requests.at(-1)!.body.messages as { role: string; tool_call_id?: string }[];
  expect(sent.filter(({ role }) => role === 'tool')).toHaveLength(8);
  for (const [i, message] of sent.entries()) if (message.role === 'tool') expect(sent[i - 1]!.role).toBe('assistant');
});

test('reports c45: an answer of reasoning alone is stored as it is and not sent back', async () => {
  expect(await play([chunk({ reasoning_content: 'Hm.' }), chunk({}, 'stop'), ...done])).toMatchObject({ reason: 'end_turn' });
  await play(says('ok'));
  const sent = planner.model.requests.at(-1)!.body.messages as { role: string; content: string }[];
  expect(sent.map(({ role }) => role)).toEqual(['system', 'user']);
  expect(sent[1]!.content).toBe('go\n\ngo');
});

test('reports c49: the same failing call is said to be so, with the nearest names, and its repetition ends the turn', async () => {
  const { reason, calls } = await play([{ call: { name: 'list_item', input: { a: 1, b: 2 } } }]);
  expect({ reason, calls }).toEqual({ reason: 'error', calls: 5 });
  const texts = (await results()).map(({ text }) => text);
  expect(texts[0]).toMatch(/There is no tool "list_item"\. Nearest: .*list_items/);
  expect(texts[0]).not.toContain('in a row');
  expect(texts[1]).toContain('failed 2 times in a row: change it');
  expect(texts[3]).toContain('failed 4 times in a row');
  expect(texts[4]).toBe('Not run: the turn ended with an error.');
  expect(brief(await planner.outputs(session)).at(-2)).toMatch(/^error The model made the same failing tool call 5 times/);
});

test('reports c49: a call that is mended, or that works, may be made as often as it likes', async () => {
  const wrong = (n: number): Reply => [{ call: { name: 'get_item', input: { key: `WEB-${n}` } } }];
  const works: Reply = [{ call: { name: 'list_items', input: {} } }];
  expect(await play(...[1, 2, 3, 4, 5, 6].map(wrong), says('none'))).toMatchObject({ reason: 'end_turn', calls: 7 });
  expect(await play(...Array.from({ length: 7 }, () => works), says('done'))).toMatchObject({ reason: 'end_turn', calls: 8 });
});

test.each<[string, Step[]]>([
  ['no usage chunk', [chunk({ content: 'fine' }), chunk({}, 'stop'), ...done]],
  ['usage in a chunk with empty choices', [
    chunk({ content: 'fine' }), chunk({}, 'stop'), { chunk: { choices: [], usage: { prompt_tokens: 5, completion_tokens: 2 } } }, ...done,
  ]],
  ['keep-alive comments', [{ raw: ': keep-alive\n\n' }, { raw: 'data: : keep-alive\n\n' }, chunk({ content: 'fine' }), ...done]],
  ['finish_reason null', [chunk({ content: 'fine' }), chunk({}, null), ...done]],
  ['reasoning_content', [chunk({ reasoning_content: 'Hm.' }), chunk({ content: 'fine' }), chunk({}, 'stop'), ...done]],
])('spec: planner 9.10: no turn ends because of %s', async (_, steps) => {
  expect(await play(steps)).toMatchObject({ reason: 'end_turn', calls: 1 });
  expect((await planner.transcript(session)).at(-1)).toMatchObject({ blocks: [{ type: 'text', text: 'fine' }] });
});

test.each<[string, Step[]]>([
  ['deltas without index', ['a', 'b'].map((id) => chunk({ tool_calls: [{ id, function: { name: 'list_items', arguments: '{}' } }] }))],
  ['arguments as an object', [0, 1].map((index) => chunk({ tool_calls: [{ index, id: `c${index}`, function: { name: 'list_items', arguments: { limit: 5 } } }] }))],
  ['finish_reason "tool_use"', [
    ...[0, 1].map((index) => chunk({ tool_calls: [{ index, id: `c${index}`, function: { name: 'list_items', arguments: '{}' } }] })),
    chunk({}, 'tool_use'),
  ]],
])('spec: planner 9.10: two calls stay two calls with %s', async (_, steps) => {
  expect(await play([...steps, ...done], says('done'))).toMatchObject({ reason: 'end_turn', calls: 2 });
  expect(await results()).toMatchObject([{ is_error: false }, { is_error: false }]);
});

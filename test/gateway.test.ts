// The model gateway against a scripted provider: dialects, ends and what it sends (spec: planner 9).

import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Block, ModelMessage } from '../domain/transcript.ts';
import { type ModelRequest, type ModelSettings, streamAnswer } from '../models/gateway.ts';
import {
  fails,
  says,
  startScriptedModel,
  type Reply,
  type ScriptedModel,
  type Step,
} from './support/scripted-model.ts';

let model: ScriptedModel;
beforeAll(async () => {
  model = await startScriptedModel();
});
afterAll(() => model.close());

const hello: ModelMessage[] = [{ role: 'user', blocks: [{ type: 'text', text: 'Hello' }] }];

function settings(changes: Partial<ModelSettings> = {}): ModelSettings {
  return {
    baseUrl: model.baseUrl,
    apiKey: 'sk-test-0123456789',
    model: 'm',
    maxTokens: 100,
    callTimeoutMs: 5_000,
    silentStreamMs: 2_000,
    ...changes,
  };
}

/** Plays one reply and returns the answer and the deltas. */
async function answerTo(reply: Reply, request: Partial<ModelRequest> = {}, changes: Partial<ModelSettings> = {}) {
  const deltas: string[] = [];
  model.play(() => reply);
  const answer = await streamAnswer(settings(changes), {
    system: 'Be brief.',
    messages: hello,
    tools: [],
    signal: new AbortController().signal,
    onText: (delta) => deltas.push(delta),
    ...request,
  });
  return { ...answer, deltas };
}

const delta = (content: Record<string, unknown>, finish: string | null = null): Step => ({
  chunk: { model: 'm', choices: [{ index: 0, delta: content, finish_reason: finish }] },
});
const toolDelta = (call: Record<string, unknown>): Step => delta({ tool_calls: [call] });
const calls = (blocks: readonly Block[]) =>
  blocks.filter((block) => block.type === 'tool_use').map(({ tool_use_id, name, input }) => [tool_use_id, name, input]);
const done: Step[] = [{ raw: 'data: [DONE]\n\n' }, { end: true }];

test('spec: planner 9.1: an answer is streamed piece by piece, with model, usage and stop reason', async () => {
  const { blocks, deltas, stop_reason, usage, model: name } = await answerTo([
    { usage: { input: 50, output: 7, cached: 20 } },
    { words: 'One two three' },
  ]);
  expect(deltas).toEqual(['One ', 'two ', 'three']);
  expect(blocks).toEqual([{ type: 'text', text: 'One two three' }]);
  expect({ stop_reason, name }).toEqual({ stop_reason: 'end_turn', name: 'm' });
  expect(usage).toEqual({ input: 30, output: 7, cache_read: 20, cache_write: 0 });
});

test.each([
  ['in a last chunk without choices field', { usage: { prompt_tokens: 5, completion_tokens: 2 } }],
  ['in a last chunk with empty choices', { choices: [], usage: { prompt_tokens: 5, completion_tokens: 2 } }],
  ['inside the choice', { choices: [{ delta: {}, usage: { prompt_tokens: 5, completion_tokens: 2 } }] }],
])('reports c31: usage is counted %s', async (_, chunk) => {
  const { usage } = await answerTo([delta({ content: 'x' }, 'stop'), { chunk }, ...done]);
  expect(usage).toEqual({ input: 5, output: 2, cache_read: 0, cache_write: 0 });
});

test('spec: planner 9.10: zeros are no report of usage, and take no earlier one back', async () => {
  const zeros = { chunk: { choices: [], usage: { prompt_tokens: 0, completion_tokens: 0 } } };
  expect((await answerTo([delta({ content: 'x' }, 'stop'), zeros, ...done])).usage).toBeUndefined();
  const sound = { chunk: { choices: [], usage: { prompt_tokens: 5, completion_tokens: 2 } } };
  expect((await answerTo([delta({ content: 'x' }, 'stop'), sound, zeros, ...done])).usage).toMatchObject({ input: 5, output: 2 });
});

test('spec: planner 9.10: a provider that reports no usage ends no turn', async () => {
  const { usage, blocks } = await answerTo([delta({ content: 'x' }, 'stop'), ...done]);
  expect(usage).toBeUndefined();
  expect(blocks).toEqual([{ type: 'text', text: 'x' }]);
});

test('reports c25, spec: planner 9.10: three calls in chunks without index are three calls', async () => {
  const one = (id: string) => toolDelta({ id, function: { name: 'get_item', arguments: `{"key":"${id}"}` } });
  const { blocks, stop_reason } = await answerTo([one('a'), one('b'), one('c')]);
  expect(calls(blocks)).toEqual(['a', 'b', 'c'].map((id) => [id, 'get_item', { key: id }]));
  expect(stop_reason).toBe('tool_use');
});

test('pieces of arguments without index belong to the call that is open', async () => {
  const { blocks } = await answerTo([
    toolDelta({ id: 'a', function: { name: 'get_item', arguments: '{"key":' } }),
    toolDelta({ function: { arguments: '"WEB-1"}' } }),
    toolDelta({ id: 'b', function: { name: 'list_items', arguments: '' } }),
    toolDelta({ function: { arguments: '{}' } }),
  ]);
  expect(calls(blocks)).toEqual([['a', 'get_item', { key: 'WEB-1' }], ['b', 'list_items', {}]]);
});

test.each([
  ['with another id', { index: 0, id: 'b', function: { name: 'get_item', arguments: '{"key":"2"}' } }, 'b'],
  ['without id', { index: 0, function: { name: 'get_item', arguments: '{"key":"2"}' } }, 'call_1'],
])('reports c27: a second whole JSON under one index is a second call, %s', async (_, second, id) => {
  const first = { index: 0, id: 'a', function: { name: 'get_item', arguments: '{"key":"1"}' } };
  const { blocks } = await answerTo([toolDelta(first), toolDelta(second)]);
  expect(calls(blocks)).toEqual([['a', 'get_item', { key: '1' }], [id, 'get_item', { key: '2' }]]);
});

test('a finished call that is sent once more stays one call', async () => {
  const call = toolDelta({ index: 0, id: 'a', function: { name: 'get_item', arguments: '{"key":"1"}' } });
  expect(calls((await answerTo([call, call])).blocks)).toEqual([['a', 'get_item', { key: '1' }]]);
});

test('interleaved calls are kept apart by their index', async () => {
  const piece = (index: number, text: string) => toolDelta({ index, function: { arguments: text } });
  const { blocks } = await answerTo([
    toolDelta({ index: 0, id: 'a', function: { name: 'x' } }),
    toolDelta({ index: 1, id: 'b', function: { name: 'y' } }),
    piece(0, '{"n":'), piece(1, '{"n":'), piece(0, '1}'), piece(1, '2}'),
  ]);
  expect(calls(blocks)).toEqual([['a', 'x', { n: 1 }], ['b', 'y', { n: 2 }]]);
});

test('reports c23, c29: arguments may come as an object, as nothing, or as text that is no JSON object', async () => {
  const values = [{ a: 1 }, '', null, '{"a": listt}', '[1]'];
  const { blocks } = await answerTo(
    values.map((value, index) => toolDelta({ index, id: `c${index}`, function: { name: 't', arguments: value } })),
  );
  expect(calls(blocks).map(([, , input]) => input)).toEqual([{ a: 1 }, {}, {}, '{"a": listt}', '[1]']);
});

test('reports c41, spec: planner 6.26: ids repeated within an answer are made unique, missing ones are made', async () => {
  const call = (index: number, id?: string) => toolDelta({ index, id, function: { name: 't', arguments: '{}' } });
  const { blocks } = await answerTo([call(0, 'call_0'), call(1, 'call_0'), call(2), call(3, 'call_0')]);
  const ids = calls(blocks).map(([id]) => id);
  expect(new Set(ids).size).toBe(4);
  expect(ids[0]).toBe('call_0');
});

test('an old-style function_call is a call', async () => {
  const { blocks, stop_reason } = await answerTo([
    delta({ function_call: { name: 't', arguments: '{"a"' } }),
    delta({ function_call: { arguments: ':1}' } }, 'function_call'),
    ...done,
  ]);
  expect(calls(blocks).map(([, name, input]) => [name, input])).toEqual([['t', { a: 1 }]]);
  expect(stop_reason).toBe('tool_use');
});

test('reports c33: reasoning is no text but a sign of life; role and content may be null', async () => {
  let beats = 0;
  const { blocks } = await answerTo(
    [
      delta({ role: null, content: null, reasoning_content: 'Hm.' }),
      { wait: 20 },
      delta({ content: 'Yes.' }),
      { wait: 20 },
    ],
    { onProgress: () => beats++ },
  );
  expect(blocks).toEqual([{ type: 'text', text: 'Yes.' }]);
  expect(beats).toBeGreaterThanOrEqual(3);
});

test('reports c35, spec: planner 9.10: keep-alive comments, also repeated as data, odd line ends and unknown events are passed over', async () => {
  const { blocks } = await answerTo([
    { raw: ': PROCESSING\n\ndata: : text\r\n\r\ndata:\n\nevent: ping\ndata: {"type":"ping"}\n\ndata: 1\n\n' },
    { raw: 'data:{"choices":[{"delta":{"content":"ok"}}]}\r\r' },
    ...done,
  ]);
  expect(blocks).toEqual([{ type: 'text', text: 'ok' }]);
});

test.each<[string, Step[]]>([
  ['[DONE] only', [...done]],
  ['a null reason and [DONE]', [delta({}, null), ...done]],
  ['empty choices and [DONE]', [{ chunk: { choices: [] } }, ...done]],
  ['a finish reason and the end of the body', [delta({}, 'stop'), { end: true }]],
  ['a finish reason and a cut connection', [delta({}, 'stop'), { wait: 20 }, { cut: true }]],
])('reports c37, spec: planner 9.10: an answer may end with %s', async (_, ending) => {
  const { blocks, stop_reason } = await answerTo([delta({ content: 'whole' }), ...ending]);
  expect(blocks).toEqual([{ type: 'text', text: 'whole' }]);
  expect(stop_reason).toBe('end_turn');
});

test('after [DONE] a connection that stays open holds up nothing', async () => {
  const began = performance.now();
  const { blocks } = await answerTo([delta({ content: 'whole' }), { raw: 'data: [DONE]\n\n' }, { hang: true }]);
  expect(blocks).toEqual([{ type: 'text', text: 'whole' }]);
  expect(performance.now() - began).toBeLessThan(1_500);
});

test.each([
  ['length', 'max_tokens'],
  ['content_filter', 'refusal'],
  ['stop', 'end_turn'],
  ['stop_sequence', 'end_turn'],
  ['MAX_TOKENS', 'max_tokens'],
])('spec: planner 7.3: finish reason %s becomes %s', async (reason, expected) => {
  expect((await answerTo([{ text: 'x' }, { finish: reason }])).stop_reason).toBe(expected);
});

const reasons = ['tool_use', 'function_call', 'stop', 'tool_calls'];
test.each(reasons)('with calls present, %s means tool_use', async (reason) => {
  const { stop_reason } = await answerTo([{ call: { name: 't', input: {} } }, { finish: reason }]);
  expect(stop_reason).toBe('tool_use');
});

test('reports c21: at the length limit a half-streamed call is dropped, a whole one kept', async () => {
  const whole: Step = { call: { name: 't', input: { a: 1 } } };
  const half: Step = { call: { name: 't', input: '{"a": "unfin' } };
  const both = await answerTo([whole, half, { finish: 'length' }]);
  expect(calls(both.blocks)).toEqual([['call_0', 't', { a: 1 }]]);
  expect(both.stop_reason).toBe('tool_use');
  const onlyHalf = await answerTo([{ text: 'Let me' }, half, { finish: 'length' }]);
  expect(onlyHalf.blocks).toEqual([{ type: 'text', text: 'Let me' }]);
  expect(onlyHalf.stop_reason).toBe('max_tokens');
});

test('a provider that answers as a whole is understood', async () => {
  const tool_calls = [{ id: 'a', function: { name: 't', arguments: '{}' } }];
  const choice = { message: { role: 'assistant', content: 'Whole.', tool_calls }, finish_reason: 'tool_calls' };
  const { blocks, deltas } = await answerTo({ status: 200, body: { choices: [choice] } });
  expect(blocks).toEqual([
    { type: 'text', text: 'Whole.' },
    { type: 'tool_use', tool_use_id: 'a', name: 't', input: {} },
  ]);
  expect(deltas).toEqual(['Whole.']);
});

test('however a provider splits text, no delta holds half a character and none is lost', async () => {
  const anyText = fc.array(fc.constantFrom('a', '😀', '\ud83d', '\ude00', '\0', 'é')).map((parts) => parts.join(''));
  await fc.assert(
    fc.asyncProperty(anyText, fc.integer({ min: 1, max: 3 }), async (text, size) => {
      const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
      const steps = [...pieces.map((content) => delta({ content })), delta({}, 'stop'), ...done];
      const { deltas, blocks } = await answerTo(steps);
      const expected = text.toWellFormed().replaceAll('\0', '\ufffd');
      expect(deltas.every((piece) => piece.isWellFormed() && !piece.includes('\0'))).toBe(true);
      expect(deltas.join('')).toBe(expected);
      expect(blocks).toEqual(expected === '' ? [] : [{ type: 'text', text: expected }]);
    }),
    { numRuns: 60 },
  );
});

test('arguments are storable too, whatever their escapes hide', async () => {
  const { blocks } = await answerTo([{ call: { name: 't', input: '{"a\\u0000": ["x\\ud83d", {"b": "\\u0000"}]}' } }]);
  expect(calls(blocks)[0]?.[2]).toEqual({ 'a\ufffd': ['x\ufffd', { b: '\ufffd' }] });
});

test('reports c29, c45: the request carries system, messages in turn, arguments as strings, tool results', async () => {
  const use = (tool_use_id: string, name: string, input: Record<string, unknown> | string): Block => ({
    type: 'tool_use', tool_use_id, name, input,
  });
  const messages: ModelMessage[] = [
    ...hello,
    { role: 'assistant', blocks: [use('a', 'list_items', {}), use('b', 'no such/tool', '{"broken')] },
    {
      role: 'user',
      blocks: [
        { type: 'tool_result', tool_use_id: 'a', text: '', is_error: false },
        { type: 'tool_result', tool_use_id: 'b', text: 'malformed', is_error: true },
        { type: 'text', text: 'Go on' },
      ],
    },
    { role: 'assistant', blocks: [{ type: 'text', text: ' ' }] },
  ];
  const tools = [{ name: 'list_items', description: 'Lists.', parameters: { type: 'object' } }];
  await answerTo([{ text: 'ok' }], { messages, tools });
  const body = model.requests.at(-1)?.body;
  expect(body?.messages).toEqual([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hello' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'a', type: 'function', function: { name: 'list_items', arguments: '{}' } },
        {
          id: 'b',
          type: 'function',
          function: { name: 'no_such_tool', arguments: '{"malformed_arguments":"{\\"broken"}' },
        },
      ],
    },
    { role: 'tool', tool_call_id: 'a', content: '(no output)' },
    { role: 'tool', tool_call_id: 'b', content: 'malformed' },
    { role: 'user', content: 'Go on' },
  ]);
  expect(body).toMatchObject({
    model: 'm', stream: true, max_tokens: 100, stream_options: { include_usage: true },
    tools: [{ type: 'function', function: tools[0] }],
  });
});

test('without tools the request has no tools field', async () => {
  await answerTo([{ text: 'ok' }]);
  expect(model.requests.at(-1)?.body).not.toHaveProperty('tools');
});

test.each([
  ["'max_tokens' is unsupported. Use 'max_completion_tokens'.", { max_completion_tokens: 100 }, 'max_tokens'],
  ['Unknown field: stream_options', {}, 'stream_options'],
])('a provider that wants it otherwise is asked its way, from then on: %s', async (message, expected, gone) => {
  const from = model.requests.length;
  const target = settings({ model: `style ${gone}` });
  model.play(({ [gone]: field }) =>
    field === undefined ? [{ text: 'ok' }] : { status: 400, body: { error: { message } } },
  );
  const request = { system: '', messages: hello, tools: [], signal: new AbortController().signal, onText: () => {} };
  await streamAnswer(target, request);
  const { blocks } = await streamAnswer(target, request);
  const bodies = model.requests.slice(from).map(({ body }) => body);
  expect(blocks).toEqual([{ type: 'text', text: 'ok' }]);
  expect(bodies.map((body) => gone in body)).toEqual([true, false, false]);
  expect(bodies[2]).toMatchObject(expected);
});

test('reports c39, spec: planner 9.10: reasoning is sent back empty to a provider that insists on it', async () => {
  const messages: ModelMessage[] = [
    ...hello,
    { role: 'assistant', blocks: [{ type: 'tool_use', tool_use_id: 'a', name: 't', input: {} }] },
    { role: 'user', blocks: [{ type: 'tool_result', tool_use_id: 'a', text: 'r', is_error: false }] },
  ];
  const echoes = (body: { messages: object[] }) => body.messages.some((message) => 'reasoning_content' in message);
  model.play((body) => (echoes(body) ? says('ok') : fails(400, 'Missing `reasoning_content` field')));
  const { stop_reason } = await streamAnswer(settings({ model: 'reasoner' }), {
    system: '', messages, tools: [], signal: new AbortController().signal, onText: () => {},
  });
  expect(stop_reason).toBe('end_turn');
});

const afterCall = (id: string): ModelMessage[] => [
  ...hello,
  { role: 'assistant', blocks: [{ type: 'tool_use', tool_use_id: id, name: 't', input: {} }] },
  {
    role: 'user',
    blocks: [
      { type: 'tool_result', tool_use_id: id, text: 'r', is_error: false },
      { type: 'text', text: 'And now?' },
    ],
  },
];

/** Asks a provider that refuses what `accepts` does not; returns the messages that it took. */
async function adapted(name: string, messages: ModelMessage[], refusal: string, accepts: (sent: Sent[]) => boolean) {
  model.play((body) => (accepts(body.messages as Sent[]) ? says('ok') : fails(400, refusal)));
  const request = { system: 'Be brief.', messages, tools: [], signal: new AbortController().signal, onText: () => {} };
  expect((await streamAnswer(settings({ model: name }), request)).stop_reason).toBe('end_turn');
  return model.requests.at(-1)!.body.messages as Sent[];
}
type Sent = { role: string; tool_calls?: { id: string }[]; tool_call_id?: string };

test.each([
  ['vLLM', 'After the optional system message, conversation roles must alternate user/assistant/user/assistant/...'],
  ['Mistral', "Unexpected role 'user' after role 'tool'"],
])('reports c47: a provider that wants alternating roles gets an answer between a result and a text: %s', async (name, refusal) => {
  const accepts = (sent: Sent[]): boolean =>
    sent.every(({ role }, i) => role !== 'user' || (sent[i - 1]?.role !== 'tool' && sent[i - 1]?.role !== 'user'));
  const sent = await adapted(name, afterCall('call_1'), refusal, accepts);
  expect(sent.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant', 'user']);
});

test('ids of another provider are made fit for one that wants nine letters and digits', async () => {
  const refusal = 'Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.';
  const accepts = (sent: Sent[]): boolean =>
    sent.every(({ tool_calls = [], tool_call_id }) =>
      [...tool_calls.map(({ id }) => id), tool_call_id ?? '123456789'].every((id) => /^[A-Za-z0-9]{9}$/.test(id)));
  const sent = await adapted('short ids', afterCall('call_1'), refusal, accepts);
  expect(sent.find(({ role }) => role === 'tool')?.tool_call_id).toBe(sent[2]!.tool_calls![0]!.id);
});

test('spec: planner 9.10: whatever a provider reports so far is told, also of an answer that is then cut', async () => {
  const told: unknown[] = [];
  const usage = { prompt_tokens: 5, completion_tokens: 2 };
  const cut = answerTo([{ chunk: { choices: [{ delta: { content: 'x' } }], usage } }, { cut: true }], {
    onUsage: (reported) => told.push(reported),
  });
  await expect(cut).rejects.toThrow('the answer was cut off');
  expect(told).toEqual([{ input: 5, output: 2, cache_read: 0, cache_write: 0 }]);
});

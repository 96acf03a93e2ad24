// What a model call that fails tells its caller, and what an abort does (spec: planner 7, 9; orchestration, Retries).

import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  ModelError,
  type ModelErrorClass,
  type ModelRequest,
  type ModelSettings,
  streamAnswer,
} from '../models/gateway.ts';
import { retryAfterMs } from '../models/provider-error.ts';
import { redacted } from '../models/redact.ts';
import { fails, type Reply, says, type ScriptedModel, startScriptedModel } from './support/scripted-model.ts';

let model: ScriptedModel;
beforeAll(async () => {
  model = await startScriptedModel();
});
afterAll(() => model.close());

const apiKey = 'sk-test-0123456789abcdef';

function call(changes: Partial<ModelSettings> = {}, request: Partial<ModelRequest> = {}) {
  const settings = {
    baseUrl: model.baseUrl, apiKey, model: 'm', maxTokens: 100, callTimeoutMs: 5_000, silentStreamMs: 2_000, ...changes,
  };
  return streamAnswer(settings, {
    system: '',
    messages: [{ role: 'user', blocks: [{ type: 'text', text: 'Hello' }] }],
    tools: [],
    signal: new AbortController().signal,
    onText: () => {},
    ...request,
  });
}

async function failure(promise: Promise<unknown>): Promise<ModelError> {
  const error: unknown = await promise.then(() => undefined, (reason: unknown) => reason);
  expect(error).toBeInstanceOf(ModelError);
  return error as ModelError;
}

async function failureOf(reply: Reply, changes: Partial<ModelSettings> = {}): Promise<ModelError> {
  model.play(() => reply);
  return failure(call(changes));
}

test.each<[number, ModelErrorClass, boolean]>([
  [400, 'invalid_request', false],
  [401, 'authentication', false],
  [402, 'permission', false],
  [403, 'permission', false],
  [404, 'not_found', false],
  [408, 'timeout', true],
  [409, 'server_error', true],
  [413, 'context_length', false],
  [422, 'invalid_request', false],
  [429, 'rate_limited', true],
  [500, 'server_error', true],
  [502, 'server_error', true],
  [503, 'overloaded', true],
  [529, 'overloaded', true],
])('status %i is %s, retryable: %s', async (status, errorClass, retryable) => {
  const from = model.requests.length;
  const error = await failureOf(fails(status, 'provider words'));
  expect({ class: error.class, retryable: error.retryable }).toEqual({ class: errorClass, retryable });
  expect(error.message).not.toContain('provider words');
  expect(error.text).toContain('The provider said: provider words');
  expect(model.requests.length - from).toBe(1);
});

test.each([
  "This model's maximum context length is 8192 tokens. However, you requested 9000",
  'prompt is too long: 210000 tokens > 200000 maximum',
  'the request exceeds the available context size',
])('a refusal because of length is context_length, not retryable: %s', async (message) => {
  const error = await failureOf(fails(400, message));
  expect({ class: error.class, retryable: error.retryable }).toEqual({ class: 'context_length', retryable: false });
});

test('a used-up quota that calls itself a rate limit is not retried', async () => {
  const body = { error: { message: 'You exceeded your current quota', code: 'insufficient_quota' } };
  const error = await failureOf({ status: 429, body });
  expect({ class: error.class, retryable: error.retryable }).toEqual({ class: 'rate_limited', retryable: false });
});

test('Retry-After is read in seconds, as an HTTP date, and in milliseconds', async () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  const read = (headers: Record<string, string>) => retryAfterMs(new Headers(headers), now);
  expect(read({ 'retry-after': '7' })).toBe(7_000);
  expect(read({ 'retry-after': 'Thu, 01 Jan 2026 00:01:00 GMT' })).toBe(60_000);
  expect(read({ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' })).toBe(0);
  expect(read({ 'retry-after': '7', 'retry-after-ms': '1500' })).toBe(1_500);
  expect(read({ 'retry-after': 'in 12 monkeys' })).toBeUndefined();
  expect(read({})).toBeUndefined();
  expect((await failureOf(fails(429, 'slow down', { 'retry-after': '3' }))).retryAfterMs).toBe(3_000);
});

test.each<[string, Reply, ModelErrorClass]>([
  ['reports c37: the body ends without any end mark', [{ text: 'Half' }, { end: true }], 'cut_stream'],
  ['the connection breaks', [{ text: 'Half' }, { cut: true }], 'cut_stream'],
  ['nothing at all comes', [{ raw: '' }, { end: true }], 'cut_stream'],
  ['the provider falls silent', [{ text: 'Half' }, { hang: true }], 'silent_stream'],
  ['no headers come', [{ hang: true }], 'silent_stream'],
  ['an event is no JSON', [{ text: 'Half' }, { raw: 'data: {"choices": [{\n\n' }], 'bad_response'],
  ['the body is no event stream', [{ raw: '<html>Sign in</html>\n' }, { end: true }], 'bad_response'],
  ['a page comes', { status: 200, headers: { 'content-type': 'text/html' }, body: '<html></html>' }, 'bad_response'],
  ['the JSON is garbage', { status: 200, body: '{"choices": [' }, 'bad_response'],
  ['the JSON is something else', { status: 200, body: { hello: 'there' } }, 'bad_response'],
  ['a whole answer is an error', { status: 200, body: { error: { code: 429, message: 'slow' } } }, 'rate_limited'],
  ['the stream carries an error', [{ text: 'Half' }, { chunk: { error: { type: 'overloaded_error' } } }], 'overloaded'],
  ['the stream carries an error number', [{ chunk: { error: { message: 'no', code: 502 } } }], 'server_error'],
  ['the stream carries an error as text', [{ chunk: { error: 'boom' } }], 'server_error'],
  ['the stream carries a bare error', [{ chunk: { object: 'error', message: 'no', code: 401 } }], 'authentication'],
  ['the finish reason is error', [{ text: 'Half' }, { finish: 'error' }], 'server_error'],
])('%s: never a whole answer', async (_, reply, errorClass) => {
  expect((await failureOf(reply, { silentStreamMs: 150 })).class).toBe(errorClass);
});

test('what is no answer is retryable a few times only', async () => {
  const error = await failureOf({ status: 200, body: 'garbage' });
  expect({ retryable: error.retryable, limit: error.attemptLimit }).toEqual({ retryable: true, limit: 3 });
});

test('keep-alive comments keep a slow answer alive, but not beyond the time of a whole call', async () => {
  const beat = [{ raw: ': keep-alive\n\n' }, { wait: 60 }];
  const beats = Array.from({ length: 6 }, () => beat).flat();
  model.play(() => [...beats, { text: 'slow' }]);
  expect((await call({ silentStreamMs: 200 })).blocks).toEqual([{ type: 'text', text: 'slow' }]);
  model.play(() => [...beats, ...beats, { text: 'too slow' }]);
  expect((await failure(call({ silentStreamMs: 200, callTimeoutMs: 300 }))).class).toBe('timeout');
});

test('a call that runs out of time closes the provider\'s connection', async () => {
  const n = model.requests.length;
  await failureOf([{ text: 'Half' }, { hang: true }], { silentStreamMs: 100 });
  await model.requests[n]?.over;
  expect(model.requests[n]?.closedAt).toBeDefined();
});

test('an unreachable provider is a connection error that names the address and no credential', async () => {
  const error = await failure(call({ baseUrl: 'http://user:hunter22@127.0.0.1:1/v1?key=hunter22' }));
  expect({ class: error.class, retryable: error.retryable }).toEqual({ class: 'connection', retryable: true });
  expect(error.text).toContain('http://127.0.0.1:1/v1');
  expect(error.text).toContain('PLANNER_MODEL_BASE_URL');
  expect(error.text).not.toContain('hunter22');
});

test.each<[string, Partial<ModelSettings>, string]>([
  ['an address that is none', { baseUrl: 'localhost:8080' }, 'PLANNER_MODEL_BASE_URL'],
  ['a key with a line end', { apiKey: 'sk-abc\ndef' }, 'PLANNER_MODEL_API_KEY'],
])('%s is refused before anything is sent, and the text says where to mend it', async (_, changes, place) => {
  const from = model.requests.length;
  const error = await failure(call(changes));
  expect(error.retryable).toBe(false);
  expect(error.text).toContain(place);
  expect(error.text).not.toContain('sk-abc');
  expect(model.requests.length).toBe(from);
});

test('the provider\'s words lose every credential and are cut to 300 characters', async () => {
  const said = `Incorrect key: ${apiKey}. Header was "Authorization: Bearer abc.def-123456". ${'x '.repeat(400)}`;
  const { text } = await failureOf(fails(401, said));
  expect(text).not.toContain(apiKey);
  expect(text).not.toContain('abc.def-123456');
  expect([...(text.split('The provider said: ')[1] ?? '')].length).toBeLessThanOrEqual(300);
});

test.each([
  'sk-proj-abcDEF123456_-7890', 'ghp_0123456789abcdefghijABCDEFGHIJ012345', 'AIzaSyA-0123456789abcdefghijklmnopqrs',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefgh', 'a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6e7f8',
  'postgres://planner:geheim@db/x', 'api_key=geheim123',
])('%s is not repeated to anyone', (secret) => {
  const safe = redacted(`refused: ${secret} is wrong`, []);
  expect(safe).toContain('[redacted]');
  expect(safe).not.toContain(secret);
  expect(safe).not.toContain('geheim');
});

test.each([
  ['before the headers', [{ hang: true }] as Reply],
  ['in mid-answer', [{ text: 'Half' }, { hang: true }] as Reply],
  ['within a call', [{ call: { name: 't', input: '{"half' } }, { hang: true }] as Reply],
])('an abort %s closes the connection at once and rejects with the signal\'s reason', async (_, reply) => {
  const n = model.requests.length;
  const controller = new AbortController();
  const reason = new Error('cancelled by a human');
  model.play(() => reply);
  const answer = call({}, { signal: controller.signal });
  const request = await model.request(n);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const abortedAt = performance.now();
  controller.abort(reason);
  await expect(answer).rejects.toBe(reason);
  await request.over;
  expect((request.closedAt ?? Infinity) - abortedAt).toBeLessThan(300);
});

test('after an abort no text is handed out, and no part passes for a whole answer', async () => {
  const controller = new AbortController();
  const deltas: string[] = [];
  model.play(() => [{ words: 'one two three four five' }]);
  const answer = call({}, {
    signal: controller.signal,
    onText: (delta) => {
      deltas.push(delta);
      controller.abort('stop');
    },
  });
  await expect(answer).rejects.toBe('stop');
  expect(deltas).toEqual(['one ']);
});

test('a signal that has aborted already sends nothing', async () => {
  const from = model.requests.length;
  await expect(call({}, { signal: AbortSignal.abort('early') })).rejects.toBe('early');
  expect(model.requests.length).toBe(from);
});

test('an error of the caller\'s own is passed on as it is', async () => {
  const own = new TypeError('mine');
  model.play(() => says('x'));
  await expect(call({}, { onText: () => { throw own; } })).rejects.toBe(own);
});

const megabytes = 'word '.repeat(1_100_000);
const chunked = (delta: object) => ({ chunk: { choices: [{ index: 0, delta }] } });
test.each<[string, Reply]>([
  ['of text', Array.from({ length: 9 }, () => chunked({ content: megabytes }))],
  [
    'of arguments',
    Array.from({ length: 9 }, () => chunked({ tool_calls: [{ index: 0, function: { arguments: megabytes } }] })),
  ],
  ['that is not streamed', { status: 200, body: { choices: [{ message: { content: megabytes.repeat(8) } }] } }],
])('spec: planner 9: an answer without end %s is given up, and not asked for again', { timeout: 60_000 }, async (_, reply) => {
  const error = await failureOf(reply, { callTimeoutMs: 50_000 });
  expect(error).toMatchObject({ class: 'bad_response', retryable: false });
  expect(error.text).toMatch(/answer of m did not end.*Ask for less/);
});

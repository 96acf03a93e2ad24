// The model gateway: one streamed model call over an OpenAI-compatible provider (spec: planner 9).

import OpenAI from 'openai';
import { AnswerAssembler, EndlessAnswer, longestAnswer } from './answer.ts';
import { ModelError } from './errors.ts';
import { isObject, parsed } from './json.ts';
import { modelError, placesOf, providerError } from './provider-error.ts';
import { adaptedStyle, type RequestStyle, requestBody, rememberStyle, styleOf } from './request.ts';
import { BadStream, BrokenStream, eventData } from './sse.ts';
import type { ModelAnswer, ModelRequest, ModelSettings } from './types.ts';
import { CallWatch } from './watch.ts';

export { ModelError, type ModelErrorClass } from './errors.ts';
export type { ModelAnswer, ModelRequest, ModelSettings, ToolSchema } from './types.ts';

/** After the finish reason only usage can follow: it is waited for so long, milliseconds. */
const usageMs = 3_000;
/** After `[DONE]` only the body's end follows; with it the connection can be used again. Milliseconds. */
const closeMs = 50;

/**
 * Streams one answer. Never retried in here. A failed call rejects with a ModelError, an aborted one with the signal's
 * reason: from then on no text is handed out, and a part of an answer never passes for a whole one. Blocks carry
 * storable text, unique call ids, and calls last; what a provider calls the end becomes one of the transcript's stop
 * reasons.
 */
export async function streamAnswer(settings: ModelSettings, request: ModelRequest): Promise<ModelAnswer> {
  request.signal.throwIfAborted();
  const client = clientOf(settings);
  const watch = new CallWatch(request, settings);
  try {
    const response = await respond(client, settings, request, watch);
    const answer = await readAnswer(response, settings, request, watch);
    request.signal.throwIfAborted();
    return { ...answer, model: answer.model === '' ? settings.model : answer.model };
  } catch (error) {
    request.signal.throwIfAborted();
    throw watch.expired ?? modelErrorOf(error, settings);
  } finally {
    watch.end();
  }
}

function clientOf(settings: ModelSettings): OpenAI {
  if (!URL.canParse(settings.baseUrl) || !/^https?:$/.test(new URL(settings.baseUrl).protocol)) {
    throw new ModelError('invalid_request', {
      text:
        'The model provider\'s address is no http(s) URL. ' +
        `Set ${placesOf(settings).baseUrl}, such as https://host/v1.`,
    });
  }
  if (/[^\x21-\x7e]/.test(settings.apiKey)) {
    throw new ModelError('authentication', {
      text:
        'The model provider\'s key holds characters that no key has (a line end, a blank?). ' +
        `Set ${placesOf(settings).key} anew.`,
    });
  }
  return new OpenAI({
    baseURL: settings.baseUrl.replace(/\/+$/, ''),
    apiKey: settings.apiKey === '' ? 'none' : settings.apiKey,
    adminAPIKey: null,
    organization: null,
    project: null,
    maxRetries: 0,
    timeout: settings.callTimeoutMs,
    logLevel: 'off',
  });
}

/**
 * Sends the request. A provider that refuses it because it wants a field differently is asked again at once in its own
 * style, which is remembered for its next calls.
 */
async function respond(
  client: OpenAI,
  settings: ModelSettings,
  request: ModelRequest,
  watch: CallWatch,
): Promise<Response> {
  let style: RequestStyle = styleOf(settings);
  for (;;) {
    try {
      const body = requestBody(settings, request, style);
      const response = await client.chat.completions.create(body, { signal: watch.signal }).asResponse();
      watch.alive();
      return response;
    } catch (error) {
      const refused = error instanceof OpenAI.APIError && error.status === 400;
      const adapted = refused ? adaptedStyle(style, error.message) : undefined;
      if (adapted === undefined) throw error;
      style = adapted;
      rememberStyle(settings, style);
    }
  }
}

async function readAnswer(response: Response, settings: ModelSettings, request: ModelRequest, watch: CallWatch) {
  const answer = new AnswerAssembler(
    (delta) => {
      if (!watch.signal.aborted) request.onText(delta);
    },
    (usage) => request.onUsage?.(usage),
  );
  if (response.body === null) throw modelError('bad_response', settings);
  const kind = response.headers.get('content-type') ?? '';
  if (/json/i.test(kind)) await readWhole(response, answer, settings);
  else if (/html/i.test(kind)) throw modelError('bad_response', settings);
  else await readStream(response.body, answer, settings, watch);
  switch (answer.finish) {
    case 'cut':
      throw modelError('cut_stream', settings);
    case 'overloaded':
      throw modelError('overloaded', settings);
    case 'failed':
      throw modelError('server_error', settings);
    default:
      return answer.end();
  }
}

/** Ends well after `[DONE]` or a finish reason, however the connection ends then. */
async function readStream(
  body: ReadableStream<Uint8Array>,
  answer: AnswerAssembler,
  settings: ModelSettings,
  watch: CallWatch,
): Promise<void> {
  let done = false;
  try {
    for await (const data of eventData(body, () => watch.alive())) {
      if (watch.signal.aborted) break;
      if (done) continue;
      done = data === '[DONE]';
      if (done) {
        watch.finishing(closeMs);
        continue;
      }
      const chunk = chunkOf(data, settings);
      if (chunk === undefined) continue;
      const open = answer.finish === undefined;
      answer.add(chunk);
      if (open && answer.finish !== undefined) watch.finishing(usageMs);
    }
  } catch (error) {
    if (!(error instanceof BrokenStream)) throw error;
  }
  if (watch.signal.aborted && !watch.finished) throw watch.signal.reason;
  if (!done && answer.finish === undefined) throw modelError('cut_stream', settings);
}

/** A provider that answers as a whole although it was asked to stream. */
async function readWhole(response: Response, answer: AnswerAssembler, settings: ModelSettings): Promise<void> {
  const text = await wholeText(response).catch((error: unknown) => {
    throw error instanceof EndlessAnswer ? error : modelError('cut_stream', settings);
  });
  const completion = parsed(text);
  if (isObject(completion) && completion.error != null) {
    throw providerError(undefined, completion.error, undefined, settings);
  }
  if (!isObject(completion) || !Array.isArray(completion.choices) || completion.choices.length === 0) {
    throw modelError('bad_response', settings);
  }
  answer.add(completion);
}

async function wholeText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes as Uint8Array, { stream: true });
    if (text.length > longestAnswer) throw new EndlessAnswer('an answer without end');
  }
  return text + decoder.decode();
}

function chunkOf(data: string, settings: ModelSettings): Record<string, unknown> | undefined {
  const chunk = parsed(data);
  if (chunk === undefined) throw modelError('bad_response', settings);
  if (!isObject(chunk)) return undefined;
  if (chunk.error != null && chunk.error !== false) throw providerError(undefined, chunk.error, undefined, settings);
  const complains = chunk.choices === undefined && typeof chunk.message === 'string';
  if (complains || chunk.type === 'error' || chunk.object === 'error') {
    throw providerError(undefined, chunk, undefined, settings);
  }
  return chunk;
}

function modelErrorOf(error: unknown, settings: ModelSettings): unknown {
  if (error instanceof OpenAI.APIConnectionTimeoutError) return modelError('timeout', settings);
  if (error instanceof OpenAI.APIConnectionError) return modelError('connection', settings, { said: causeCode(error) });
  if (error instanceof OpenAI.APIError) {
    const raw: unknown = error.error ?? error.message.replace(/^\d+ (status code \(no body\))?/, '');
    return providerError(error.status, raw, error.headers, settings);
  }
  if (error instanceof EndlessAnswer) return endless(settings);
  if (error instanceof BadStream) return modelError('bad_response', settings);
  return error;
}

/** Another attempt would be as long, and paid for again. */
function endless({ model }: ModelSettings): ModelError {
  const text = `The answer of ${model} did not end and was given up. Ask for less at once, or set another model.`;
  return new ModelError('bad_response', { text, retryable: false });
}

/** `ECONNREFUSED`, `ENOTFOUND`: the code only, wherever it is nested. */
function causeCode(error: unknown): string {
  for (let cause: unknown = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    if ('code' in cause && typeof cause.code === 'string') return cause.code;
  }
  return '';
}

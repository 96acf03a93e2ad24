// A provider's complaint -> a class, a waiting time, and a text that a person can act on.

import { ModelError, type ModelErrorClass } from './errors.ts';
import { isObject } from './json.ts';
import { redacted } from './redact.ts';

/** What is needed to speak of a call without giving anything away. */
export interface CallNames {
  model: string;
  baseUrl: string;
  apiKey: string;
  places?: { key: string; baseUrl: string; model: string };
}

/** By HTTP status, or by the number that a provider puts into an error object in mid-stream. */
function classOfStatus(status: number): ModelErrorClass {
  switch (status) {
    case 401:
      return 'authentication';
    case 402:
    case 403:
    case 451:
      return 'permission';
    case 404:
    case 410:
      return 'not_found';
    case 408:
    case 504:
    case 524:
      return 'timeout';
    case 413:
      return 'context_length';
    case 429:
      return 'rate_limited';
    case 503:
    case 529:
      return 'overloaded';
    case 409:
    case 425:
      return 'server_error';
    default:
      if (status >= 500) return 'server_error';
      return status >= 400 ? 'invalid_request' : 'bad_response';
  }
}

const codes: readonly (readonly [RegExp, ModelErrorClass])[] = [
  [/context_length|context_size|string_above_max_length/, 'context_length'],
  [/invalid_api_key|authentication|unauthorized/, 'authentication'],
  [/permission|forbidden/, 'permission'],
  [/not_found/, 'not_found'],
  [/rate_limit|too_many_requests|insufficient_quota|billing/, 'rate_limited'],
  [/overloaded|unavailable|capacity/, 'overloaded'],
  [/timeout/, 'timeout'],
  [/invalid_request|bad_request|content_policy|invalid_prompt/, 'invalid_request'],
];

const tooLong = new RegExp(
  'context[ _]?(?:length|window|size)|(?:prompt|input) (?:is )?too long|too many (?:input )?tokens|' +
    'maximum (?:number of )?(?:input )?tokens|reduce the length',
  'i',
);
const quota = /insufficient_quota|billing_hard_limit|exceeded your current quota|credit balance|out of credits/i;

/** Where the settings of a call are changed, for texts. */
export const placesOf = ({ places }: CallNames): NonNullable<CallNames['places']> => places ?? installationPlaces;

const installationPlaces = { key: 'PLANNER_MODEL_API_KEY', baseUrl: 'PLANNER_MODEL_BASE_URL', model: 'PLANNER_MODEL' };

const advice: Record<ModelErrorClass, (names: CallNames) => string> = {
  authentication: (names) =>
    `The model provider refused the credential. Set a valid key (${placesOf(names).key}) and send the message again.`,
  permission: (names) =>
    `The model provider denies access to ${names.model}. Check what the key may use and whether the account has ` +
    `credit, or set another model (${placesOf(names).model}).`,
  not_found: (names) =>
    `The model provider knows no model ${names.model} at ${safeAddress(names.baseUrl)}. ` +
    `Check model and address (${placesOf(names).model}; ${placesOf(names).baseUrl}).`,
  invalid_request: (names) =>
    `The model provider refused the request for ${names.model}. ` +
    `Check the model's settings, or try another model (${placesOf(names).model}).`,
  context_length: ({ model }) =>
    `The conversation is longer than ${model} accepts. ` +
    'Start a new session, send less text, or set a lower planner.compact_at_tokens.',
  rate_limited: () =>
    'The model provider limits the rate of requests. ' +
    'Wait a while and send the message again, or raise the limit with the provider.',
  overloaded: () => 'The model provider is overloaded. Send the message again in a few minutes.',
  server_error: () =>
    'The model provider failed. Send the message again; if it goes on, look at the provider\'s status page.',
  timeout: () => 'The model took too long to answer. Send the message again, or ask for less at once.',
  connection: (names) =>
    `The model provider at ${safeAddress(names.baseUrl)} can't be reached. ` +
    `Check the address (${placesOf(names).baseUrl}) and the network.`,
  cut_stream: () => 'The model provider cut the answer off. Send the message again.',
  silent_stream: () => 'The model provider fell silent in mid-answer. Send the message again.',
  bad_response: (names) =>
    `What came back from ${safeAddress(names.baseUrl)} is no chat completion. ` +
    `Check that the address (${placesOf(names).baseUrl}) is OpenAI-compatible, such as https://host/v1.`,
};

export function modelError(
  errorClass: ModelErrorClass,
  names: CallNames,
  details: { said?: string; retryAfterMs?: number; retryable?: boolean } = {},
): ModelError {
  const said = redacted(details.said ?? '', [names.apiKey]);
  const quoted = errorClass === 'connection' ? ` (${said})` : ` The provider said: ${said}`;
  const text = advice[errorClass](names) + (said === '' ? '' : quoted);
  return new ModelError(errorClass, { text, retryAfterMs: details.retryAfterMs, retryable: details.retryable });
}

/**
 * From an error response or from an error object inside a stream (`status` undefined). `raw` is what the provider sent
 * as its error: an object, a string, anything.
 */
export function providerError(
  status: number | undefined,
  raw: unknown,
  headers: Headers | undefined,
  names: CallNames,
): ModelError {
  const said = saidIn(raw);
  const code = codesIn(raw);
  const number = status ?? Number(/\b[45]\d\d\b/.exec(code)?.[0] ?? 0);
  const named = codes.find(([pattern]) => pattern.test(code))?.[1] ?? 'server_error';
  let errorClass = number >= 400 ? classOfStatus(number) : named;
  const refused = errorClass === 'invalid_request' || number === 400 || number === 422;
  if (refused && (tooLong.test(said) || tooLong.test(code))) errorClass = 'context_length';
  const spent = errorClass === 'rate_limited' && (quota.test(code) || quota.test(said));
  return modelError(errorClass, names, {
    said,
    retryAfterMs: headers === undefined ? undefined : retryAfterMs(headers),
    retryable: spent ? false : undefined,
  });
}

/** `retry-after-ms`, else `Retry-After` in seconds or as an HTTP date: milliseconds; undefined where none is sound. */
export function retryAfterMs(headers: Headers, now = Date.now()): number | undefined {
  const exact = number(headers.get('retry-after-ms'));
  if (exact !== undefined) return Math.ceil(exact);
  const value = headers.get('retry-after');
  const seconds = number(value);
  if (seconds !== undefined) return Math.ceil(seconds * 1000);
  const date = value !== null && /^[A-Za-z]{3,9},? .*\d\d:\d\d/.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function number(value: string | null): number | undefined {
  return value !== null && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : undefined;
}

/** Scheme, host and path: no credentials, no query. */
export function safeAddress(baseUrl: string): string {
  try {
    const url = new URL(baseUrl);
    return `${url.protocol}//${url.host}${url.pathname.replace(/\/$/, '')}`;
  } catch {
    return 'the configured address';
  }
}

function saidIn(raw: unknown): string {
  if (typeof raw === 'string') return raw;
  if (!isObject(raw)) return '';
  for (const key of ['message', 'detail', 'error', 'msg']) {
    const value = raw[key];
    if (typeof value === 'string' && value !== '') return value;
    if (isObject(value)) return saidIn(value);
  }
  return '';
}

function codesIn(raw: unknown): string {
  if (!isObject(raw)) return '';
  const inner = isObject(raw.error) ? codesIn(raw.error) : '';
  const found = [raw.code, raw.type, raw.status, raw.status_code, inner];
  return found.filter((value) => value != null).join(' ').toLowerCase();
}

// What of an event is recorded: its kind, sizes, identity, errors and usage; no thinking, no packet, no text
// (spec: bounded-claude 7).

import { redactKnown } from '../secrets/index.ts';
import { characters, firstCharacters } from '../text.ts';
import { maxLogBytes } from './sizes.ts';

export { maxLogBytes };

export type Json = Record<string, unknown>;

/** One line of events.jsonl, without the time, which its writer adds. */
export interface Envelope extends Json {
  /** 1-based, of valid events. */
  n: number;
  type: string;
}

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const asObject = (value: unknown): Json => (isObject(value) ? value : {});
export const asText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
export const asNumber = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;
export const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** Types of events whose fields are known; of every other one only its type is recorded. */
const knownTypes = new Set(['system', 'stream_event', 'assistant', 'user', 'rate_limit_event', 'result']);

const kept = [
  'subtype', 'session_id', 'uuid', 'model', 'claude_code_version', 'permissionMode', 'apiKeySource', 'status',
  'attempt',
  'max_retries', 'retry_delay_ms', 'error_status', 'error', 'api_error', 'api_error_status', 'api_error_type',
  'is_error',
  'terminal_reason', 'stop_reason', 'num_turns', 'duration_ms', 'duration_api_ms', 'total_cost_usd', 'isSynthetic',
  'refusal_retry', 'aborted', 'is_api_error_message', 'trigger', 'original_model', 'fallback_model', 'estimated_tokens',
  'timestamp', 'request_id',
] as const;

/** The envelope of the n-th valid event. */
export function envelopeOf(event: Json, n: number): Envelope {
  const type = name(event['type']);
  if (!knownTypes.has(type)) return { n, type, known: false };
  const envelope: Envelope = { n, type };
  for (const key of kept) {
    const value = scalar(event[key]);
    if (value !== undefined) envelope[key] = value;
  }
  if (type === 'stream_event') Object.assign(envelope, streamPart(asObject(event['event'])));
  if (type === 'assistant' || type === 'user') Object.assign(envelope, messagePart(asObject(event['message'])));
  if (type === 'result') Object.assign(envelope, resultPart(event));
  if (type === 'rate_limit_event') envelope['rate_limit'] = scalars(asObject(event['rate_limit_info']));
  if (event['subtype'] === 'init') envelope['tools'] = asList(event['tools']).map(name);
  return envelope;
}

function streamPart(event: Json): Json {
  const part: Json = { event: name(event['type']) };
  if (asNumber(event['index']) !== undefined) part['index'] = event['index'];
  const block = asObject(event['content_block']);
  if (block['type'] !== undefined) part['block'] = name(block['type']);
  const delta = asObject(event['delta']);
  if (delta['type'] !== undefined) part['delta'] = name(delta['type']);
  if (delta['stop_reason'] !== undefined) part['stop_reason'] = scalar(delta['stop_reason']);
  const size = sizeOf(delta);
  if (size !== undefined) part['characters'] = size;
  const message = asObject(event['message']);
  if (message['id'] !== undefined) part['message_id'] = scalar(message['id']);
  if (message['model'] !== undefined) part['model'] = scalar(message['model']);
  return part;
}

const sizeOf = (delta: Json): number | undefined => {
  const text = asText(delta['text']) ?? asText(delta['thinking']) ?? asText(delta['partial_json']);
  return text === undefined ? undefined : characters(text);
};

function messagePart(message: Json): Json {
  const blocks = asList(message['content']).map((block) => {
    const { type, text } = asObject(block);
    return typeof text === 'string' ? { type: name(type), characters: characters(text) } : { type: name(type) };
  });
  return {
    message_id: scalar(message['id']),
    model: scalar(message['model']),
    stop_reason: scalar(message['stop_reason']),
    blocks,
  };
}

function resultPart(event: Json): Json {
  return {
    characters: characters(asText(event['result']) ?? ''),
    errors: errorsOf(event),
    models: Object.keys(asObject(event['modelUsage'])).map(name),
    usage: scalars(asObject(event['usage'])),
  };
}

/** Texts of a result's `errors`, redacted. */
export const errorsOf = (event: Json): string[] =>
  asList(event['errors']).slice(0, 5).flatMap((text) => (typeof text === 'string' ? [toldWhole(text)] : []));

/** A text of the CLI for a record: one line, at most 300 characters, redacted. */
export const told = (text: string): string => shortened(oneLine(text), 300);

/** A text of the CLI for a person: one line, at most 2,000 characters, redacted. */
export const toldWhole = (text: string): string => shortened(oneLine(text), 2_000);

const oneLine = (text: string): string => redactKnown(text).replace(/\s+/g, ' ').trim();

/** At most `limit` code points: what is longer ends with its last whole sentence, else word, and an ellipsis. */
export function shortened(text: string, limit: number): string {
  if (characters(text) <= limit) return text;
  const head = firstCharacters(text, limit - 1);
  for (const end of [/^[^]*[.!?](?=\s)/, /^[^]*\S(?=\s)/]) {
    const whole = end.exec(head)?.[0] ?? '';
    if (whole.length >= head.length / 2) return `${whole} …`;
  }
  return `${head}…`;
}

/** A name from the stream, or `other` when it is none. */
const name = (value: unknown): string =>
  typeof value === 'string' && /^[\w.:/<>[\]-]{1,80}$/.test(value) ? value : 'other';

function scalar(value: unknown): string | number | boolean | null | undefined {
  if (typeof value === 'string') return told(value);
  return typeof value === 'number' || typeof value === 'boolean' || value === null ? value : undefined;
}

const scalars = (object: Json): Json =>
  Object.fromEntries(Object.entries(object).slice(0, 30).flatMap(([key, value]) => {
    const kept = scalar(value);
    return kept === undefined ? [] : [[name(key), kept]];
  }));

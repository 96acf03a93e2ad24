// The event reader: the CLI's stdout, byte by byte, to visible text, records and findings (spec: bounded-claude 4, 5).

import type { FailureKind } from './failures.ts';
import { createLineSplitter, maxLineBytes, type Line } from './event-lines.ts';
import {
  asList,
  asNumber,
  asObject,
  asText,
  envelopeOf,
  errorsOf,
  isObject,
  maxLogBytes,
  told,
  toldWhole,
  type Envelope,
  type Json,
} from './envelope.ts';
import { sameModel, type Evidence } from './evidence.ts';
import { characters } from '../text.ts';
import { createVisibleText, maxVisibleCharacters, type TextChange } from './visible-text.ts';
import { judge, type Ending, type Verdict } from './verdict.ts';

export interface ReaderOptions {
  /** The session that was asked for, by --session-id or --resume. */
  sessionId: string;
  /** The configured model, exactly. */
  model: string;
  /** Bytes; default 1,048,576. */
  maxLineBytes?: number;
  /** Code points; default 100,000. */
  maxVisibleCharacters?: number;
  /** Bytes of all envelopes as JSON lines; default 10 MiB. */
  maxLogBytes?: number;
}

/** What a chunk brought, in the order of the stream. */
export type Fact =
  /**
   * A complete valid event: the idle clock begins anew, with `content` the upstream clock too. A line for events.jsonl.
   */
  | { kind: 'event'; content: boolean; envelope: Envelope }
  | ({ kind: 'text' } & TextChange)
  /** End the run now, for this reason. Told once, the first. */
  | { kind: 'finding'; failure_kind: FailureKind; detail: string }
  /** A result came: an exit is due within 5 s. */
  | { kind: 'result' }
  /** Something odd that ends nothing. */
  | { kind: 'note'; note: string };

export interface Observed {
  /** In the order of their first appearance. */
  session_ids: string[];
  models: string[];
  cli_version: string | null;
  /** Cumulative over the session, as the CLI reports it; null without a result. */
  total_cost_usd: number | null;
  num_turns: number | null;
  usage: Json | null;
  /** Tokens by the stream's own events, for an estimate where no result came. */
  streamed: { input_tokens: number; output_tokens: number };
  events: number;
  results: number;
  notes: string[];
}

export interface EventReader {
  /** Reads a chunk of any size; a character, a line or an event may be split anywhere. */
  push(chunk: Uint8Array, emit: (fact: Fact) => void): void;
  /** stdout ended. */
  end(emit: (fact: Fact) => void): void;
  /** All visible text so far, not redacted. */
  visibleText(): string;
  observed(): Observed;
  /** The verdict, once the process and its output have ended. */
  judge(ending: Ending): Verdict;
}

const fewResults = 5;

/** A reader for one attempt. Holds one line, the visible text and a few results, whatever the stream's length. */
export function createEventReader(options: ReaderOptions): EventReader {
  const splitter = createLineSplitter(options.maxLineBytes ?? maxLineBytes);
  const visibleLimit = options.maxVisibleCharacters ?? maxVisibleCharacters;
  const logLimit = options.maxLogBytes ?? maxLogBytes;
  const visible = createVisibleText(visibleLimit);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const streamed = { input_tokens: 0, output_tokens: 0 };
  let logged = 0;
  let line = 0;
  let ended = false;
  let emit: (fact: Fact) => void = () => undefined;

  const seen: Evidence = {
    sessionId: options.sessionId,
    model: options.model,
    ending: undefined,
    init: undefined,
    sessionIds: new Set(),
    models: new Set(),
    results: [],
    resultCount: 0,
    errors: [],
    retry: undefined,
    upstreamIdle: false,
    refused: false,
    stopReason: undefined,
    continuations: 0,
    broken: [],
    notes: [],
    events: 0,
  };

  const finding = (failure_kind: FailureKind, detail: string): void => {
    if (seen.ending) return;
    seen.ending = { failure_kind, detail };
    emit({ kind: 'finding', failure_kind, detail });
  };

  const note = (text: string): void => {
    if (seen.notes.includes(text) || seen.notes.length >= 50) return;
    seen.notes.push(text);
    emit({ kind: 'note', note: text });
  };

  const show = (change: TextChange | undefined): void => {
    if (change) emit({ kind: 'text', ...change });
    if (visible.full()) finding('output_too_large', `The visible text passed ${visibleLimit} characters.`);
  };

  const takeLine = (taken: Line): void => {
    line++;
    if (taken.kind === 'too_long') {
      line--;
      const limit = taken.bytes - 1;
      finding(
        'output_too_large',
        `A line of the stream passed ${limit} bytes (${taken.bytes} bytes read, line ${line + 1}).`,
      );
      return;
    }
    takeBytes(taken.bytes, '');
  };

  const takeBytes = (bytes: Uint8Array, incomplete: string): void => {
    if (bytes.every((byte) => byte <= 0x20)) return;
    const event = parsed(bytes);
    if (event) return takeEvent(event);
    const what = `${incomplete === '' ? `Line ${line}` : incomplete} of ${bytes.length} bytes`;
    if (seen.events === 0 && incomplete === '') {
      return note(`${what} before the first event is no JSON object; it was skipped.`);
    }
    const text = `${what} is ${incomplete === '' ? 'no JSON object' : 'incomplete'}.`;
    if (seen.broken.length < 20) seen.broken.push(text);
    note(text);
  };

  const parsed = (bytes: Uint8Array): Json | undefined => {
    try {
      const value: unknown = JSON.parse(decoder.decode(bytes));
      return isObject(value) ? value : undefined;
    } catch {
      return undefined;
    }
  };

  const takeEvent = (event: Json): void => {
    seen.events++;
    const envelope = envelopeOf(event, seen.events);
    logged += byteLength(envelope);
    if (logged > logLimit) finding('output_too_large', `The event log passed ${logLimit} bytes.`);
    else emit({ kind: 'event', content: hasContent(event), envelope });
    checkTools(event);
    checkIdentity(event);
    takeByType(event);
  };

  const checkIdentity = (event: Json): void => {
    const session = asText(event['session_id']);
    if (session !== undefined && session !== '' && seen.sessionIds.size < 10) seen.sessionIds.add(session);
    if (session !== undefined && session !== options.sessionId && isBound(event)) {
      finding('identity_mismatch', `The CLI reports session ${told(session)} instead of ${options.sessionId}.`);
    }
    for (const model of modelsOf(event)) checkModel(model, event);
  };

  const checkModel = (model: string, event: Json): void => {
    if (model === '<synthetic>') return;
    if (seen.models.size < 10) seen.models.add(model);
    if (model === options.model) return;
    const seenModel = told(model);
    if (sameModel(model, options.model)) return note(`The CLI reports the model as ${seenModel}.`);
    const hint = event['subtype'] === 'init' ? ` If that is the one you want, configure exactly ${seenModel}.` : '';
    finding('identity_mismatch', `Model ${seenModel} answered instead of ${options.model}.${hint}`);
  };

  const checkTools = (event: Json): void => {
    const tool = toolUse(event);
    if (tool) finding('tool_use_violation', tool);
  };

  const takeByType = (event: Json): void => {
    switch (event['type']) {
      case 'system':
        return takeSystem(event);
      case 'stream_event':
        return takeStream(asObject(event['event']));
      case 'assistant':
        return takeAssistant(event);
      case 'user':
        return takeUser(event);
      case 'result':
        return takeResult(event);
    }
  };

  function takeSystem(event: Json): void {
    switch (event['subtype']) {
      case 'init':
        seen.init ??= event;
        return;
      case 'api_retry':
        seen.retry = event;
        if (event['error_status'] === 401) finding('authentication', 'The API refused the credentials (401).');
        return;
      case 'model_fallback': {
        const to = told(asText(event['fallback_model']) ?? 'another model');
        return finding('identity_mismatch', `The CLI switched to ${to} instead of ${options.model}.`);
      }
      case 'model_refusal_no_fallback':
        seen.refused = true;
    }
  }

  function takeUser(event: Json): void {
    if (event['isSynthetic'] !== true) return;
    seen.continuations++;
    if (event['refusal_retry'] === true) {
      seen.refused = true;
      visible.withdraw();
    } else {
      visible.goOn();
    }
  }

  function takeStream(event: Json): void {
    const message = asObject(event['message']);
    const delta = asObject(event['delta']);
    switch (event['type']) {
      case 'message_start':
        visible.begin(asText(message['id']) ?? '');
        seen.retry = undefined;
        streamed.input_tokens += inputTokens(asObject(message['usage']));
        return;
      case 'content_block_start': {
        const text = asText(asObject(event['content_block'])['text']);
        if (text) show(visible.append(text));
        return;
      }
      case 'content_block_delta':
        if (delta['type'] === 'text_delta') show(visible.append(asText(delta['text']) ?? ''));
        return;
      case 'message_delta': {
        streamed.output_tokens += asNumber(asObject(event['usage'])['output_tokens']) ?? 0;
        const reason = asText(delta['stop_reason']);
        if (reason === undefined) return;
        visible.finish();
        stopped(reason);
        return;
      }
    }
  }

  function stopped(reason: string): void {
    if (reason === 'refusal') seen.refused = true;
    if (reason === 'max_tokens' || reason === 'model_context_window_exceeded') seen.stopReason = reason;
  }

  function takeAssistant(event: Json): void {
    const message = asObject(event['message']);
    const texts = asList(message['content']).flatMap((block) => {
      const { type, text } = asObject(block);
      return type === 'text' && typeof text === 'string' ? [text] : [];
    });
    const reason = asText(message['stop_reason']);
    if (reason !== undefined) stopped(reason);
    if (message['model'] === '<synthetic>') {
      const { error, api_error, api_error_status, api_error_type } = event;
      seen.errors = [
        ...seen.errors, { error, api_error, api_error_status, api_error_type, text: toldWhole(texts.join('')) },
      ].slice(-5);
      if (texts.some((text) => /\bstream idle timeout\b/i.test(text))) seen.upstreamIdle = true;
    } else if (texts.length > 0) {
      show(visible.commit(asText(message['id']) ?? '', texts.join('')));
    }
  }

  function takeResult(event: Json): void {
    seen.resultCount++;
    const text = asText(event['result']) ?? '';
    const success = event['is_error'] === false && event['subtype'] === 'success';
    if (success && characters(text) > visibleLimit) {
      finding('output_too_large', `The result has more than ${visibleLimit} characters.`);
    }
    const fields: Json = {};
    for (const key of resultFields) fields[key] = event[key];
    seen.results.push({ success, text: success ? text : '', fields, errors: errorsOf(event) });
    // Of too many the first ones and the last are kept: enough to decide, bounded in memory.
    if (seen.results.length > fewResults) seen.results.splice(fewResults - 1, 1);
    emit({ kind: 'result' });
  }

  return {
    push(chunk, take) {
      emit = take;
      splitter.push(chunk, takeLine);
    },
    end(take) {
      if (ended) return;
      ended = true;
      emit = take;
      const rest = splitter.rest();
      if (rest.length > 0) takeBytes(rest, 'The last line');
    },
    visibleText: () => visible.text(),
    observed: () => ({ ...observedOf(seen), streamed: { ...streamed } }),
    judge: (ending) => judge(seen, ending),
  };
}

const resultFields = [
  'session_id', 'subtype', 'is_error', 'terminal_reason', 'stop_reason', 'api_error_status', 'api_error_type',
  'api_error',
  'total_cost_usd', 'num_turns', 'usage', 'modelUsage',
] as const;

function observedOf(seen: Evidence): Omit<Observed, 'streamed'> {
  const costs = seen.results.flatMap(({ fields }) => asNumber(fields['total_cost_usd']) ?? []);
  const told = seen.results.find(({ success }) => success) ?? seen.results.at(-1);
  return {
    session_ids: [...seen.sessionIds],
    models: [...seen.models],
    cli_version: asText(seen.init?.['claude_code_version']) ?? null,
    total_cost_usd: costs.length > 0 ? Math.max(...costs) : null,
    num_turns: asNumber(told?.fields['num_turns']) ?? null,
    usage: isObject(told?.fields['usage']) ? told.fields['usage'] : null,
    events: seen.events,
    results: seen.resultCount,
    notes: [...seen.notes],
  };
}

const encoder = new TextEncoder();
const byteLength = (envelope: Envelope): number => encoder.encode(JSON.stringify(envelope)).length + 1;

const inputTokens = (usage: Json): number =>
  (asNumber(usage['input_tokens']) ?? 0)
  + (asNumber(usage['cache_creation_input_tokens']) ?? 0)
  + (asNumber(usage['cache_read_input_tokens']) ?? 0);

/** Thinking counts as content; ping, status and api_retry do not (spec: bounded-claude 4). */
function hasContent(event: Json): boolean {
  switch (event['type']) {
    case 'stream_event':
      return asObject(event['event'])['type'] === 'content_block_delta';
    case 'assistant':
      return asObject(event['message'])['model'] !== '<synthetic>';
    case 'result':
      return true;
    default:
      return event['subtype'] === 'thinking_tokens';
  }
}

/** Events whose session id must be ours; others may come before the session is known. */
const isBound = (event: Json): boolean => event['subtype'] === 'init' || event['type'] === 'result';

function modelsOf(event: Json): string[] {
  const message = event['type'] === 'stream_event' ? asObject(event['event'])['message'] : event['message'];
  const own = event['subtype'] === 'init' ? asText(event['model']) : undefined;
  const answered = event['type'] === 'user' ? undefined : asText(asObject(message)['model']);
  const used = event['type'] === 'result' ? Object.keys(asObject(event['modelUsage'])) : [];
  return [own, answered, ...used].flatMap((model) => (model === undefined ? [] : [model]));
}

/** Why an event is a use of tools, whatever its type; undefined when it is none. */
function toolUse(event: Json): string | undefined {
  if (event['subtype'] === 'init') {
    const tools = asList(event['tools']);
    if (tools.length > 0) return `The CLI offers ${tools.length} tools although none may be offered.`;
  }
  const stream = asObject(event['event']);
  const blocks = [
    stream['content_block'],
    ...asList(asObject(event['message'])['content']),
    ...asList(event['content']),
  ].map(asObject);
  for (const { type, name } of blocks) {
    if (typeof type !== 'string' || !/tool_use|tool_result/.test(type)) continue;
    return `The model used a tool (${type}${typeof name === 'string' ? `: ${told(name)}` : ''}).`;
  }
  if (asObject(stream['delta'])['type'] === 'input_json_delta') return 'The model wrote the input of a tool.';
  if (asObject(stream['delta'])['stop_reason'] === 'tool_use') return 'The model stopped to use a tool.';
  if (event['type'] === 'user' && event['tool_use_result'] !== undefined) {
    return 'The CLI gave the model the result of a tool.';
  }
  if (typeof event['parent_tool_use_id'] === 'string') return 'A subagent answered.';
  return event['type'] === 'result' ? toolsOfResult(event) : undefined;
}

function toolsOfResult(event: Json): string | undefined {
  if (asList(event['permission_denials']).length > 0) return 'The result tells of a tool that was denied.';
  const server = Object.values(asObject(asObject(event['usage'])['server_tool_use']));
  return server.some((count) => (asNumber(count) ?? 0) > 0) ? 'The result tells of tools that the API ran.' : undefined;
}

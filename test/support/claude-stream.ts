// Event streams as the CLI prints them, made by tests: one function an event, and a reader over them.

import { createEventReader, type EventReader, type Fact, type ReaderOptions } from '../../domain/bounded/events.ts';
import type { Ending, Verdict } from '../../domain/bounded/verdict.ts';
import { bytes, plan } from './bounded.ts';

export const session = '11111111-2222-4333-8444-555555555555';
export const model = 'claude-opus-4-8';

type Event = Record<string, unknown>;
const from = (event: Event): Event => ({ session_id: session, uuid: 'u', ...event });

export const init = (more: Event = {}): Event =>
  from({ type: 'system', subtype: 'init', tools: [], mcp_servers: [], model, claude_code_version: '2.1.332', ...more });
export const stream = (event: Event): Event => from({ type: 'stream_event', event });
export const start = (id = 'm1', of = model): Event =>
  stream({ type: 'message_start', message: { id, model: of, content: [], usage: { input_tokens: 1200 } } });
export const delta = (text: string, index = 0): Event => stream(
  { type: 'content_block_delta', index, delta: { type: 'text_delta', text } },
);
export const thinking = (text: string): Event => stream(
  { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: text } },
);
export const stop = (reason: string | null = 'end_turn'): Event =>
  stream({ type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 150 } });
export const ping = (): Event => stream({ type: 'ping' });
export const assistant = (text: string, id = 'm1', of = model): Event =>
  from(
    {
      type: 'assistant',
      parent_tool_use_id: null,
      message: { id, model: of, role: 'assistant', content: [{ type: 'text', text }], stop_reason: null },
    },
  );
export const synthetic = (text: string, more: Event = {}): Event => (
  { ...assistant(text, 'x', '<synthetic>'), ...more }
);
export const retry = (status: number | null, error: string): Event =>
  from({ type: 'system', subtype: 'api_retry', attempt: 1, error_status: status, error });
export const goOn = (more: Event = {}): Event =>
  from(
    { type: 'user', isSynthetic: true, message: { role: 'user', content: [{ type: 'text', text: 'go on' }] }, ...more },
  );
export const result = (text: string = plan(), more: Event = {}): Event =>
  from({
    type: 'result', subtype: 'success', is_error: false, terminal_reason: 'completed', stop_reason: 'end_turn',
    result: text, num_turns: 1,
    total_cost_usd: 0.25, usage: {
      input_tokens: 1200,
      output_tokens: 150,
    }, modelUsage: { [model]: { costUSD: 0.25 } }, permission_denials: [], ...more,
  });
export const failure = (more: Event = {}): Event =>
  result(
    '',
    {
      subtype: 'error_during_execution', is_error: true, terminal_reason: 'error', num_turns: 0,
      errors: ['something broke'], ...more,
    },
  );

/** A whole good run. */
export const good = (): Event[] => [
  init(), start(), delta(plan().slice(0, 40)), delta(plan().slice(40)), assistant(plan()), stop(), result(),
];

export const lines = (events: (Event | string)[]): string =>
  events.map((event) => `${typeof event === 'string' ? event : JSON.stringify(event)}\n`).join('');

export interface Read {
  reader: EventReader;
  facts: Fact[];
  judge(ending?: Partial<Ending>): Verdict;
}

/** Reads a stream in the given chunks; the verdict is that of exit 0 unless told otherwise. */
export function read(chunks: (string | Uint8Array)[], options: Partial<ReaderOptions> = {}): Read {
  const reader = createEventReader({ sessionId: session, model, ...options });
  const facts: Fact[] = [];
  const emit = (fact: Fact): void => void facts.push(fact);
  for (const chunk of chunks) reader.push(typeof chunk === 'string' ? bytes(chunk) : chunk, emit);
  reader.end(emit);
  return {
    reader,
    facts,
    judge: (ending = {}) => reader.judge({ exitCode: 0, signal: null, stderrTail: '', ...ending }),
  };
}

export const readEvents = (events: (Event | string)[], options: Partial<ReaderOptions> = {}): Read => read([lines(events)], options);

/** The kind of a failure, or `success`. */
export const kindOf = (verdict: Verdict): string => (verdict.success ? 'success' : verdict.failure_kind);
export const detailOf = (verdict: Verdict): string => (verdict.success ? '' : verdict.detail);

// One answer, put together from a provider's stream: text, calls, usage, stop reason (spec: planner 9).

import { storable } from '../domain/text.ts';
import type { Block, StopReason, Usage } from '../domain/transcript.ts';
import { CallAssembler } from './calls.ts';
import { isObject } from './json.ts';

type Finish = 'stop' | 'length' | 'refusal' | 'cut' | 'overloaded' | 'failed';

/**
 * An answer has so many characters at most, text and arguments of calls together: a stream must not fill the memory.
 * More than all calls that an answer may have take with their arguments (spec: planner 6).
 */
export const longestAnswer = 40 * 1024 * 1024;

/** The answer is longer. */
export class EndlessAnswer extends Error {
  override readonly name = 'EndlessAnswer';
}

export class AnswerAssembler {
  readonly #onText: (delta: string) => void;
  readonly #onUsage: (usage: Usage) => void;
  readonly #calls = new CallAssembler();
  #text = '';
  /** The first half of a surrogate pair whose second half has not arrived. */
  #held = '';
  #finish: Finish | undefined;
  #refused = false;
  #usage: Usage | undefined;
  #model = '';

  constructor(onText: (delta: string) => void, onUsage: (usage: Usage) => void) {
    this.#onText = onText;
    this.#onUsage = onUsage;
  }

  /** How the provider says that the answer ended; undefined: it has not said so. */
  get finish(): Finish | undefined {
    return this.#finish;
  }

  /** A chunk of a stream, or a whole completion where the provider did not stream. The unknown is passed over. */
  add(chunk: Record<string, unknown>): void {
    if (typeof chunk.model === 'string' && chunk.model !== '') this.#model = chunk.model;
    const choice: unknown = Array.isArray(chunk.choices) ? chunk.choices[0] : undefined;
    const reported = reportedUsage(chunk, choice);
    if (reported) this.#onUsage(reported);
    this.#usage = reported ?? this.#usage;
    if (!isObject(choice)) return;
    const delta = isObject(choice.delta) ? choice.delta : isObject(choice.message) ? choice.message : {};
    this.#addText(textOfContent(delta.content));
    if (typeof delta.refusal === 'string' && delta.refusal !== '') {
      this.#refused = true;
      this.#addText(delta.refusal);
    }
    if (Array.isArray(delta.tool_calls)) for (const call of delta.tool_calls) this.#calls.add(call);
    if (isObject(delta.function_call)) this.#calls.add({ index: 0, function: delta.function_call });
    if (this.#text.length + this.#calls.length > longestAnswer) throw new EndlessAnswer('an answer without end');
    if (typeof choice.finish_reason === 'string' && choice.finish_reason !== '') {
      this.#finish = finishOf(choice.finish_reason);
    }
  }

  /** To be called once, when the stream has ended well. */
  end(): { blocks: Block[]; stop_reason: StopReason; model: string; usage: Usage | undefined } {
    if (this.#held !== '') this.#emit(storable(this.#held));
    this.#held = '';
    const refused = this.#refused || this.#finish === 'refusal';
    const calls = refused ? [] : this.#calls.blocks(this.#finish === 'length');
    const blocks: Block[] = this.#text === '' ? [] : [{ type: 'text', text: this.#text }];
    blocks.push(...calls);
    return { blocks, stop_reason: this.#stopReason(refused, calls.length), model: this.#model, usage: this.#usage };
  }

  #stopReason(refused: boolean, calls: number): StopReason {
    if (refused) return 'refusal';
    if (calls > 0) return 'tool_use';
    return this.#finish === 'length' ? 'max_tokens' : 'end_turn';
  }

  #addText(piece: string): void {
    if (piece === '') return;
    const text = this.#held + piece;
    const last = text.charCodeAt(text.length - 1);
    const open = last >= 0xd800 && last <= 0xdbff;
    this.#held = open ? text.slice(-1) : '';
    this.#emit(storable(open ? text.slice(0, -1) : text));
  }

  #emit(text: string): void {
    if (text === '') return;
    this.#text += text;
    this.#onText(text);
  }
}

/** Providers send a string, null, or parts; reasoning parts are no text. */
function textOfContent(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: unknown) => (isObject(part) && part.type === 'text' && typeof part.text === 'string' ? part.text : ''))
    .join('');
}

function finishOf(reason: string): Finish {
  switch (reason.toLowerCase()) {
    case 'length':
    case 'max_tokens':
    case 'max_output_tokens':
    case 'model_length':
      return 'length';
    case 'content_filter':
    case 'safety':
    case 'refusal':
    case 'recitation':
    case 'prohibited_content':
      return 'refusal';
    case 'abort':
    case 'aborted':
      return 'cut';
    case 'insufficient_system_resource':
      return 'overloaded';
    case 'error':
      return 'failed';
    default:
      return 'stop';
  }
}

/** Where providers put it: the chunk, its only choice, or a field of their own. The last report counts. */
function reportedUsage(chunk: Record<string, unknown>, choice: unknown): Usage | undefined {
  const own = isObject(chunk.x_groq) ? chunk.x_groq.usage : undefined;
  return usageOf(chunk.usage) ?? usageOf(own) ?? usageOf(isObject(choice) ? choice.usage : undefined);
}

function usageOf(raw: unknown): Usage | undefined {
  if (!isObject(raw)) return undefined;
  const prompt = count(raw.prompt_tokens ?? raw.input_tokens);
  const output = count(raw.completion_tokens ?? raw.output_tokens);
  // Zeros are what providers send that don't count.
  if (!prompt && !output) return undefined;
  const details = isObject(raw.prompt_tokens_details) ? raw.prompt_tokens_details : {};
  const read = count(details.cached_tokens) ?? count(raw.prompt_cache_hit_tokens) ?? count(raw.cached_tokens) ?? 0;
  const write = count(details.cache_write_tokens) ?? count(details.cache_creation_tokens) ?? 0;
  const input = Math.max(0, (prompt ?? 0) - read - write);
  return { input, output: output ?? 0, cache_read: read, cache_write: write };
}

function count(value: unknown): number | undefined {
  if (typeof value !== 'number' || value < 0) return undefined;
  const whole = Math.round(value);
  return Number.isSafeInteger(whole) ? whole : undefined;
}

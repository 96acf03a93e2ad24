// Tool calls put together from a stream's deltas, whatever a provider does with index, id and name (spec: planner 9).

import { storable } from '../domain/text.ts';
import type { ToolUseBlock } from '../domain/transcript.ts';
import { isObject, parsedObject, storableJson } from './json.ts';

interface OpenCall {
  index: number | undefined;
  id: string;
  name: string;
  arguments: string;
}

interface CallDelta {
  index: number | undefined;
  id: string;
  name: string;
  arguments: string;
}

/** Ids longer than this are replaced, characters. */
const maxId = 256;

export class CallAssembler {
  readonly #calls: OpenCall[] = [];
  #length = 0;

  /** One element of a delta's `tool_calls`, or a delta's old-style `function_call` as `{function}`. */
  add(raw: unknown): void {
    if (!isObject(raw)) return;
    const delta = callDelta(raw);
    this.#length += delta.name.length + delta.arguments.length + 16;
    const call = this.#callOf(delta);
    if (call === undefined) {
      if (delta.id !== '' || delta.name !== '' || delta.arguments !== '') this.#calls.push(delta);
      return;
    }
    if (isRepeat(call, delta)) return;
    call.id ||= delta.id;
    if (delta.name !== call.name && call.arguments === '') call.name += delta.name;
    call.arguments += delta.arguments;
  }

  /** Characters that have come, more or less. */
  get length(): number {
    return this.#length;
  }

  /**
   * The calls in the model's order, each id unique within the answer. `cutOff`: the answer ended at its length limit,
   * and calls that it left unfinished are dropped; otherwise arguments that are no JSON object stay as they came.
   */
  blocks(cutOff: boolean): ToolUseBlock[] {
    const calls = cutOff ? this.#calls.filter((call, i) => this.#finished(call, i)) : this.#calls;
    const ids = new Set<string>();
    return calls.map((call) => ({
      type: 'tool_use',
      tool_use_id: uniqueId(storable(call.id), ids),
      name: storable(call.name.trim()),
      input: callInput(call.arguments),
    }));
  }

  #finished(call: OpenCall, position: number): boolean {
    if (call.arguments.trim() === '') return position < this.#calls.length - 1;
    return parsedObject(call.arguments) !== undefined;
  }

  /** The call that a delta goes on with; undefined: it begins a new one. */
  #callOf(delta: CallDelta): OpenCall | undefined {
    const last = this.#calls.at(-1);
    if (delta.index !== undefined) {
      const call = this.#calls.findLast((other) => other.index === delta.index);
      return call !== undefined && !begins(call, delta) ? call : undefined;
    }
    if (delta.id !== '') {
      const call = this.#calls.findLast((other) => other.id === delta.id);
      if (call !== undefined) return begins(call, delta) ? undefined : call;
      return delta.name === '' && last !== undefined && last.id === '' ? last : undefined;
    }
    if (last === undefined || begins(last, delta)) return undefined;
    const namesNext = delta.name !== '' && last.index === undefined && last.arguments === '' && last.name !== '';
    return namesNext ? undefined : last;
  }
}

/** A call whose JSON is whole, and then another name or object under the same index: the next call has begun. */
function begins(call: OpenCall, delta: CallDelta): boolean {
  const otherId = delta.id !== '' && call.id !== '' && delta.id !== call.id;
  if (otherId && delta.name !== '') return true;
  if (!delta.arguments.trimStart().startsWith('{')) return false;
  return parsedObject(call.arguments) !== undefined && !isRepeat(call, delta);
}

/** Some providers send the finished call once more. */
function isRepeat(call: OpenCall, delta: CallDelta): boolean {
  return delta.id !== '' && delta.id === call.id && delta.arguments !== '' && delta.arguments === call.arguments
    && parsedObject(call.arguments) !== undefined;
}

function callDelta(raw: Record<string, unknown>): CallDelta {
  const fn = isObject(raw.function) ? raw.function : {};
  return {
    index: typeof raw.index === 'number' && Number.isInteger(raw.index) ? raw.index : undefined,
    id: typeof raw.id === 'string' && raw.id.length <= maxId ? raw.id : '',
    name: typeof fn.name === 'string' ? fn.name : '',
    arguments: argumentsText(fn.arguments),
  };
}

function argumentsText(value: unknown): string {
  if (typeof value === 'string') return value;
  return isObject(value) ? JSON.stringify(value) : '';
}

function callInput(text: string): ToolUseBlock['input'] {
  if (text.trim() === '') return {};
  const input = parsedObject(text);
  try {
    return input === undefined ? storable(text) : storableJson(input);
  } catch (error) {
    // Nested so deeply that walking it ends the stack.
    if (error instanceof RangeError) return storable(text);
    throw error;
  }
}

function uniqueId(id: string, taken: Set<string>): string {
  const stem = id === '' ? 'call' : id;
  let unique = id === '' ? `${stem}_1` : stem;
  for (let n = 2; taken.has(unique); n++) unique = `${stem}_${n}`;
  taken.add(unique);
  return unique;
}

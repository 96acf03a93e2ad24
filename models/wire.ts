// A transcript as chat completions messages: what goes over the wire (spec: planner 9).

import { createHash } from 'node:crypto';
import type OpenAI from 'openai';
import { storable } from '../domain/text.ts';
import type { Block, ModelMessage, ToolUseBlock } from '../domain/transcript.ts';

export type WireMessage = OpenAI.Chat.Completions.ChatCompletionMessageParam;

/** What some providers insist on. */
export interface WireStyle {
  /** Reasoning is never stored: it is sent back as an empty text. */
  echoReasoning: boolean;
  /** A user's text never follows a tool's result: an answer of ours stands between. */
  alternate: boolean;
  /** Ids of calls are nine letters and digits. */
  shortIds: boolean;
}

/**
 * System prompt first; tool results as role `tool` right after the answer that called; an answer without text and
 * calls is left out. Expects what `modelView` makes: roles alternate, every call is answered.
 */
export function wireMessages(system: string, messages: readonly ModelMessage[], style: WireStyle): WireMessage[] {
  const wire: WireMessage[] = [];
  if (system.trim() !== '') wire.push({ role: 'system', content: storable(system) });
  for (const message of messages) {
    if (message.role === 'assistant') wire.push(...assistantMessage(message.blocks, style));
    else wire.push(...userMessages(message.blocks, style));
  }
  return wire;
}

function assistantMessage(blocks: readonly Block[], style: WireStyle): WireMessage[] {
  const text = joinedText(blocks);
  const calls = blocks.filter((block) => block.type === 'tool_use');
  if (calls.length === 0) return text === '' ? [] : [{ role: 'assistant', content: text }];
  return [
    {
      role: 'assistant',
      content: text === '' ? null : text,
      tool_calls: calls.map((call) => ({
        id: wireId(call.tool_use_id, style),
        type: 'function',
        function: { name: wireName(call.name), arguments: wireArguments(call.input) },
      })),
      ...(style.echoReasoning ? { reasoning_content: '' } : {}),
    },
  ];
}

function userMessages(blocks: readonly Block[], style: WireStyle): WireMessage[] {
  const wire: WireMessage[] = [];
  for (const block of blocks) {
    if (block.type !== 'tool_result') continue;
    const content = block.text.trim() === '' ? '(no output)' : storable(block.text);
    wire.push({ role: 'tool', tool_call_id: wireId(block.tool_use_id, style), content });
  }
  const text = joinedText(blocks);
  if (text !== '') {
    if (style.alternate && wire.length > 0) wire.push({ role: 'assistant', content: stoppedText });
    wire.push({ role: 'user', content: text });
  }
  return wire;
}

/** Stands for the answer that a turn did not get to. */
const stoppedText = '(The turn ended here.)';

/** The same for a call and its result, and for each request. */
function wireId(id: string, { shortIds }: WireStyle): string {
  if (!shortIds || /^[A-Za-z0-9]{9}$/.test(id)) return id;
  return createHash('sha256').update(id).digest('hex').slice(0, 9);
}

function joinedText(blocks: readonly Block[]): string {
  const texts = blocks.filter((block) => block.type === 'text').map((block) => block.text);
  return storable(texts.filter((text) => text.trim() !== '').join('\n\n'));
}

/** A name that a model made up is sent back in the providers' alphabet, or every later request is refused. */
function wireName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unknown';
}

/** Always a string, and always a JSON object in it: several providers parse it and refuse anything else. */
function wireArguments(input: ToolUseBlock['input']): string {
  return JSON.stringify(typeof input === 'string' ? { malformed_arguments: input } : input);
}

// A transcript as chat completions messages: what goes over the wire (spec: planner 9).

import type OpenAI from 'openai';
import { storable } from '../domain/text.ts';
import type { Block, ModelMessage, ToolUseBlock } from '../domain/transcript.ts';

export type WireMessage = OpenAI.Chat.Completions.ChatCompletionMessageParam;

/** Reasoning is never stored; a provider that insists on getting it back gets an empty text (`echoReasoning`). */
export interface WireStyle {
  echoReasoning: boolean;
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
    else wire.push(...userMessages(message.blocks));
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
        id: call.tool_use_id,
        type: 'function',
        function: { name: wireName(call.name), arguments: wireArguments(call.input) },
      })),
      ...(style.echoReasoning ? { reasoning_content: '' } : {}),
    },
  ];
}

function userMessages(blocks: readonly Block[]): WireMessage[] {
  const wire: WireMessage[] = [];
  for (const block of blocks) {
    if (block.type !== 'tool_result') continue;
    const content = block.text.trim() === '' ? '(no output)' : storable(block.text);
    wire.push({ role: 'tool', tool_call_id: block.tool_use_id, content });
  }
  const text = joinedText(blocks);
  if (text !== '') wire.push({ role: 'user', content: text });
  return wire;
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

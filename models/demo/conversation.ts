// What the demo model reads out of a chat completions request.

import { interruptedText, summaryHeading } from '../../domain/transcript.ts';
import { isObject, parsed, parsedObject } from '../json.ts';

/** A call of this turn with what came back. */
export interface Finding {
  tool: string;
  input: Record<string, unknown>;
  text: string;
  /** The result as JSON; undefined: the call failed, and `text` says why. */
  value: unknown;
}

export interface Conversation {
  /** The newest human message. */
  human: string;
  /** Calls since then, in order. */
  findings: Finding[];
  /** Names of the tools on offer. */
  tools: ReadonlySet<string>;
  /** All human messages, oldest first. */
  said: string[];
}

export interface Reply {
  text: string;
  calls: { name: string; input: Record<string, unknown> }[];
}

export function conversationOf(request: Record<string, unknown>): Conversation {
  const messages = Array.isArray(request.messages) ? request.messages.filter(isObject) : [];
  const at = messages.findLastIndex((message) => message.role === 'user');
  const offered = Array.isArray(request.tools) ? request.tools.filter(isObject) : [];
  const names = offered.map((tool) => (isObject(tool.function) ? tool.function.name : undefined));
  return {
    human: withoutSummary(contentOf(messages[at])),
    findings: findingsIn(messages.slice(at + 1)),
    tools: new Set(names.filter((name) => typeof name === 'string')),
    said: messages.filter((message) => message.role === 'user').map((message) => withoutSummary(contentOf(message))),
  };
}

function contentOf(message: Record<string, unknown> | undefined): string {
  const content = message?.content;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: unknown) => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join('\n');
}

/** A summary of earlier talk stands before the message, in the same text: only the last paragraph is sure to be new. */
function withoutSummary(text: string): string {
  return text.startsWith(summaryHeading) ? (text.split(/\n\s*\n/).at(-1) ?? '') : text;
}

function findingsIn(messages: readonly Record<string, unknown>[]): Finding[] {
  const results = new Map<unknown, string>();
  for (const message of messages) if (message.role === 'tool') results.set(message.tool_call_id, contentOf(message));
  const calls = messages.flatMap((message): unknown[] => (Array.isArray(message.tool_calls) ? message.tool_calls : []));
  return calls.flatMap((call) => {
    if (!isObject(call) || !isObject(call.function)) return [];
    const { name, arguments: input } = call.function;
    const text = results.get(call.id) ?? interruptedText;
    const value = parsed(text);
    return [
      {
        tool: String(name),
        input: typeof input === 'string' ? (parsedObject(input) ?? {}) : {},
        text,
        value: typeof value === 'object' && value !== null ? value : undefined,
      },
    ];
  });
}

/** The rows of a list result, whether it is a bare array or `{items: [...]}` under whatever name. */
export function rowsOf(value: unknown): Record<string, unknown>[] {
  if (Array.isArray(value)) return value.filter(isObject);
  if (!isObject(value)) return [];
  const list = Object.values(value).find(Array.isArray);
  return list === undefined ? [] : list.filter(isObject);
}

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
  /** Asked for a summary of what was said. */
  toSummarize?: boolean;
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
  const human = withoutSummary(contentOf(messages[at]));
  const talk = offered.length === 0 ? saidIn(human) : undefined;
  return {
    human,
    findings: findingsIn(messages.slice(at + 1)),
    tools: new Set(names.filter((name) => typeof name === 'string')),
    said:
      talk ??
      messages.filter((message) => message.role === 'user').map((message) => withoutSummary(contentOf(message))),
    toSummarize: talk !== undefined,
  };
}

function contentOf(message: Record<string, unknown> | undefined): string {
  const content = message?.content;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: unknown) => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join('\n');
}

const summaryEnd = '\n</summary>';

/** A summary of earlier talk stands before the message, in the same text. */
function withoutSummary(text: string): string {
  return text.startsWith(summaryHeading) ? text.slice(text.lastIndexOf(summaryEnd) + summaryEnd.length).trim() : text;
}

/** Asked for a summary, it is given the talk as text: what the human said there, after what the summary so far names. */
function saidIn(text: string): string[] | undefined {
  const [, before = '', talk] = /^([^]*?)<conversation>\n([^]*)\n<\/conversation>/.exec(text) ?? [];
  if (talk === undefined) return undefined;
  const lines = (part: string, mark: RegExp): string[] => [...part.matchAll(mark)].map(([, line]) => line!);
  return [...lines(before, /^- (.+)/gm), ...lines(talk, /^HUMAN: (.+)/gm)];
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

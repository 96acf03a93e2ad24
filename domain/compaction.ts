// When a conversation is too long, what of it is summarized, and in which parts. Pure. (spec: planner 8)

import { estimateTokens } from './tokens.ts';
import type { Block, Message, ModelMessage, Usage } from './transcript.ts';

export { estimateTokens } from './tokens.ts';

/** What a model is sent that is no part of the conversation. */
export interface Overhead {
  system: string;
  tools: readonly unknown[];
}

/** A conversation as far as a model sees it. */
export interface Conversation {
  summary: string;
  /** The session's newest seq when the summary was stored: usage reported up to there is of a longer context. */
  summaryAt: number;
  /** The messages after the summarized ones. */
  messages: readonly Message[];
}

/** Tokens that roles and separators of a message or block take. */
const frame = 4;

export function overheadTokens({ system, tools }: Overhead): number {
  return estimateTokens(system) + (tools.length > 0 ? estimateTokens(JSON.stringify(tools)) : 0);
}

export function messageTokens({ blocks }: ModelMessage): number {
  return blocks.reduce((sum, block) => sum + frame + estimateTokens(blockText(block)), frame);
}

function blockText(block: Block): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'tool_use':
      return `${block.name} ${typeof block.input === 'string' ? block.input : JSON.stringify(block.input)}`;
    case 'tool_result':
      return block.text;
  }
}

/**
 * Tokens that the next model call takes: what the provider reported for the newest answer that was given after the
 * summary, and the estimate of what came since; with no usage known, the estimate of everything. (spec: planner 8)
 */
export function contextTokens({ summary, summaryAt, messages }: Conversation, overhead: number): number {
  const newest = messages.findLastIndex(({ seq, usage }) => usage !== undefined && seq > summaryAt && sent(usage) > 0);
  const known = messages[newest]?.usage;
  const since = messages.slice(newest + 1).reduce((sum, message) => sum + messageTokens(message), 0);
  return known ? total(known) + since : overhead + estimateTokens(summary) + since;
}

/** A context is never empty: zero says that the provider did not tell. */
const sent = (usage: Usage): number => usage.input + usage.cache_read + usage.cache_write;
const total = (usage: Usage): number => sent(usage) + usage.output;

/**
 * How many of the messages (those after the summarized ones) are summarized: all before the newest human message, fewer
 * where that would part a call from its result. 0: nothing is. (spec: planner 8)
 */
export function cut(messages: readonly ModelMessage[]): number {
  let count = Math.max(0, messages.findLastIndex(isHuman));
  for (;;) {
    const later = new Set(messages.slice(count).flatMap(resultsOf));
    const parted = [...openCalls(messages.slice(0, count))].filter(([id]) => later.has(id)).map(([, index]) => index);
    if (parted.length === 0) return count;
    count = Math.min(...parted);
  }
}

function isHuman({ role, blocks }: ModelMessage): boolean {
  return role === 'user' && blocks.some((block) => block.type === 'text');
}

function resultsOf({ blocks }: ModelMessage): string[] {
  return blocks.flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : []));
}

/** The calls without a result, by id: where they were made. */
function openCalls(messages: readonly ModelMessage[]): Map<string, number> {
  const open = new Map<string, number>();
  for (const [index, { blocks }] of messages.entries()) {
    for (const block of blocks) {
      if (block.type === 'tool_use') open.set(block.tool_use_id, index);
      else if (block.type === 'tool_result') open.delete(block.tool_use_id);
    }
  }
  return open;
}

/**
 * A conversation as text to be summarized, one string for each message, a call and its results in one. The messages are
 * a model's view: repaired already, every call answered.
 */
export function transcriptTexts(view: readonly ModelMessage[]): string[] {
  const texts: string[] = [];
  let calling = false;
  for (const message of view) {
    const text = message.blocks.map((block) => line(message.role, block)).join('\n\n');
    if (calling) texts.push(`${texts.pop()}\n\n${text}`);
    else texts.push(text);
    calling = message.blocks.some((block) => block.type === 'tool_use');
  }
  return texts;
}

function line(role: ModelMessage['role'], block: Block): string {
  switch (block.type) {
    case 'text':
      return `${role === 'user' ? 'HUMAN' : 'PLANNER'}: ${block.text}`;
    case 'tool_use':
      return `PLANNER CALLS ${blockText(block)}`;
    case 'tool_result':
      return `${block.is_error ? 'ERROR' : 'RESULT'}: ${block.text}`;
  }
}

/** Puts texts together, in order, into parts of at most `limit` tokens each; a text that is longer itself is split. */
export function partsOf(texts: readonly string[], limit: number): string[] {
  const parts: string[] = [];
  let tokens = 0;
  for (const text of texts.flatMap((whole) => split(whole, limit))) {
    const more = estimateTokens(text) + 1;
    if (parts.length > 0 && tokens + more <= limit) {
      parts.push(`${parts.pop()}\n\n${text}`);
      tokens += more;
    } else {
      parts.push(text);
      tokens = more;
    }
  }
  return parts;
}

/** Halves a text, at a line's end where one is near, until each piece fits. */
function split(text: string, limit: number): string[] {
  if (text.length < 2 || estimateTokens(text) <= limit) return [text];
  const middle = Math.floor(text.length / 2);
  const lineEnd = text.lastIndexOf('\n', middle) + 1;
  const at = lineEnd > middle / 2 ? lineEnd : wholeCharacter(text, middle);
  if (at === 0 || at === text.length) return [text];
  return [...split(text.slice(0, at), limit), ...split(text.slice(at), limit)];
}

/** The index, or the next one where it lies within a surrogate pair. */
function wholeCharacter(text: string, index: number): number {
  const within = (text.codePointAt(index - 1) ?? 0) > 0xffff;
  return within ? index + 1 : index;
}

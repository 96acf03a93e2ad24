// A tool call in few words. Pure.

import type { ToolPart } from '../../../client/index.ts';

export interface CallState {
  tone: 'plain' | 'accent' | 'good' | 'bad';
  words: string;
}

export function callState(part: ToolPart, running: boolean): CallState {
  if (!part.result) return running ? { tone: 'accent', words: 'running …' } : { tone: 'plain', words: 'no result' };
  if (part.result.is_error) return { tone: 'bad', words: 'error' };
  const count = countOf(part.result.text);
  return { tone: 'good', words: count === undefined ? 'ok' : `ok · ${count}` };
}

/** How many rows a result has, where it is a list. */
function countOf(text: string): number | undefined {
  const value = parsed(text);
  if (Array.isArray(value)) return value.length;
  if (typeof value !== 'object' || value === null) return undefined;
  const lists = Object.values(value).filter(Array.isArray);
  return lists.length === 1 ? lists[0]?.length : undefined;
}

const shortLimit = 90;

/** `kind: ticket, limit: 100`; lists by their length; cut. */
export function shortInput(input: unknown): string {
  const text =
    typeof input === 'object' && input !== null
      ? Object.entries(input)
          .map(([name, value]) => `${name}: ${shortValue(value)}`)
          .join(', ')
      : shortValue(input);
  return text.length > shortLimit ? `${text.slice(0, shortLimit)}…` : text;
}

function shortValue(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return `${value.length} ${value.length === 1 ? 'entry' : 'entries'}`;
  return JSON.stringify(value) ?? '';
}

/** JSON with line breaks; other text as it is. */
export function pretty(value: unknown): string {
  const data = typeof value === 'string' ? parsed(value) : value;
  if (data === undefined) return String(value ?? '');
  return JSON.stringify(data, undefined, 2);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The changeset that a call proposed. */
export function proposedBy(part: ToolPart): { id: string; title: string } | undefined {
  if (part.tool !== 'propose_changeset' || !part.result || part.result.is_error) return undefined;
  const result = parsed(part.result.text);
  if (typeof result !== 'object' || result === null || !('changeset' in result)) return undefined;
  if (typeof result.changeset !== 'string') return undefined;
  const { input } = part;
  const title = typeof input === 'object' && input !== null && 'title' in input ? String(input.title) : 'Changeset';
  return { id: result.changeset, title };
}

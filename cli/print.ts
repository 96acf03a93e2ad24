// What the commands print: text made safe for a terminal, colours, tables, ages.

import { DomainError } from '../domain/errors.ts';
import { errorCode } from '../client/index.ts';

export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
}

export function styles(colour: boolean): Style {
  const paint = (begin: number, end: number) => (text: string) =>
    colour && text !== '' ? `\u001b[${begin}m${text}\u001b[${end}m` : text;
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    cyan: paint(36, 39),
  };
}

/** Colours only on a terminal, and not where NO_COLOR is set (to anything but '') or TERM is dumb. */
export function wantsColour(output: { isTTY?: boolean }, env: Readonly<Record<string, string | undefined>>): boolean {
  return output.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
}

// Escape sequences as a whole (CSI, OSC and other strings, two-character ones), as far as they lie in one piece.
const sequences = new RegExp(
  [
    '(?:\\u001b\\[|\\u009b)[0-?]*[ -/]*[@-~]',
    '(?:\\u001b[\\]PX^_]|[\\u0090\\u0098\\u009d-\\u009f])[^\\u0007\\u001b\\u009c]*(?:\\u0007|\\u001b\\\\|\\u009c)',
    '\\u001b[ -/]*[0-Z\\\\^-~]',
  ].join('|'),
  'g',
);
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * Text of a model, a tool or another user, fit for a terminal: no escape sequences, no control characters but line feed
 * and tab, no marks that reorder what is shown. A sequence that is split over two pieces loses its controls in each.
 */
export function clean(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(sequences, '').replace(controls, '');
}

/** On one line, at most `limit` characters. */
export function cleanLine(text: string, limit: number): string {
  const line = clean(text).replace(/\s+/g, ' ').trim();
  const characters = Array.from(line);
  return characters.length <= limit ? line : `${characters.slice(0, limit - 1).join('')}…`;
}

/** Each line begun with `prefix`. */
export function indent(text: string, prefix: string): string {
  return text
    .split('\n')
    .map((line) => (line === '' ? line : prefix + line))
    .join('\n');
}

/** Columns two spaces apart; the last one is not padded. Cells must be clean and without colours. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => Array.from(row[column] ?? '').length)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - Array.from(cell).length)))
      .join('  ')
      .trimEnd();
  return [head, ...rows].map(line).join('\n');
}

/** How long ago, to one unit: `12s`, `5m`, `3h`, `2d`. */
export function age(since: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(since)) / 1_000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90d`, `12h`, `30m`, `45s` in milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text.trim()) ?? [];
  return count && unit && Number(count) > 0 ? Number(count) * (units[unit] ?? 0) : undefined;
}

/** `1 operation`, `2 operations`, `2 dependencies`. */
export function plural(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : noun.replace(/([^aeiou])y$/, '$1ie') + 's'}`;
}

/** An error as the person at the terminal reads it: one text, no stack. */
export function problemText(error: unknown): string {
  if (error instanceof DomainError || error instanceof UsageError || errorCode(error) !== undefined) {
    return clean((error as Error).message);
  }
  const code = (error as { code?: unknown } | undefined)?.code;
  if (code === 'ECONNREFUSED' || code === 'ECONNRESET') return 'The database cannot be reached.';
  return error instanceof Error ? clean(error.message) : 'Something failed.';
}

/** Said where a person may see no project. */
export const howToGetRole =
  'Ask for a role in one: "planner token create --subject S --role engineer --project P" gives it.';

/** The command was called in a way that it can't be; the process exits with 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

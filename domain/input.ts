// Input from outside: texts with limits in code points, and violations told in words, all of them together.

import { z } from 'zod';
import { DomainError, invalid } from './errors.ts';
import { characters, firstCharacters, isBlank, storable } from './text.ts';

/** A text of `min` (default 0) to `max` characters (code points). `min` above 0 also refuses blank text. */
export function text(max: number, min = 0) {
  return z
    .string()
    .overwrite(storable)
    .check((context) => {
      const count = characters(context.value);
      if (count > max) problem(context, `has ${count} characters; at most ${max} are allowed`);
      else if (min > 0 && isBlank(context.value)) problem(context, 'is blank');
    })
    .meta({ ...(min > 0 ? { minLength: min } : {}), maxLength: max });
}

/** A text of a given form; `form` says it in words. */
export function formed(pattern: RegExp, form: string) {
  return z
    .string()
    .check((context) => {
      if (!pattern.test(context.value)) problem(context, `must be ${form}, not ${quoted(context.value)}`);
    })
    .meta({ pattern: pattern.source });
}

export const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
export const isUuid = (text: string): boolean => uuidPattern.test(text);

export interface CheckContext {
  value: unknown;
  issues: unknown[];
}

/** What `after` of any list must be; `formed` and `badCursor` say it alike. */
export const cursorForm = 'the `next` of the page before';

export const badCursor = (after: string): DomainError =>
  invalid(`after must be ${cursorForm}, not ${quoted(after)}`);

/** Adds a violation at a path below the checked value. Later checks still run. */
export function problem(context: CheckContext, message: string, path: (string | number)[] = []): void {
  context.issues.push({ code: 'custom', message, path, input: context.value, continue: true });
}

/** The parsed input; every violation together as one invalid_argument. */
export function parse<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input, { reportInput: true });
  if (result.success) return result.data;
  throw violations(inOrder(result.error.issues).map(tell));
}

/** By operation, what concerns no operation first. */
function inOrder(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue[] {
  const position = ({ path }: z.core.$ZodIssue): number =>
    path[0] === 'operations' && typeof path[1] === 'number' ? path[1] : -1;
  return [...issues].sort((a, b) => position(a) - position(b));
}

/** One error for several violations, one a line. At most 50 are told. */
export function violations(lines: readonly string[]): DomainError {
  const told = [...new Set(lines)];
  const shown = told.slice(0, 50);
  if (told.length > shown.length) shown.push(`and ${told.length - shown.length} more`);
  const message = shown.length === 1 ? shown[0]! : `${told.length} problems:\n${shown.join('\n')}`;
  return invalid(message);
}

/** A violation in words: the field's path, what is wrong. */
export function tell(issue: z.core.$ZodIssue): string {
  const [list, index, ...inner] = issue.path;
  // The operations that are applied are named by their indices: a list of numbers.
  if (list === 'operations' && typeof index === 'number' && inner.length === 0 && wantsNumber(issue)) {
    return `operations[${index}] must be the index of an operation, counted from 0; not ${quoted(issue.input)}`;
  }
  const { where, path } = place(issue.path);
  const field = path === '' ? '' : `${path} `;
  return where + (field + complaint(issue, path)).trim();
}

const wantsNumber = (issue: z.core.$ZodIssue): boolean =>
  issue.code === 'invalid_type' && (issue.expected === 'int' || issue.expected === 'number');

// `operations.2.create.title` reads "operation 3: create.title": people count from 1 (spec: planner 2).
function place(path: readonly PropertyKey[]): { where: string; path: string } {
  if (path[0] === 'operations' && typeof path[1] === 'number') {
    return { where: `operation ${path[1] + 1}: `, path: dotted(path.slice(2)) };
  }
  return { where: '', path: dotted(path) };
}

function dotted(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '');
}

function complaint(issue: z.core.$ZodIssue, path: string): string {
  switch (issue.code) {
    case 'unrecognized_keys':
      return `${path === '' ? '' : 'has '}${unknownFields(issue.keys)}`;
    case 'invalid_type':
      return issue.input === undefined
        ? 'is required'
        : `must be ${article(issue.expected)}, not ${typeName(issue.input)}`;
    case 'invalid_value':
      return issue.input === undefined
        ? 'is required'
        : `must be one of ${issue.values.join(', ')}; not ${quoted(issue.input)}`;
    case 'too_big':
      return issue.origin === 'array'
        ? `has more than ${issue.maximum} entries`
        : `must be at most ${issue.maximum}, not ${quoted(issue.input)}`;
    case 'too_small':
      return issue.origin === 'array'
        ? `needs at least ${issue.minimum} ${issue.minimum === 1 ? 'entry' : 'entries'}`
        : `must be at least ${issue.minimum}, not ${quoted(issue.input)}`;
    default:
      return issue.message;
  }
}

function unknownFields(keys: readonly string[]): string {
  const names = keys.slice(0, 10).map((key) => quoted(key));
  return `${keys.length === 1 ? 'unknown field' : 'unknown fields'} ${names.join(', ')}`;
}

/** The noun with its indefinite article. */
export function article(noun: string): string {
  if (noun === 'int') return 'a whole number';
  return /^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`;
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'number' && !Number.isInteger(value)) return String(value);
  return article(Array.isArray(value) ? 'array' : typeof value);
}

function written(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    // Nested so deeply that writing it ends the stack.
    return typeName(value);
  }
}

/** A value as an error message may repeat it: short, in quotes. */
export function quoted(value: unknown): string {
  const whole = typeof value === 'string' ? storable(value) : written(value);
  const short = firstCharacters(whole, 60);
  return typeof value === 'string' ? JSON.stringify(short === whole ? short : `${short}...`) : short;
}

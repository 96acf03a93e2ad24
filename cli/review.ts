// A changeset as a person reviews it, and what the person answers. Pure.

import type { Changeset, Item, Operation } from '../client/index.ts';
import { clean, cleanLine, indent, plural, type Style } from './print.ts';

/** Items that operations speak of, by key, as they are now. */
export type Items = ReadonlyMap<string, Pick<Item, 'title' | 'kind'> & Partial<Item>>;

export type Selection =
  | { kind: 'apply'; operations: number[] }
  | { kind: 'reject' }
  | { kind: 'skip' }
  | { kind: 'unclear'; message: string };

/**
 * What was answered: `a` or `all`, numbers from 1 such as `1,3-5`, `r`eject, `s`kip (also an empty line). Operations in
 * the selection are indices from 0, ascending, without duplicates.
 */
export function parseSelection(text: string, count: number): Selection {
  const answer = text.trim().toLowerCase();
  if (answer === '' || answer === 's' || answer === 'skip') return { kind: 'skip' };
  if (answer === 'r' || answer === 'reject') return { kind: 'reject' };
  if (answer === 'a' || answer === 'all') return { kind: 'apply', operations: range(1, count) };
  const chosen = new Set<number>();
  for (const each of answer.split(/[\s,]+/).filter((piece) => piece !== '')) {
    const [, from, to] = /^(\d{1,3})(?:-(\d{1,3}))?$/.exec(each) ?? [];
    const [first, last] = [Number(from), Number(to ?? from)];
    if (from === undefined) return unclear(`"${cleanLine(each, 20)}" is not understood.`);
    if (first < 1 || last > count || first > last) return unclear(`${each} is not within 1-${count}.`);
    for (const index of range(first, last)) chosen.add(index);
  }
  if (chosen.size === 0) return unclear('No operation is named.');
  return { kind: 'apply', operations: [...chosen].sort((a, b) => a - b) };
}

/** The chosen operations and every create whose `$ref` they use, however deep; indices from 0, ascending. */
export function withReferences(operations: readonly Operation[], chosen: readonly number[]): number[] {
  const creates = new Map<string, number>();
  operations.forEach((operation, index) => {
    if ('create' in operation) creates.set(operation.ref, index);
  });
  const all = new Set<number>();
  const add = (index: number): void => {
    const operation = operations[index];
    if (!operation || all.has(index)) return;
    all.add(index);
    for (const name of references(operation)) {
      const source = name.startsWith('$') ? creates.get(name.slice(1)) : undefined;
      if (source !== undefined) add(source);
    }
  };
  chosen.forEach(add);
  return [...all].sort((a, b) => a - b);
}

/** Keys of existing items that the changeset names. */
export function namedKeys(changeset: Pick<Changeset, 'operations'>): string[] {
  const keys = changeset.operations.flatMap((operation) => [
    ...references(operation),
    ...('update' in operation ? [operation.update.item] : []),
  ]);
  return [...new Set(keys)].filter((name) => name !== '' && !name.startsWith('$'));
}

/** The whole changeset: title, summary, every operation with its number from 1. Ends with a line feed. */
export function renderChangeset(changeset: Changeset, items: Items, style: Style): string {
  const { operations } = changeset;
  const head = `${style.bold(cleanLine(changeset.title, 300))} ${style.dim(
    `changeset ${changeset.id}, ${changeset.status}, ${plural(operations.length, 'operation')}`,
  )}`;
  const summary = changeset.summary.trim() === '' ? [] : [indent(clean(changeset.summary).trim(), '  ')];
  const titles = titlesOf(operations, items);
  const width = String(operations.length).length;
  const lines = operations.map((operation, index) => {
    const number = String(index + 1).padStart(width);
    const stale = changeset.stale?.includes(index) ? style.yellow(' (stale: changed since it was proposed)') : '';
    const [first, ...fields] = renderOperation(operation, titles, items, style);
    return indent([`${number}. ${first}${stale}`, ...fields].join('\n'), '  ');
  });
  return [head, ...summary, ...lines, ''].join('\n');
}

/** What an applied changeset did, one line an approved operation. Ends with a line feed. */
export function renderResults(changeset: Changeset, items: Items, style: Style): string {
  const titles = titlesOf(changeset.operations, items);
  const lines = (changeset.approved ?? []).map((index) => {
    const operation = changeset.operations[index];
    const result = changeset.results?.[index];
    if (!operation) return '';
    if ('create' in operation) {
      const { kind, title } = operation.create;
      return `created ${style.green(result?.key ?? '')} ${kind} "${cleanLine(title, 100)}"`;
    }
    if ('update' in operation) return `updated ${style.green(result?.key ?? operation.update.item)}`;
    return `added ${renderEdge(operation.dependency, (name) => resultName(name, changeset) ?? titles(name))}`;
  });
  const head = style.bold(`Applied: ${plural(lines.length, 'operation')}.`);
  return [head, ...lines.map((line) => `  ${line}`), ''].join('\n');
}

/** The operation's line, then its fields' lines. */
function renderOperation(operation: Operation, titles: Titles, items: Items, style: Style): string[] {
  if ('dependency' in operation) return [`link ${renderEdge(operation.dependency, titles)}`];
  if ('create' in operation) {
    const { kind, title, ...fields } = operation.create;
    const name = style.dim(`$${clean(operation.ref)}`);
    const head = `create ${style.cyan(kind)} "${style.bold(cleanLine(title, 300))}" ${name}`;
    return [head, ...rendered(fields, undefined, titles, style)];
  }
  const { item: key, ...fields } = operation.update;
  const head = `update ${style.cyan(cleanLine(key, 40))} ${titleIn(items, key)}`.trimEnd();
  return [head, ...rendered(fields, items.get(key), titles, style)];
}

type Fields = Record<string, unknown>;
type Titles = (name: string) => string;

/** One line a field; `before -> after` where the item is known as it is now. */
function rendered(fields: Fields, now: Partial<Item> | undefined, titles: Titles, style: Style): string[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const label = style.dim(`${name.replaceAll('_', ' ')}:`);
    if (name === 'acceptance_criteria' && Array.isArray(value)) {
      return [`    ${label}`, ...criteria(value.map(String), now?.acceptance_criteria, style)];
    }
    const after = shown(name, value, titles);
    if (!now) return [`    ${label} ${after}`];
    const before = shown(name, now[name as keyof Item], titles);
    return [`    ${label} ${style.red(before)} -> ${style.green(after)}`];
  });
}

/** Unchanged ones after a dash; new ones after a plus, dropped ones after a cross. */
function criteria(after: readonly string[], before: readonly string[] | undefined, style: Style): string[] {
  const kept = after.map((each) => {
    const text = cleanLine(each, 200);
    return before && !before.includes(each) ? style.green(`+ ${text}`) : `- ${text}`;
  });
  const gone = (before ?? []).filter((each) => !after.includes(each));
  return [...kept, ...gone.map((each) => style.red(`✗ ${cleanLine(each, 200)}`))].map((line) => `      ${line}`);
}

function shown(name: string, value: unknown, titles: Titles): string {
  if (value === undefined || value === '') return '(none)';
  if ((name === 'epic' || name === 'milestone') && typeof value === 'string') return titles(value);
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value)
      .map(([key, each]) => `${key} ${cleanLine(String(each), 40)}`)
      .join(', ');
  }
  const text = cleanLine(String(value), 240);
  return name === 'title' ? `"${text}"` : text;
}

function renderEdge(edge: { from: string; to: string; type: string }, titles: Titles): string {
  return `${titles(edge.from)} ${edge.type === 'blocks' ? 'blocks' : 'relates to'} ${titles(edge.to)}`;
}

/** How a reference reads: the key with its title, or the title of the create that a `$ref` names. */
function titlesOf(operations: readonly Operation[], items: Items): Titles {
  const creates = new Map<string, string>();
  for (const operation of operations) {
    if ('create' in operation) creates.set(operation.ref, operation.create.title);
  }
  return (name) => {
    if (!name.startsWith('$')) return `${cleanLine(name, 40)} ${titleIn(items, name)}`.trimEnd();
    const title = creates.get(name.slice(1));
    return title === undefined ? cleanLine(name, 70) : `"${cleanLine(title, 100)}"`;
  };
}

function titleIn(items: Items, key: string): string {
  const item = items.get(key);
  return item ? `"${cleanLine(item.title, 100)}"` : '';
}

/** The key that a `$ref` has got. */
function resultName(name: string, changeset: Changeset): string | undefined {
  if (!name.startsWith('$')) return undefined;
  const index = changeset.operations.findIndex((each) => 'create' in each && each.ref === name.slice(1));
  return changeset.results?.[index]?.key;
}

function references(operation: Operation): string[] {
  if ('dependency' in operation) return [operation.dependency.from, operation.dependency.to];
  const { epic, milestone } = 'create' in operation ? operation.create : operation.update;
  return [epic, milestone].filter((name) => name !== undefined && name !== '') as string[];
}

function range(first: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first - 1 + index);
}

function unclear(message: string): Selection {
  return { kind: 'unclear', message: `${message} Answer a (all), numbers such as 1,3-5, r (reject) or s (skip).` };
}

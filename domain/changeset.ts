// Changesets: what a proposal may say, and what must hold before it is stored or applied (spec: planner 2).

import { z } from 'zod';
import type { Actor } from './actor.ts';
import { Graph, dependencyTypes, type Edge } from './dependency.ts';
import { article, formed, problem, quoted, type CheckContext } from './input.ts';
import {
  always,
  changesNothing,
  itemPatchFields,
  itemKey,
  kindViolations,
  markdown,
  newItemSchema,
  nothingToChange,
  title,
  type ItemKind,
  type ItemPatch,
} from './item.ts';

export const changesetStatuses = ['proposed', 'applied', 'rejected'] as const;
export type ChangesetStatus = (typeof changesetStatuses)[number];

const refPattern = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const referencePattern = /^(\$[a-z0-9][a-z0-9_-]{0,63}|[A-Z][A-Z0-9]{1,9}-[1-9][0-9]{0,8})$/;
const ref = formed(refPattern, 'a name of 1-64 characters of a-z, 0-9, _ and -, without $');
const reference = formed(referencePattern, 'an item key such as WEB-12 or the $ref of an earlier create_item');

const updatedItem = z
  .string()
  .check((context) => {
    if (context.value.startsWith('$')) {
      problem(context, 'must be an existing key, never a $ref: put these fields into the create_item itself');
    } else if (!itemKey.safeParse(context.value).success) {
      problem(context, `must be an item key such as WEB-12, not ${quoted(context.value)}`);
    }
  })
  .meta({ description: 'An existing key, never a $ref.' });

const update = z.strictObject({ item: updatedItem, ...itemPatchFields(reference) }).check((context) => {
  if (changesNothing(context.value)) problem(context, nothingToChange);
});

const operation = z.discriminatedUnion(
  'kind',
  [
    z.strictObject({
      kind: z.literal('create_item'),
      ref: ref.meta({ description: 'Unique in the changeset; later operations name the item as $ref.' }),
      create: newItemSchema(reference),
    }),
    z.strictObject({ kind: z.literal('update_item'), update }),
    z.strictObject({
      kind: z.literal('add_dependency'),
      dependency: z.strictObject({ from: reference, to: reference, type: z.enum(dependencyTypes) }),
    }),
  ],
  { error: 'must be one of create_item, update_item, add_dependency' },
);
export type Operation = z.output<typeof operation>;

function changesetSchema(policy: boolean) {
  return z
    .strictObject({
      title,
      summary: markdown.default('').meta({ description: 'Markdown: what the changeset does and why.' }),
      operations: z.array(operation).min(1).max(200),
    })
    .check(always((context) => checkOperations(context, policy)));
}

/** What a human may propose. Every static violation is reported, with its operation's 1-based number. */
export const humanChangeset = changesetSchema(true);
/** What the planner and other services may propose: as a human's, but no `policy`. */
export const plannerChangeset = changesetSchema(false);
export type ChangesetInput = z.output<typeof humanChangeset>;

/** `key` of what was created or updated, `dependency` (id) of what was added; neither: not approved. */
export interface OperationResult {
  key?: string;
  dependency?: string;
}

/** operations and approved: how many. */
export interface ChangesetSummary {
  id: string;
  title: string;
  status: ChangesetStatus;
  operations: number;
  approved: number;
  proposed_by: Actor;
  created_at: string;
}

/** approved and stale: 0-based indices. stale: their item has changed since the proposal; absent once decided. */
export interface Changeset {
  id: string;
  project: string;
  title: string;
  summary: string;
  operations: Operation[];
  status: ChangesetStatus;
  proposed_by: Actor;
  created_at: string;
  decided_by?: Actor;
  decided_at?: string;
  approved?: number[];
  /** One an operation. */
  results?: OperationResult[];
  version: number;
  stale?: number[];
}

/** A violation of the operation with that 1-based number. */
export interface OperationViolation {
  operation: number;
  message: string;
}

export const tellOperation = (violation: OperationViolation): string =>
  `operation ${violation.operation}: ${violation.message}`;

/** How an operation names another item. */
interface Reference {
  field: 'epic' | 'milestone' | 'from' | 'to';
  name: string;
  /** The kind that it must be of; absent: any. */
  kind?: ItemKind;
}

// An operation before it is known to be well formed.
interface Loose {
  kind?: unknown;
  ref?: unknown;
  create?: { kind?: unknown; epic?: unknown; milestone?: unknown; policy?: unknown } | null;
  update?: { item?: unknown; epic?: unknown; milestone?: unknown; policy?: unknown } | null;
  dependency?: { from?: unknown; to?: unknown } | null;
}

const payloadName = (operation: Loose): 'create' | 'update' | 'dependency' | undefined =>
  operation.kind === 'create_item'
    ? 'create'
    : operation.kind === 'update_item'
      ? 'update'
      : operation.kind === 'add_dependency'
        ? 'dependency'
        : undefined;

function referencesOf(operation: Loose): Reference[] {
  const links = operation.kind === 'create_item' ? operation.create : operation.update;
  const ends = operation.kind === 'add_dependency' ? operation.dependency : undefined;
  const named: { field: Reference['field']; name: unknown; kind?: ItemKind }[] = ends
    ? [{ field: 'from', name: ends.from }, { field: 'to', name: ends.to }]
    : [
        { field: 'epic', name: links?.epic, kind: 'epic' },
        { field: 'milestone', name: links?.milestone, kind: 'milestone' },
      ];
  return named.filter((each): each is Reference => typeof each.name === 'string' && each.name !== '');
}

function checkOperations(context: CheckContext, policy: boolean): void {
  const operations = (context.value as { operations?: unknown } | null)?.operations;
  if (!Array.isArray(operations)) return;
  const loose = operations.map((each): Loose => (typeof each === 'object' && each !== null ? (each as Loose) : {}));
  const creators = checkRefs(context, loose);
  const updaters = new Map<string, number>();
  loose.forEach((each, index) => {
    const payload = payloadName(each);
    if (!payload) return;
    for (const use of referencesOf(each)) checkReference(context, loose, creators, index, payload, use);
    const item = each.kind === 'update_item' ? each.update?.item : undefined;
    if (typeof item === 'string') {
      const earlier = updaters.get(item);
      if (earlier === undefined) updaters.set(item, index);
      else problem(context, `operation ${earlier + 1} updates ${quoted(item)} already: merge the two`, at(index));
    }
    const ends = payload === 'dependency' ? each.dependency : undefined;
    if (ends && typeof ends.from === 'string' && ends.from === ends.to) {
      problem(context, `${quoted(ends.from)} can't depend on itself`, at(index));
    }
    const fields = payload === 'create' ? each.create : payload === 'update' ? each.update : undefined;
    if (!policy && fields?.policy !== undefined) {
      problem(context, 'is for humans only: leave it out', at(index, payload, 'policy'));
    }
  });
}

const at = (index: number, ...path: string[]): (string | number)[] => ['operations', index, ...path];

/** The index of the operation that creates each ref. */
function checkRefs(context: CheckContext, operations: readonly Loose[]): Map<string, number> {
  const creators = new Map<string, number>();
  operations.forEach((each, index) => {
    if (each.kind !== 'create_item' || typeof each.ref !== 'string') return;
    const earlier = creators.get(each.ref);
    if (earlier === undefined) creators.set(each.ref, index);
    else problem(context, `${quoted(each.ref)} is the ref of operation ${earlier + 1} already`, at(index, 'ref'));
  });
  return creators;
}

function checkReference(
  context: CheckContext,
  operations: readonly Loose[],
  creators: ReadonlyMap<string, number>,
  index: number,
  payload: string,
  { field, name, kind }: Reference,
): void {
  if (!name.startsWith('$') || !referencePattern.test(name)) return;
  const path = at(index, payload, field);
  const creator = creators.get(name.slice(1));
  if (creator === undefined) {
    const known = [...creators.keys()].slice(0, 10).map((each) => `$${each}`).join(', ');
    problem(context, `names ${name}, which no operation creates${known ? ` (refs: ${known})` : ''}`, path);
  } else if (creator === index) {
    problem(context, `names ${name}, which is this operation's own item`, path);
  } else if (creator > index) {
    const order = `move operation ${creator + 1} before operation ${index + 1}`;
    problem(context, `names ${name}, which operation ${creator + 1} creates later: ${order}`, path);
  } else {
    const actual = operations[creator]?.create?.kind;
    if (kind && typeof actual === 'string' && actual !== kind) {
      problem(context, `names ${name}, which is ${article(actual)}, not ${article(kind)}`, path);
    }
  }
}

/**
 * Whether these indices may be approved together: a non-empty set, in range, without duplicates, closed under `$ref`.
 * All violations, in words.
 */
export function approvalViolations(operations: readonly Operation[], approved: readonly number[]): string[] {
  if (approved.length === 0) return ['Name at least one operation to apply; to apply none, reject the changeset.'];
  const lines: string[] = [];
  const chosen = new Set<number>();
  for (const index of approved) {
    if (!Number.isInteger(index) || index < 0 || index >= operations.length) {
      lines.push(`There is no operation with the index ${index}: indices are 0 to ${operations.length - 1}.`);
    } else if (chosen.has(index)) {
      lines.push(`The index ${index} is named twice.`);
    }
    chosen.add(index);
  }
  const creators = new Map<string, number>();
  operations.forEach((each, index) => {
    if (each.kind === 'create_item') creators.set(`$${each.ref}`, index);
  });
  for (const index of [...chosen].sort((a, b) => a - b)) {
    const operation = operations[index];
    for (const { name } of operation ? referencesOf(operation) : []) {
      const creator = name.startsWith('$') ? creators.get(name) : undefined;
      if (creator === undefined || chosen.has(creator)) continue;
      lines.push(
        `operation ${index + 1} uses ${name}, which operation ${creator + 1} creates: ` +
          `approve operation ${creator + 1} (index ${creator}) as well`,
      );
    }
  }
  return [...new Set(lines)];
}

/** The part of a project's tracker that a changeset's operations are judged against. */
export interface World {
  /** The project's key. */
  project: string;
  /** The kinds of those referenced items that exist in the project, by key. */
  kinds: ReadonlyMap<string, ItemKind>;
  /** All edges of the project. */
  edges: readonly Edge[];
}

/** The existing keys that the operations name. */
export function namedKeys(operations: readonly Operation[]): string[] {
  const keys = operations.flatMap((operation) => [
    ...referencesOf(operation).map(({ name }) => name),
    ...(operation.kind === 'update_item' ? [operation.update.item] : []),
  ]);
  return [...new Set(keys.filter((name) => !name.startsWith('$')))];
}

/**
 * What would fail if the operations with these ascending indices took effect, in order: missing references, wrong
 * kinds, duplicate or cyclic edges. Static rules must hold already.
 */
export function effectViolations(
  operations: readonly Operation[],
  approved: readonly number[],
  world: World,
): OperationViolation[] {
  const kinds = new Map(world.kinds);
  const graph = new Graph(world.edges);
  const found: OperationViolation[] = [];
  for (const index of approved) {
    const operation = operations[index];
    if (!operation) continue;
    const messages = referenceViolations(operation, kinds, world.project);
    if (operation.kind === 'create_item') kinds.set(`$${operation.ref}`, operation.create.kind);
    if (operation.kind === 'update_item') {
      const kind = kinds.get(operation.update.item);
      if (!kind) messages.push(`update.item: ${missing(operation.update.item, world.project)}`);
      else messages.push(...fieldViolations(kind, operation.update));
    }
    if (operation.kind === 'add_dependency' && messages.length === 0) {
      const violation = graph.violation(operation.dependency);
      if (violation) messages.push(violation.message);
      else graph.add(operation.dependency);
    }
    found.push(...messages.map((message) => ({ operation: index + 1, message })));
  }
  return found;
}

function referenceViolations(operation: Operation, kinds: ReadonlyMap<string, ItemKind>, project: string): string[] {
  return referencesOf(operation).flatMap(({ field, name, kind }) => {
    const path = `${payloadName(operation)}.${field}`;
    const actual = kinds.get(name);
    if (!actual) return [`${path}: ${missing(name, project)}`];
    if (kind && actual !== kind) return [`${path}: ${name} is ${article(actual)}, not ${article(kind)}`];
    return [];
  });
}

const fieldViolations = (kind: ItemKind, patch: ItemPatch): string[] =>
  kindViolations(kind, patch).map(({ field, message }) => `update.${field} ${message}`);

const missing = (name: string, project: string): string => `there is no item ${name} in project ${project}`;

/** Apply's request: 0-based indices; accept_stale applies over items that have changed since the proposal. */
export const approval = z.strictObject({
  operations: z.array(z.int()).max(200),
  accept_stale: z.boolean().default(false),
});
export type Approval = z.input<typeof approval>;

export const statusField = z.enum(changesetStatuses);

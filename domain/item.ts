// Items of the tracker: their fields, rules and states (spec: planner 1).

import { z } from 'zod';
import type { SubjectKind } from './actor.ts';
import { article, formed, problem, quoted, text, type CheckContext } from './input.ts';
import { isBlank, isOneLine } from './text.ts';

export const itemKinds = ['milestone', 'epic', 'ticket'] as const;
export type ItemKind = (typeof itemKinds)[number];

export const itemStates = [
  'backlog',
  'ready',
  'in_progress',
  'waiting_for_answer',
  'paused',
  'open',
  'done',
  'cancelled',
] as const;
export type ItemState = (typeof itemStates)[number];

export const ticketTypes = ['feature', 'bug', 'tech_debt', 'docs', 'spike'] as const;
export type TicketType = (typeof ticketTypes)[number];

export interface Policy {
  review_mode: 'agent' | 'agent+human';
  merge_mode: 'auto' | 'manual';
}

export const defaultPolicy: Policy = { review_mode: 'agent', merge_mode: 'auto' };

/** Empty fields are absent. `epic` and `milestone` are keys. */
export interface ItemSummary {
  key: string;
  kind: ItemKind;
  title: string;
  state: ItemState;
  type?: TicketType;
  epic?: string;
  milestone?: string;
}

/** One edge as the item at its other end sees it; `id` is the edge's. */
export interface ItemDependency {
  id: string;
  type: 'blocks' | 'blocked_by' | 'relates';
  key: string;
  kind: ItemKind;
  title: string;
  state: ItemState;
}

export interface ItemDependencies {
  blocks: ItemDependency[];
  blocked_by: ItemDependency[];
  relates: ItemDependency[];
}

/** acceptance_criteria and policy: tickets only. Times: ISO 8601, UTC. */
export interface Item extends ItemSummary {
  description: string;
  acceptance_criteria?: string[];
  policy?: Policy;
  version: number;
  created_at: string;
  updated_at: string;
  dependencies: ItemDependencies;
}

export const initialState = (kind: ItemKind): ItemState => (kind === 'ticket' ? 'backlog' : 'open');

/** Resolved blockers hold nothing back. */
export const isResolved = (state: ItemState): boolean => state === 'done' || state === 'cancelled';

export const keyPattern = /^[A-Z][A-Z0-9]{1,9}-[1-9][0-9]{0,8}$/;

/** The number in a key of that project; undefined for any other text. */
export function numberInKey(projectKey: string, key: string): number | undefined {
  if (!keyPattern.test(key) || !key.startsWith(`${projectKey}-`)) return undefined;
  return Number(key.slice(projectKey.length + 1));
}

export const projectOfKey = (key: string): string | undefined =>
  keyPattern.test(key) ? key.slice(0, key.lastIndexOf('-')) : undefined;

export const itemKey = formed(keyPattern, 'an item key such as WEB-12');
export const kindField = z.enum(itemKinds);
export const stateField = z.enum(itemStates);
/** The title of an item or a changeset: 1-300 characters on one line, not blank. */
export const title = text(300, 1).check((context) => {
  if (!isOneLine(context.value) && !isBlank(context.value)) problem(context, 'has a line break: a title is one line');
});
export const markdown = text(50_000);

const policyFields = z
  .strictObject({
    review_mode: z.enum(['agent', 'agent+human']).optional(),
    merge_mode: z.enum(['auto', 'manual']).optional(),
  })
  .meta({ description: 'Humans only.' });

/** The fields that create and update share, except links. Tickets only: type, acceptance_criteria, policy. */
const contentFields = {
  description: markdown.optional(),
  type: z.enum(ticketTypes).optional(),
  acceptance_criteria: z.array(text(2_000, 1)).max(50).optional(),
  policy: policyFields.optional(),
};

/** A new item, its links of the given form. Violations of the kind's rules are reported with all others. */
export function newItemSchema<Link extends z.ZodType<string>>(link: Link) {
  return z
    .strictObject({
      kind: kindField,
      title,
      ...contentFields,
      epic: link.optional().meta({ description: 'An epic; tickets only.' }),
      milestone: link.optional().meta({ description: 'A milestone; tickets and epics.' }),
    })
    .check(always(checkNewItem));
}

/** The fields of an update; `""` unlinks an epic or a milestone. */
export function itemPatchFields<Link extends z.ZodType<string>>(link: Link) {
  const unlinking = z.union([z.literal(''), link]);
  return { title: title.optional(), ...contentFields, epic: unlinking.optional(), milestone: unlinking.optional() };
}

export interface NewItem {
  kind: ItemKind;
  title: string;
  description?: string | undefined;
  type?: TicketType | undefined;
  acceptance_criteria?: string[] | undefined;
  policy?: Partial<Policy> | undefined;
  epic?: string | undefined;
  milestone?: string | undefined;
}

export type ItemPatch = Partial<Omit<NewItem, 'kind'>>;

const patchFields = ['title', 'description', 'type', 'acceptance_criteria', 'policy', 'epic', 'milestone'] as const;

export const nothingToChange = `names nothing to change: send one of ${patchFields.join(', ')}`;

/** True when an update names no field to change. */
export const changesNothing = (patch: ItemPatch): boolean => patchFields.every((field) => patch[field] === undefined);

/** What a kind may not carry: one sentence a field (spec: planner 1). */
export function kindViolations(kind: ItemKind, fields: ItemPatch): { field: keyof ItemPatch; message: string }[] {
  const refused: (keyof ItemPatch)[] = [];
  if (kind !== 'ticket') refused.push('type', 'acceptance_criteria', 'policy', 'epic');
  if (kind === 'milestone') refused.push('milestone');
  return refused
    .filter((field) => fields[field] !== undefined)
    .map((field) => ({
      field,
      message:
        `belongs to ${field === 'milestone' ? 'tickets and epics' : 'tickets'} only: ` +
        `leave it out for ${article(kind)}`,
    }));
}

function checkNewItem(context: CheckContext): void {
  const fields = context.value as Partial<NewItem> | null;
  if (typeof fields !== 'object' || fields === null || !itemKinds.includes(fields.kind as ItemKind)) return;
  for (const { field, message } of kindViolations(fields.kind as ItemKind, fields)) problem(context, message, [field]);
}

/** A check that runs also when the value's shape is wrong already, so that all violations are reported together. */
export function always(check: (context: CheckContext) => void) {
  const made = z.core._check<unknown>((payload) => check(payload));
  made._zod.def.when = () => true;
  return made;
}

/** A check that a patch names at least one of these fields. */
export function changesOneOf(fields: readonly string[]) {
  return always((context) => {
    const patch = context.value as Record<string, unknown> | null;
    if (typeof patch !== 'object' || patch === null || fields.some((field) => patch[field] !== undefined)) return;
    problem(context, `names nothing to change: send one of ${fields.join(', ')}`);
  });
}

export const newItem = newItemSchema(itemKey);

/** An update of an item of that kind. `version`: the one that the writer has seen; another one is a conflict. */
export function itemPatchFor(kind: ItemKind) {
  return z.strictObject({ version: z.int().min(1), ...itemPatchFields(itemKey) }).check(
    always((context) => {
      const patch = context.value as ItemPatch | null;
      if (typeof patch !== 'object' || patch === null) return;
      if (changesNothing(patch)) problem(context, nothingToChange);
      for (const { field, message } of kindViolations(kind, patch)) problem(context, message, [field]);
    }),
  );
}

export const itemMove = z.strictObject({ state: stateField, version: z.int().min(1).optional() });

const ticketMoves: Partial<Record<ItemState, readonly ItemState[]>> = {
  backlog: ['ready', 'cancelled', 'done'],
  ready: ['backlog', 'paused', 'cancelled', 'done'],
  in_progress: ['paused', 'cancelled'],
  waiting_for_answer: ['paused', 'cancelled'],
  paused: ['ready', 'backlog', 'cancelled', 'done'],
  done: ['backlog'],
  cancelled: ['backlog'],
};
const groupMoves: Partial<Record<ItemState, readonly ItemState[]>> = {
  open: ['done', 'cancelled'],
  done: ['open'],
  cancelled: ['open'],
};
// The orchestrator of execution, outside this product, is a service.
const serviceMoves: Partial<Record<ItemState, readonly ItemState[]>> = {
  ready: ['in_progress'],
  in_progress: ['waiting_for_answer', 'done', 'ready'],
  waiting_for_answer: ['in_progress'],
};

/** The states that an item may enter from `state`, by who moves it (spec: planner 1). */
export function movesFrom(by: SubjectKind, kind: ItemKind, state: ItemState): readonly ItemState[] {
  if (by === 'service') return kind === 'ticket' ? (serviceMoves[state] ?? []) : [];
  return (kind === 'ticket' ? ticketMoves : groupMoves)[state] ?? [];
}

/** Why the item may not enter `to`; undefined when it may. */
export function moveViolation(
  by: SubjectKind,
  item: { key: string; kind: ItemKind; state: ItemState },
  to: ItemState,
): string | undefined {
  const allowed = movesFrom(by, item.kind, item.state);
  if (allowed.includes(to)) return undefined;
  const instead = allowed.length > 0 ? `it may become ${allowed.join(', ')}` : `a ${by} may not move it`;
  return `${item.key} is ${item.state} and can't become ${quoted(to)}: ${instead}.`;
}

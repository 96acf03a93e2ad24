// An item's fields as people read and edit them: flat, each a text or a list of texts. Pure.

import type { Item, NewItem, Operation } from '../../../client/index.ts';
import * as drafts from '../drafts/draft.ts';
import type { Kind, Policy, TicketType } from './words.ts';

/** `''`: none. */
export interface Fields {
  title: string;
  description: string;
  type: TicketType;
  acceptance_criteria: string[];
  review_mode: Policy['review_mode'];
  merge_mode: Policy['merge_mode'];
  epic: string;
  milestone: string;
}

export type FieldName = keyof Fields;

const ofKind: Record<Kind, readonly FieldName[]> = {
  milestone: ['title', 'description'],
  epic: ['title', 'description', 'milestone'],
  ticket: ['title', 'type', 'description', 'acceptance_criteria', 'epic', 'milestone', 'review_mode', 'merge_mode'],
};

export const fieldsOfKind = (kind: Kind): readonly FieldName[] => ofKind[kind];

export const emptyFields: Fields = {
  title: '',
  description: '',
  type: 'feature',
  acceptance_criteria: [],
  review_mode: 'agent',
  merge_mode: 'auto',
  epic: '',
  milestone: '',
};

export function fieldsOf(item: Item): Fields {
  return {
    title: item.title,
    description: item.description,
    type: item.type ?? emptyFields.type,
    acceptance_criteria: item.acceptance_criteria ?? [],
    review_mode: item.policy?.review_mode ?? emptyFields.review_mode,
    merge_mode: item.policy?.merge_mode ?? emptyFields.merge_mode,
    epic: item.epic ?? '',
    milestone: item.milestone ?? '',
  };
}

/** The kind's fields in which the two differ. */
export const differing = (kind: Kind, a: Fields, b: Fields): FieldName[] =>
  drafts.differing(a, b, fieldsOfKind(kind));

type Patch = Omit<NewItem, 'kind' | 'title'> & { title?: string };

/** The named fields, as the API takes them. */
export function patchOf(fields: Fields, names: readonly FieldName[]): Patch {
  const policy: Partial<Policy> = {};
  const patch: Patch = {};
  for (const name of names) {
    if (name === 'review_mode') policy.review_mode = fields.review_mode;
    else if (name === 'merge_mode') policy.merge_mode = fields.merge_mode;
    else Object.assign(patch, { [name]: fields[name] });
  }
  return Object.keys(policy).length > 0 ? { ...patch, policy } : patch;
}

/** A new item, as the API takes it; what is empty is left out. */
export function newItemOf(kind: Kind, fields: Fields): NewItem {
  return { ...patchOf(fields, differing(kind, emptyFields, fields)), kind, title: fields.title };
}

type Payload =
  | Extract<Operation, { kind: 'create_item' }>['create']
  | Extract<Operation, { kind: 'update_item' }>['update'];

/** The fields that an operation sets, in the order in which they are shown. */
export function setBy(payload: Payload): Partial<Fields> {
  const { policy, ...rest } = payload;
  const given: Partial<Record<FieldName, unknown>> = { ...rest, ...policy };
  const names = fieldsOfKind('ticket').filter((name) => given[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, given[name]]));
}

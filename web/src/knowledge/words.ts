// Words for knowledge: kinds, fields. Pure.

import type { KnowledgeSummary, KnowledgeVersion } from '../../../client/index.ts';
import type { Draft } from '../drafts/draft.ts';

export type Kind = KnowledgeSummary['kind'];

export const kinds = ['document', 'decision', 'note', 'debt'] as const satisfies readonly Kind[];
export const kindWords: Record<Kind, string> = {
  document: 'Document',
  decision: 'Decision',
  note: 'Note',
  debt: 'Debt',
};

export const isKind = (text: string | null): text is Kind => kinds.some((kind) => kind === text);

/** As people edit them; `projects` and `items` are keys. */
export interface EntryFields {
  kind: Kind;
  title: string;
  body: string;
  projects: string[];
  items: string[];
}
export type EntryDraft = Draft<EntryFields>;

export const fieldWords: Record<keyof EntryFields, string> = {
  kind: 'Kind',
  title: 'Title',
  body: 'Text',
  projects: 'Projects',
  items: 'Items',
};

type Told = Pick<KnowledgeVersion, keyof EntryFields>;

export const fieldsOf = ({ kind, title, body, projects, items }: Told): EntryFields => ({
  kind,
  title,
  body,
  projects,
  items,
});

export const emptyEntry: EntryFields = { kind: 'note', title: '', body: '', projects: [], items: [] };

/** To compare by lines. */
export function textOf(fields: EntryFields, name: keyof EntryFields): string {
  if (name === 'kind') return kindWords[fields.kind];
  return name === 'projects' || name === 'items' ? fields[name].join(', ') : fields[name];
}

/** "WEB-1, web-2" as keys; blanks and commas part them, each counts once. */
export function keysIn(text: string): string[] {
  const keys = text.split(/[\s,;]+/).map((each) => each.toUpperCase());
  return [...new Set(keys.filter((each) => each !== ''))];
}

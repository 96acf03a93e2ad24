// An outline and what the tracker holds already -> one changeset's input (spec: planner 2).

import { firstCharacters } from '../../domain/text.ts';
import { maxLines, type Outline, type Task } from './outline.ts';
import { cleanTitle, itemKeys, likeness, sameTitle, words } from './text.ts';

export interface Known {
  key: string;
  kind: string;
  title: string;
  state?: string;
  epic?: string;
  milestone?: string;
}

/** A planned item: new, or one that the tracker has (`known`). */
export interface Planned {
  /** `$ref` or key. */
  reference: string;
  kind: 'milestone' | 'epic' | 'ticket';
  title: string;
  known: Known | undefined;
  parent: Planned | undefined;
  blockedBy: Planned[];
}

export type Operation =
  | { kind: 'create_item'; ref: string; create: Record<string, unknown> }
  | { kind: 'update_item'; update: Record<string, unknown> }
  | { kind: 'add_dependency'; dependency: { from: string; to: string; type: 'blocks' } };

export interface Proposal {
  input: { title: string; summary: string; operations: Operation[] };
  items: Planned[];
  /** What the reader should know: left out, cut, contradictory. */
  remarks: string[];
}

const maxOperations = 200;

export function proposalOf(outline: Outline, known: readonly Known[]): Proposal {
  const builder = new Builder(outline, known);
  return builder.build();
}

class Builder {
  readonly #outline: Outline;
  readonly #known = new Map<string, Known>();
  readonly #byTitle = new Map<string, Planned>();
  readonly #items: Planned[] = [];
  readonly #creates: Record<Planned['kind'], Operation[]> = { milestone: [], epic: [], ticket: [] };
  readonly #updates: Operation[] = [];
  readonly #tasks: { task: Task; item: Planned; siblings: readonly Task[] }[] = [];
  readonly #refs = new Set<string>();
  readonly #remarks: string[] = [];

  constructor(outline: Outline, known: readonly Known[]) {
    this.#outline = outline;
    for (const item of known) {
      const title = sameTitle(item.title);
      if (!this.#known.has(title) && item.state !== 'cancelled') this.#known.set(title, item);
      this.#known.set(item.key, item);
    }
  }

  build(): Proposal {
    let before: Planned | undefined;
    for (const section of this.#outline.sections) {
      const milestone = section.milestone === undefined ? undefined : this.#milestone(section.milestone);
      if (milestone && before && milestone !== before && this.#outline.phased) this.#block(before, milestone);
      before = milestone ?? before;
      const epic = section.epic === undefined ? undefined : this.#item('epic', section.epic, milestone, {});
      for (const task of section.tasks) this.#addTask(task, section.tasks, milestone, epic);
    }
    for (const { task, item, siblings } of this.#tasks) this.#order(task, item, siblings);
    if (this.#outline.ticked > 0) this.#remarks.push(`${this.#outline.ticked} ticked entries are left out.`);
    if (this.#outline.cut) this.#remarks.push(`Only the first ${maxLines} lines are read.`);
    return { input: this.#input(), items: this.#items, remarks: this.#remarks };
  }

  #milestone(title: string): Planned {
    const notes = this.#outline.notes.get(title) ?? [];
    const description = firstCharacters(notes.join('\n\n'), 10_000);
    return this.#item('milestone', title, undefined, description === '' ? {} : { description });
  }

  /** A bullet with parts of its own is a group, unless it is in a group already or its parts read like criteria. */
  #addTask(task: Task, siblings: readonly Task[], milestone: Planned | undefined, epic: Planned | undefined): void {
    const group = epic === undefined && task.children.length >= 2 && !task.children.every(readsLikeCriterion);
    this.#settleTitle(task);
    if (group) {
      const item = this.#item('epic', task.title, milestone, described(task));
      this.#tasks.push({ task, item, siblings });
      for (const child of task.children) this.#addTask(child, task.children, milestone, item);
      return;
    }
    const all = [...task.criteria, ...task.children.flatMap(criteriaOf)];
    const criteria = all.slice(0, 50).map((text) => firstCharacters(text, 2_000));
    const type = typeOf(task.title);
    const item = this.#item('ticket', task.title, epic ?? milestone, {
      ...described(task),
      ...(type === undefined ? {} : { type }),
      ...(criteria.length === 0 ? {} : { acceptance_criteria: criteria }),
    });
    this.#tasks.push({ task, item, siblings });
  }

  /** "... after 3 days" names no task: the clause is part of the title. */
  #settleTitle(task: Task): void {
    const named = [...task.after, ...task.before];
    if (named.length > 0 && !named.some((name) => this.#names(name, task))) {
      task.title = task.written;
      task.after = [];
      task.before = [];
    }
  }

  #names(reference: string, self: Task): boolean {
    if (itemKeys(reference).some((key) => this.#known.has(key))) return true;
    if (stepNumber(reference) !== undefined && self.ordered) return true;
    const all = this.#outline.sections.flatMap((section) => [
      ...[section.milestone, section.epic].filter((title) => title !== undefined),
      ...section.tasks.flatMap(withChildren).filter((task) => task !== self).map((task) => task.title),
    ]);
    return [reference, ...referencesIn(reference)].some((part) => all.some((title) => likeness(part, title) >= 0.5));
  }

  #item(kind: Planned['kind'], title: string, parent: Planned | undefined, fields: Record<string, unknown>): Planned {
    const known = this.#known.get(sameTitle(title));
    const same = this.#byTitle.get(known ? known.key : sameTitle(title));
    if (same) return same;
    const item = known ? this.#existing(known) : this.#add(sameTitle(title), {
      reference: `$${this.#ref(kind, title)}`, kind, title, known: undefined, parent: undefined, blockedBy: [],
    });
    const links = linksTo(item.kind, parent);
    const linked = Object.keys(links).length > 0;
    if (linked) item.parent = parent;
    if (!known) {
      const create = { kind, title, ...fields, ...links };
      this.#creates[kind].push({ kind: 'create_item', ref: item.reference.slice(1), create });
    } else if (linked && known.epic === undefined && known.milestone === undefined && known.state !== 'done') {
      this.#updates.push({ kind: 'update_item', update: { item: known.key, ...links } });
    }
    return item;
  }

  #existing(known: Known): Planned {
    const { key, title } = known;
    const kind = known.kind as Planned['kind'];
    const item = { reference: key, kind, title, known, parent: undefined, blockedBy: [] };
    return this.#byTitle.get(key) ?? this.#add(key, item);
  }

  #add(name: string, item: Planned): Planned {
    this.#byTitle.set(name, item);
    this.#items.push(item);
    return item;
  }

  #ref(kind: string, title: string): string {
    const plain = words(title).join('-').replace(/[^a-z0-9-]/g, '').replace(/^-+/, '');
    const stem = plain.slice(0, 40).replace(/-+$/, '') || kind;
    let ref = stem;
    for (let n = 2; this.#refs.has(ref); n++) ref = `${stem}-${n}`;
    this.#refs.add(ref);
    return ref;
  }

  #order(task: Task, item: Planned, siblings: readonly Task[]): void {
    const previous = siblings[siblings.indexOf(task) - 1];
    const previousItem = previous && this.#tasks.find((entry) => entry.task === previous)?.item;
    if (previousItem && (task.then || (task.ordered && previous.ordered))) this.#block(previousItem, item);
    const named = (references: readonly string[]): Planned[] =>
      references.flatMap((reference) => this.#resolve(reference, item, siblings));
    for (const other of named(task.after)) this.#block(other, item);
    for (const other of named(task.before)) this.#block(item, other);
  }

  #resolve(reference: string, self: Planned, siblings: readonly Task[]): Planned[] {
    const keys = itemKeys(reference).flatMap((key) => this.#known.get(key) ?? []);
    if (keys.length > 0) return keys.map((known) => this.#existing(known));
    const step = stepNumber(reference);
    const counted = step === undefined ? undefined : siblings.find((task) => task.number === step);
    const item = this.#tasks.find((entry) => entry.task === counted)?.item;
    if (counted && item) return [item];
    const others = this.#items.filter((other) => other !== self);
    const whole = closest(reference, others, 0.8);
    return whole ? [whole] : referencesIn(reference).flatMap((part) => closest(part, others, 0.5) ?? []);
  }

  #block(first: Planned, second: Planned): void {
    if (first === second || second.blockedBy.includes(first) || (first.known && second.known)) return;
    if (comesAfter(first, second)) {
      const wish = `"${first.title}" can't come before "${second.title}"`;
      this.#remarks.push(`${wish}: that order would be a circle. It is left out.`);
      return;
    }
    second.blockedBy.push(first);
  }

  #input(): Proposal['input'] {
    const edges = this.#items.flatMap((item) =>
      item.blockedBy.map((first) => ({ from: first.reference, to: item.reference, type: 'blocks' as const })),
    );
    const { milestone, epic, ticket } = this.#creates;
    const all = [...milestone, ...epic, ...ticket, ...this.#updates];
    if (all.length > maxOperations) {
      const rest = all.length - maxOperations;
      this.#remarks.push(`A changeset takes ${maxOperations} operations: ${rest} are left out. Send them later.`);
    }
    const kept = all.slice(0, maxOperations);
    const refs = new Set(kept.flatMap((operation) => (operation.kind === 'create_item' ? [`$${operation.ref}`] : [])));
    const there = (reference: string): boolean => !reference.startsWith('$') || refs.has(reference);
    const safe = edges.filter(({ from, to }) => there(from) && there(to));
    const dependencies = safe.map((dependency): Operation => ({ kind: 'add_dependency', dependency }));
    const operations = [...kept, ...dependencies].slice(0, maxOperations);
    return { title: this.#title(), summary: this.#summary(operations), operations };
  }

  #title(): string {
    const first = this.#items.find((item) => item.kind === 'milestone') ?? this.#items[0];
    return cleanTitle(`Plan: ${first?.title ?? 'nothing'}`);
  }

  #summary(operations: readonly Operation[]): string {
    const count = (kind: string): number => operations.filter((operation) => operation.kind === kind).length;
    return (
      `New items: ${count('create_item')}, changed: ${count('update_item')}, ` +
      `dependencies: ${count('add_dependency')}. Drawn up by fixed rules of the built-in demo model.`
    );
  }
}

function linksTo(kind: Planned['kind'], parent: Planned | undefined): Record<string, string> {
  if (!parent || kind === 'milestone' || parent.kind === 'ticket') return {};
  if (parent.kind === 'milestone') return { milestone: parent.reference };
  if (kind !== 'ticket') return {};
  const links: Record<string, string> = { epic: parent.reference };
  if (parent.parent?.kind === 'milestone') links.milestone = parent.parent.reference;
  return links;
}

function closest(reference: string, items: readonly Planned[], least: number): Planned | undefined {
  const scored = items.map((item) => ({ item, score: likeness(reference, item.title) }));
  const ranked = scored.sort((a, b) => b.score - a.score);
  return ranked[0] && ranked[0].score >= least ? ranked[0].item : undefined;
}

/** Is `first` held up by `second`, directly or through others? */
function comesAfter(first: Planned, second: Planned, seen = new Set<Planned>()): boolean {
  if (seen.has(first)) return false;
  seen.add(first);
  return first.blockedBy.some((item) => item === second || comesAfter(item, second, seen));
}

const described = ({ description }: Task) =>
  description === '' ? {} : { description: firstCharacters(description, 10_000) };
const withChildren = (task: Task): Task[] => [task, ...task.children.flatMap(withChildren)];
const criteriaOf = (task: Task): string[] => [task.written, ...task.criteria, ...task.children.flatMap(criteriaOf)];
const stepNumber = (text: string): number | undefined => {
  const number = /^(?:step|item|task|number|no\.?|#)?\s*(\d{1,3})$/i.exec(text.trim())?.[1];
  return number === undefined ? undefined : Number(number);
};
/** "login and search" may be one title or two. */
const referencesIn = (text: string): string[] => text.split(/\s*(?:,|\band\b|&)\s*/i).filter((part) => part !== '');

const criterion = new RegExp(
  "^(?:must|should|shall|can|cannot|can't|given|when|then|if|users?|returns?|shows?|accepts?|rejects?|supports?|" +
    'works?|no|all|each|every|at (?:least|most))\\b',
  'i',
);
const readsLikeCriterion = (task: Task): boolean => criterion.test(task.written);

function typeOf(title: string): string | undefined {
  if (/\b(?:fix|bug|crash|broken)\b/i.test(title)) return 'bug';
  if (/\b(?:document|documentation|docs|readme|guide|tutorial)\b/i.test(title)) return 'docs';
  if (/\b(?:spike|investigate|research|evaluate|explore|clarify|find out)\b/i.test(title)) return 'spike';
  return /\b(?:refactor|clean ?up|tech(?:nical)? debt)\b/i.test(title) ? 'tech_debt' : undefined;
}

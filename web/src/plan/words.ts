// Words for what the wire names: kinds, states, types, fields, people.

import type { Changeset, Event, Item } from '../../../client/index.ts';

export type Kind = Item['kind'];
export type State = Item['state'];
export type TicketType = NonNullable<Item['type']>;
export type Policy = NonNullable<Item['policy']>;
export type Actor = Event['actor'];

/** In the board's order. */
export const ticketStates = [
  'backlog',
  'ready',
  'in_progress',
  'waiting_for_answer',
  'paused',
  'done',
  'cancelled',
] as const satisfies readonly State[];

export const ticketTypes = ['feature', 'bug', 'tech_debt', 'docs', 'spike'] as const satisfies readonly TicketType[];

export const stateWords: Record<State, string> = {
  backlog: 'Backlog',
  ready: 'Ready',
  in_progress: 'In progress',
  waiting_for_answer: 'Waiting for answer',
  paused: 'Paused',
  open: 'Open',
  done: 'Done',
  cancelled: 'Cancelled',
};

export const kindWords: Record<Kind, string> = { milestone: 'Milestone', epic: 'Epic', ticket: 'Ticket' };

export const typeWords: Record<TicketType, string> = {
  feature: 'Feature',
  bug: 'Bug',
  tech_debt: 'Tech debt',
  docs: 'Docs',
  spike: 'Spike',
};

export const statusWords: Record<Changeset['status'], string> = {
  proposed: 'Proposed',
  applied: 'Applied',
  rejected: 'Rejected',
};

export const reviewWords: Record<Policy['review_mode'], string> = {
  agent: 'Agent',
  'agent+human': 'Agent and human',
};

export const mergeWords: Record<Policy['merge_mode'], string> = { auto: 'Automatic', manual: 'Manual' };

export const fieldWords = {
  title: 'Title',
  description: 'Description',
  state: 'State',
  type: 'Type',
  acceptance_criteria: 'Acceptance criteria',
  review_mode: 'Review',
  merge_mode: 'Merge',
  epic: 'Epic',
  milestone: 'Milestone',
} as const;

export const isResolved = (state: State): boolean => state === 'done' || state === 'cancelled';

/** A planner's actor carries the person that it acted for; its subject names its session. */
export function actorWords({ kind, subject, acting_for }: Actor): string {
  if (kind === 'human') return subject;
  const who = subject.startsWith('planner') ? 'the planner' : subject;
  return acting_for ? `${who} for ${acting_for}` : who;
}

/** The session of a planner's actor. */
export function sessionOf({ kind, subject }: Actor): string | undefined {
  return kind === 'service' ? /^planner:(.+)$/.exec(subject)?.[1] : undefined;
}

/** "2 tickets", "1 ticket". */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

/** "1, 2 and 3". */
export function listed(parts: readonly (string | number)[]): string {
  const last = parts.at(-1);
  return parts.length > 1 ? `${parts.slice(0, -1).join(', ')} and ${last}` : String(last ?? '');
}

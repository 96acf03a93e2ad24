// Rules that the page shows before the API enforces them: moves of people, rights of roles (spec: planner 1, 5).

import type { Me, Project } from '../../../client/index.ts';
import type { Kind, State } from './words.ts';

const ticketMoves: Partial<Record<State, readonly State[]>> = {
  backlog: ['ready', 'cancelled', 'done'],
  ready: ['backlog', 'paused', 'cancelled', 'done'],
  in_progress: ['paused', 'cancelled'],
  waiting_for_answer: ['paused', 'cancelled'],
  paused: ['ready', 'backlog', 'cancelled', 'done'],
  done: ['backlog'],
  cancelled: ['backlog'],
};

const groupMoves: Partial<Record<State, readonly State[]>> = {
  open: ['done', 'cancelled'],
  done: ['open'],
  cancelled: ['open'],
};

/** The states that a person may move an item to. */
export function movesFrom(kind: Kind, state: State): readonly State[] {
  return (kind === 'ticket' ? ticketMoves : groupMoves)[state] ?? [];
}

export interface Rights {
  /** tracker.write */
  write: boolean;
  /** changeset.decide */
  decide: boolean;
}

type Binding = Me['bindings'][number];

const writers = new Set<Binding['role']>(['platform-admin', 'organization-admin', 'engineer']);
const deciders = new Set<Binding['role']>([...writers, 'approver']);

/** What these bindings allow in the project. The token may narrow it: then the API refuses. */
export function rightsIn(project: Pick<Project, 'key' | 'organization'>, bindings: readonly Binding[]): Rights {
  const here = bindings.filter((each) =>
    each.project ? each.project === project.key : !each.organization || each.organization === project.organization,
  );
  return {
    write: here.some(({ role }) => writers.has(role)),
    decide: here.some(({ role }) => deciders.has(role)),
  };
}

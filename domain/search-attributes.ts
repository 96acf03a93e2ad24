// What operators find workflows by in Temporal: ids and classes, never a text (spec: orchestration "Operators").

/** All of type Keyword, one set a namespace. */
export const searchAttributes = [
  'PlannerProject',
  'PlannerSession',
  'PlannerHuman',
  'PlannerStatus',
  'BoundedRole',
  'BoundedFailure',
] as const;

export type SearchAttribute = (typeof searchAttributes)[number];

/** PlannerStatus of a workflow that has not ended. Ended: a turn's reason, or the status of a bounded run. */
export const runningStatus = 'running';

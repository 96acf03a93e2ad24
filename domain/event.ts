// The event log's shape (spec: planner 12).

import type { Actor } from './actor.ts';

export type EventType =
  | 'item.created'
  | 'item.updated'
  | 'item.state_changed'
  | 'dependency.added'
  | 'dependency.removed'
  | 'changeset.proposed'
  | 'changeset.applied'
  | 'changeset.rejected'
  | 'skill.created'
  | 'skill.updated'
  | 'skill.published'
  | 'project.skill_pinned'
  | 'project.skill_unpinned'
  | 'knowledge.created'
  | 'knowledge.updated'
  | 'organization.created'
  | 'organization.updated'
  | 'project.created'
  | 'project.updated'
  | 'role_binding.created'
  | 'role_binding.deleted'
  | 'credential.set'
  | 'credential.deleted'
  | 'budget.set'
  | 'planner.session_created'
  | 'planner.session_updated'
  | 'planner.message'
  | 'planner.turn_started'
  | 'planner.turn_ended'
  | 'planner.compacted'
  | 'bounded_run.started'
  | 'bounded_run.attempt_ended'
  | 'bounded_run.ended'
  | 'revalidation.started'
  | 'revalidation.ended'
  | 'revalidation.acknowledged'
  | 'revalidation_schedule.changed';

/** An event as its writer knows it; seq, id and time are given when it is stored. */
export interface NewEvent {
  type: EventType;
  organization_id?: string;
  /** With its organization: an event of a project carries both. */
  project_id?: string;
  entity_type: string;
  entity_id: string;
  entity_key?: string;
  actor: Actor;
  payload?: Record<string, unknown>;
}

export interface StoredEvent extends NewEvent {
  /** Dense and in commit order within its scope. */
  seq: number;
  id: string;
  occurred_at: string;
  payload: Record<string, unknown>;
}

/** Where an event is numbered: its project, else its organization, else the installation. */
export function eventScope(event: Pick<NewEvent, 'organization_id' | 'project_id'>): string {
  if (event.project_id) return `project:${event.project_id}`;
  if (event.organization_id) return `organization:${event.organization_id}`;
  return 'installation';
}

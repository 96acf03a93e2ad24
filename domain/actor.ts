// Who acts, and who may do what (spec: planner 5).

export type SubjectKind = 'human' | 'service';

/** Recorded on every event and changeset. */
export interface Actor {
  kind: SubjectKind | 'system';
  subject: string;
  acting_for?: string;
}

/** Whose rights count. `actions`: the only actions that the presented token carries; absent: all of the subject's. */
export interface Principal {
  subject: string;
  kind: SubjectKind;
  actions?: readonly Action[];
}

export const actions = [
  'organization.create',
  'organization.read',
  'organization.update',
  'project.create',
  'project.read',
  'project.update',
  'role_binding.manage',
  'role_binding.read',
  'tracker.read',
  'tracker.write',
  'changeset.decide',
  'credential.manage',
  'knowledge.read',
  'knowledge.write',
  'skill.read',
  'skill.write',
  'run.manage',
  'bounded_run.start',
  'bounded_run.read',
  'bounded_run.cancel',
] as const;
export type Action = (typeof actions)[number];

export const roles = ['platform-admin', 'organization-admin', 'engineer', 'approver', 'viewer'] as const;
export type Role = (typeof roles)[number];

/** The planner's own actor: what it does is recorded as done for the human whose message it answers. */
export function plannerActor(session: string, human: string): Actor {
  return { kind: 'service', subject: `planner:${session}`, acting_for: human };
}

export function actorOf(principal: Principal): Actor {
  return { kind: principal.kind, subject: principal.subject };
}

export const systemActor: Actor = { kind: 'system', subject: 'planner' };

const reads: readonly Action[] = actions.filter((action) => action.endsWith('.read'));
const engineer: readonly Action[] = [
  ...reads,
  'tracker.write',
  'changeset.decide',
  'knowledge.write',
  'bounded_run.start',
  'bounded_run.cancel',
];

const grants: Record<Role, ReadonlySet<Action>> = {
  'platform-admin': new Set(actions),
  'organization-admin': new Set(actions.filter((action) => action !== 'organization.create')),
  engineer: new Set(engineer),
  approver: new Set([...reads, 'changeset.decide']),
  viewer: new Set(reads),
};

export function roleGrants(role: Role, action: Action): boolean {
  return grants[role].has(action);
}

/** Where a role may be bound. */
export const roleScopes: Record<Role, readonly ('platform' | 'organization' | 'project')[]> = {
  'platform-admin': ['platform'],
  'organization-admin': ['organization'],
  engineer: ['organization', 'project'],
  approver: ['organization', 'project'],
  viewer: ['organization', 'project'],
};

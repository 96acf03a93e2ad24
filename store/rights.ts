// Who may do what, read anew on each check (spec: planner 5).

import { roleGrants, type Action, type Principal, type Role } from '../domain/actor.ts';
import { forbidden } from '../domain/errors.ts';
import type { Queryable } from './database.ts';

/** Where an action takes place: in a project, in an organization, or (neither) at the platform. */
export interface Scope {
  project_id?: string;
  organization_id?: string;
}

/** Says of any action whether the principal may do it in a scope. */
export type Rights = (action: Action, scope: Scope) => boolean;

interface BindingRow {
  subject: string;
  role: Role;
  organization_id: string | null;
  project_id: string | null;
  /** The organization that the bound project belongs to. */
  parent_id: string | null;
}

/**
 * The principal's rights as they stand now, for judging many things at once. A project must be named together with its
 * organization.
 */
export async function rightsOf(q: Queryable, principal: Principal): Promise<Rights> {
  return (await rightsOfSubjects(q, [principal.subject]))(principal);
}

/** As `rightsOf` for many at once, in one query: gives the rights of any principal that is one of these subjects. */
export async function rightsOfSubjects(
  q: Queryable,
  subjects: readonly string[],
): Promise<(principal: Principal) => Rights> {
  const rows = await q.query<BindingRow>(
    `SELECT b.subject, b.role, b.organization_id, b.project_id, p.organization_id AS parent_id
     FROM role_bindings b LEFT JOIN projects p ON p.id = b.project_id WHERE b.subject = ANY ($1::text[])`,
    [subjects],
  );
  const bindings = Map.groupBy(rows, (row) => row.subject);
  return (principal) => (action, scope) => {
    if (principal.actions && !principal.actions.includes(action)) return false;
    const own = bindings.get(principal.subject) ?? [];
    return own.some((binding) => reaches(binding, action, scope) && roleGrants(binding.role, action));
  };
}

function reaches(binding: BindingRow, action: Action, scope: Scope): boolean {
  if (!binding.organization_id && !binding.project_id) return true;
  // The platform's skills are for everybody who reads skills anywhere (spec: planner 3).
  if (!scope.organization_id && !scope.project_id) return action === 'skill.read';
  if (binding.organization_id) return binding.organization_id === scope.organization_id;
  if (scope.project_id) return binding.project_id === scope.project_id;
  return usedThroughProject.has(action) && binding.parent_id === scope.organization_id;
}

/** What a project's binding grants in its organization, as far as its role does (spec: planner 5). */
const usedThroughProject: ReadonlySet<Action> = new Set([
  'organization.read',
  'knowledge.read',
  'knowledge.write',
  'skill.read',
]);

/**
 * True when the principal may do the action there: the union of its bindings, narrowed by its token. A project's
 * binding also reads its organization and uses its knowledge and skills. Read on every call (spec: planner 5).
 */
export async function can(q: Queryable, principal: Principal, action: Action, scope: Scope): Promise<boolean> {
  const rights = await rightsOf(q, principal);
  if (!scope.project_id || scope.organization_id) return rights(action, scope);
  const [project] = await q.query<{ organization_id: string }>(
    'SELECT organization_id FROM projects WHERE id = $1',
    [scope.project_id],
  );
  return project !== undefined && rights(action, { ...scope, organization_id: project.organization_id });
}

/** As `can`; throws forbidden, naming the action, and whether the subject lacks it or only the token. */
export async function authorize(q: Queryable, principal: Principal, action: Action, scope: Scope): Promise<void> {
  if (await can(q, principal, action, scope)) return;
  const { actions, ...subject } = principal;
  if (actions && !actions.includes(action) && (await can(q, subject, action, scope))) {
    throw forbidden(`This token does not carry ${action}; use another token.`);
  }
  const where = scope.project_id ? 'in this project' : scope.organization_id ? 'in this organization' : 'here';
  throw forbidden(`You lack the right ${action} ${where}. Ask an administrator for a role that has it.`);
}

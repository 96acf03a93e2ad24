// Role bindings: made, ended, listed (spec: planner 5).

import { v7 as uuidv7 } from 'uuid';
import { actorOf, roles, roleScopes, type Actor, type Principal, type Role } from '../domain/actor.ts';
import { DomainError, invalid, notFound } from '../domain/errors.ts';
import { isUuid } from '../domain/input.ts';
import { storable } from '../domain/text.ts';
import type { Queryable, Tx } from './database.ts';
import { visibleOrganization, visibleProject } from './projects.ts';
import { authorize, rightsOf, type Scope } from './rights.ts';

export interface RoleBinding {
  id: string;
  subject: string;
  role: Role;
  /** Keys. Neither: bound at the platform. */
  organization?: string;
  project?: string;
  created_at: string;
}

export interface NewRoleBinding {
  subject: string;
  role: Role;
  /** Keys, at most one. Neither: the platform. */
  organization?: string;
  project?: string;
}

/** Binds a role. Needs role_binding.manage there. Errors: invalid_argument, not_found, forbidden, already_exists. */
export async function createRoleBinding(tx: Tx, principal: Principal, input: NewRoleBinding): Promise<RoleBinding> {
  if (input.organization !== undefined && input.project !== undefined) {
    throw invalid('Name an organization or a project, not both.');
  }
  const scope = await namedScope(tx, principal, input);
  return bindRole(tx, actorOf(principal), { subject: input.subject, role: input.role, ...scope });
}

async function namedScope(tx: Tx, principal: Principal, input: NewRoleBinding): Promise<Scope> {
  if (input.project !== undefined) {
    return { project_id: (await visibleProject(tx, principal, input.project, 'role_binding.manage')).id };
  }
  if (input.organization !== undefined) {
    const organization = await visibleOrganization(tx, principal, input.organization, 'role_binding.manage');
    return { organization_id: organization.id };
  }
  await authorize(tx, principal, 'role_binding.manage', {});
  return {};
}

/** Binds a role without asking for rights: for whoever sets the installation up. Name one scope at most. */
export async function bindRole(
  tx: Tx,
  actor: Actor,
  input: { subject: string; role: Role } & Scope,
): Promise<RoleBinding> {
  checkRole(input.role, input);
  const subject = storable(input.subject);
  const [known] = await tx.query('SELECT 1 FROM subjects WHERE subject = $1', [subject]);
  if (!known) throw notFound(`There is no subject ${JSON.stringify(subject)}.`);
  const id = uuidv7();
  const inserted = await tx.query(
    `INSERT INTO role_bindings (id, subject, role, organization_id, project_id) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT DO NOTHING RETURNING id`,
    [id, subject, input.role, input.organization_id ?? null, input.project_id ?? null],
  );
  if (inserted.length === 0) {
    throw new DomainError('already_exists', `${subject} has the role ${input.role} there already.`);
  }
  const [row] = await bindingRows(tx, 'b.id = $1', [id]);
  emitBinding(tx, actor, 'role_binding.created', row!);
  return binding(row!);
}

function checkRole(role: Role, scope: Scope): void {
  if (!roles.includes(role)) throw invalid(`There is no role ${JSON.stringify(role)}. Roles: ${roles.join(', ')}.`);
  const at = scope.project_id ? 'project' : scope.organization_id ? 'organization' : 'platform';
  if (!roleScopes[role].includes(at)) {
    throw invalid(`The role ${role} is bound at: ${roleScopes[role].join(', ')}; not at: ${at}.`);
  }
}

/**
 * Ends a binding; it counts no longer from the commit on. Needs role_binding.manage where it is bound.
 * The last platform-admin stays: conflict. Nobody could undo it here.
 */
export async function deleteRoleBinding(tx: Tx, principal: Principal, id: string): Promise<void> {
  const [row] = isUuid(id) ? await bindingRows(tx, 'b.id = $1', [id]) : [];
  const rights = await rightsOf(tx, principal);
  if (!row || !rights('role_binding.read', rowScope(row))) throw notFound('There is no such role binding.');
  await authorize(tx, principal, 'role_binding.manage', rowScope(row));
  if (row.role === 'platform-admin') await keepAnAdmin(tx, row.id);
  const deleted = await tx.query('DELETE FROM role_bindings WHERE id = $1 RETURNING id', [row.id]);
  if (deleted.length === 0) throw notFound('There is no such role binding.');
  emitBinding(tx, actorOf(principal), 'role_binding.deleted', row);
}

/** All of them are locked, in one order: of two that end each other's at once, one gets the conflict. */
async function keepAnAdmin(tx: Tx, id: string): Promise<void> {
  const admins = await tx.query<{ id: string }>(
    `SELECT id FROM role_bindings WHERE role = 'platform-admin' ORDER BY id FOR UPDATE`,
  );
  if (admins.some((admin) => admin.id !== id)) return;
  throw new DomainError(
    'conflict',
    'This is the last platform-admin: without one nobody could administrate. Give the role to somebody else first.',
  );
}

/**
 * The bindings that the principal may read (role_binding.read where they are bound), oldest first.
 * `after`: the id to go on after.
 */
export async function listRoleBindings(
  q: Queryable,
  principal: Principal,
  filter: { subject?: string; organization?: string; project?: string; after?: string } = {},
): Promise<RoleBinding[]> {
  const rights = await rightsOf(q, principal);
  const rows = await bindingRows(
    q,
    `($1::text IS NULL OR b.subject = $1) AND ($2::text IS NULL OR o.key = $2) AND ($3::text IS NULL OR p.key = $3)
     AND ($4::uuid IS NULL OR b.id > $4)`,
    [filter.subject, filter.organization, filter.project, filter.after].map((value) =>
      value === undefined ? null : storable(value),
    ),
  );
  return rows.filter((row) => rights('role_binding.read', rowScope(row))).map(binding);
}

interface Row {
  id: string;
  subject: string;
  role: Role;
  organization_id: string | null;
  project_id: string | null;
  /** The organization that the bound project belongs to. */
  parent_id: string | null;
  organization_key: string | null;
  project_key: string | null;
  created_at: string;
}

function bindingRows(q: Queryable, where: string, values: unknown[]): Promise<Row[]> {
  return q.query<Row>(
    `SELECT b.id, b.subject, b.role, b.organization_id, b.project_id, p.organization_id AS parent_id, b.created_at,
            o.key AS organization_key, p.key AS project_key
     FROM role_bindings b
     LEFT JOIN organizations o ON o.id = b.organization_id
     LEFT JOIN projects p ON p.id = b.project_id
     WHERE ${where} ORDER BY b.id`,
    values,
  );
}

function binding(row: Row): RoleBinding {
  return {
    id: row.id,
    subject: row.subject,
    role: row.role,
    ...(row.organization_key ? { organization: row.organization_key } : {}),
    ...(row.project_key ? { project: row.project_key } : {}),
    created_at: row.created_at,
  };
}

function rowScope(row: Row): Scope {
  const organization = row.organization_id ?? row.parent_id;
  return {
    ...(organization ? { organization_id: organization } : {}),
    ...(row.project_id ? { project_id: row.project_id } : {}),
  };
}

function emitBinding(
  tx: Tx,
  actor: Actor,
  type: 'role_binding.created' | 'role_binding.deleted',
  row: Row,
): void {
  tx.emit({
    type,
    ...rowScope(row),
    entity_type: 'role_binding',
    entity_id: row.id,
    actor,
    payload: { subject: row.subject, role: row.role },
  });
}

// Organizations and projects, and how they are looked up without revealing what is hidden (spec: planner 1 and 5).

import { v7 as uuidv7 } from 'uuid';
import type { Action, Actor, Principal } from '../domain/actor.ts';
import { DomainError, invalid, notFound } from '../domain/errors.ts';
import { isUuid } from '../domain/input.ts';
import { characters, firstCharacters, isBlank, storable } from '../domain/text.ts';
import type { Queryable, Tx } from './database.ts';
import { authorize, can, rightsOf } from './rights.ts';

export interface Organization {
  id: string;
  key: string;
  name: string;
}

export interface Project {
  id: string;
  key: string;
  name: string;
  description: string;
  organization_id: string;
  organization_key: string;
  organization_name: string;
}

const projectSql = `
SELECT p.id, p.key, p.name, p.description, p.organization_id, o.key AS organization_key, o.name AS organization_name
FROM projects p JOIN organizations o ON o.id = p.organization_id`;

/** Errors: not_found. Asks for no rights. */
export async function projectByKey(q: Queryable, key: string): Promise<Project> {
  const [project] = await q.query<Project>(`${projectSql} WHERE p.key = $1`, [storable(key)]);
  if (!project) throw noProject(key);
  return project;
}

/** Errors: not_found. Asks for no rights. */
export async function projectById(q: Queryable, id: string): Promise<Project> {
  const [project] = isUuid(id) ? await q.query<Project>(`${projectSql} WHERE p.id = $1`, [id]) : [];
  if (!project) throw notFound('There is no such project.');
  return project;
}

/**
 * The project, when the principal may do the action in it. One that it may not even read is not found; one that it may
 * read but not act in so is forbidden.
 */
export async function visibleProject(
  q: Queryable,
  principal: Principal,
  key: string,
  action: Action,
): Promise<Project> {
  const project = await projectByKey(q, key);
  await authorizeVisible(q, principal, project, action, () => noProject(key));
  return project;
}

/** Throws `hidden()` when the project may not be read, forbidden when it may be but the action is not granted. */
export async function authorizeVisible(
  q: Queryable,
  principal: Principal,
  project: Project,
  action: Action,
  hidden: () => DomainError,
): Promise<void> {
  const scope = { project_id: project.id, organization_id: project.organization_id };
  const rights = await rightsOf(q, principal);
  if (rights(action, scope)) return;
  if (!rights('tracker.read', scope) && !rights('project.read', scope)) throw hidden();
  await authorize(q, principal, action, scope);
}

/** Errors: not_found. Asks for no rights. */
export async function organizationByKey(q: Queryable, key: string): Promise<Organization> {
  const [organization] = await q.query<Organization>(
    'SELECT id, key, name FROM organizations WHERE key = $1',
    [storable(key)],
  );
  if (!organization) throw noOrganization(key);
  return organization;
}

/** As `visibleProject`, for an organization. */
export async function visibleOrganization(
  q: Queryable,
  principal: Principal,
  key: string,
  action: Action,
): Promise<Organization> {
  const organization = await organizationByKey(q, key);
  const scope = { organization_id: organization.id };
  if (!(await can(q, principal, action, scope))) {
    if (!(await can(q, principal, 'organization.read', scope))) throw noOrganization(key);
    await authorize(q, principal, action, scope);
  }
  return organization;
}

/** Asks for no rights. Key: 2-32 of a-z0-9-, a letter first; name: 1-200 characters. */
export async function createOrganization(
  tx: Tx,
  actor: Actor,
  input: { key: string; name: string },
): Promise<Organization> {
  if (!/^[a-z][a-z0-9-]{1,31}$/.test(input.key)) {
    throw invalid(`An organization's key has 2-32 of a-z, 0-9 and -, a letter first; not ${quoted(input.key)}.`);
  }
  const organization = { id: uuidv7(), key: input.key, name: nameOf(input.name) };
  const inserted = await tx.query(
    'INSERT INTO organizations (id, key, name) VALUES ($1, $2, $3) ON CONFLICT (key) DO NOTHING RETURNING id',
    [organization.id, organization.key, organization.name],
  );
  if (inserted.length === 0) throw taken('organization', input.key);
  tx.emit({
    type: 'organization.created',
    organization_id: organization.id,
    entity_type: 'organization',
    entity_id: organization.id,
    entity_key: organization.key,
    actor,
    payload: { name: organization.name },
  });
  return organization;
}

/** Asks for no rights. Key: [A-Z][A-Z0-9]{1,9}; name: 1-200 characters; description: at most 50,000. */
export async function createProject(
  tx: Tx,
  actor: Actor,
  input: { organization_id: string; key: string; name: string; description?: string },
): Promise<Project> {
  if (!/^[A-Z][A-Z0-9]{1,9}$/.test(input.key)) {
    throw invalid(`A project's key has 2-10 characters of A-Z and 0-9, a letter first; not ${quoted(input.key)}.`);
  }
  const description = descriptionOf(input.description ?? '');
  const id = uuidv7();
  const inserted = await tx.query(
    `INSERT INTO projects (id, organization_id, key, name, description) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (key) DO NOTHING RETURNING id`,
    [id, input.organization_id, input.key, nameOf(input.name), description],
  );
  if (inserted.length === 0) throw taken('project', input.key);
  const project = await projectById(tx, id);
  tx.emit({
    type: 'project.created',
    organization_id: project.organization_id,
    project_id: id,
    entity_type: 'project',
    entity_id: id,
    entity_key: project.key,
    actor,
    payload: { name: project.name },
  });
  return project;
}

/** The projects that the principal may read, by key. */
export async function listProjects(q: Queryable, principal: Principal): Promise<Project[]> {
  const rights = await rightsOf(q, principal);
  const projects = await q.query<Project>(`${projectSql} ORDER BY p.key`);
  return projects.filter(({ id, organization_id }) => rights('project.read', { project_id: id, organization_id }));
}

/** The organizations that the principal may read, by key. */
export async function listOrganizations(q: Queryable, principal: Principal): Promise<Organization[]> {
  const rights = await rightsOf(q, principal);
  const organizations = await q.query<Organization>(
    'SELECT id, key, name FROM organizations ORDER BY key',
  );
  return organizations.filter(({ id }) => rights('organization.read', { organization_id: id }));
}

/** Serializes numbering, edges and applies of a project until the transaction ends (spec: planner 2). */
export async function lockProject(tx: Tx, id: string): Promise<void> {
  // Weaker than FOR UPDATE: it excludes itself, yet lets foreign keys to the project be checked meanwhile.
  await tx.query('SELECT 1 FROM projects WHERE id = $1 FOR NO KEY UPDATE', [id]);
}

/** Errors: invalid_argument unless it has 1-200 characters and is not blank. */
export function nameOf(name: string): string {
  const clean = storable(name);
  if (isBlank(clean) || characters(clean) > 200) throw invalid('A name has 1-200 characters and is not blank.');
  return clean;
}

/** Errors: invalid_argument beyond 50,000 characters. */
export function descriptionOf(description: string): string {
  const clean = storable(description);
  if (characters(clean) > 50_000) throw invalid('The description has more than 50,000 characters.');
  return clean;
}

const quoted = (text: string): string => JSON.stringify(firstCharacters(storable(text), 60));
const noProject = (key: string): DomainError => notFound(`There is no project ${quoted(key)}.`);
const noOrganization = (key: string): DomainError => notFound(`There is no organization ${quoted(key)}.`);
const taken = (what: string, key: string): DomainError =>
  new DomainError('already_exists', `There is a ${what} ${key} already. Choose another key.`);

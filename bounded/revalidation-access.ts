// Who may ask for re-validations, and what is refused at once (spec: bounded-claude 9, planner 5).

import type { Principal } from '../domain/actor.ts';
import { hosts, isHost, isRole, roles, type Host, type Role } from '../domain/bounded/identity.ts';
import { readLimits } from '../domain/bounded/limits.ts';
import { DomainError, notFound } from '../domain/errors.ts';
import { firstCharacters, storable } from '../domain/text.ts';
import type { Database, Queryable } from '../store/database.ts';
import { authorizeVisible, listProjects, projectById, visibleProject } from '../store/projects.ts';
import { noRepository, repositoryByAlias, type Repository } from '../store/repositories.ts';
import { authorize, rightsOf, type Scope } from '../store/rights.ts';
import { machineName } from './machine.ts';
import { examine } from './revalidation-check.ts';

/** The computer that this process runs on: what is here is looked at before it is asked for. */
export interface Here {
  machine: string;
  env: NodeJS.ProcessEnv;
}

export const here = (): Here => ({ machine: machineName(), env: process.env });

export interface RoleRequest {
  /** A registered alias. */
  repo: string;
  host: string;
  role: string;
  /** USD for each of the runs, more than 0, at most 10; default 2. */
  max_budget_usd?: number | undefined;
  /** A scripted CLI answers, by rule; nothing is paid, and nothing is claimed of a model. */
  demo?: boolean | undefined;
}

export interface Wanted {
  repository: Repository;
  host: Host;
  role: Role;
  budget_usd: number;
  demo: boolean;
}

/**
 * Checks a request; all problems together. Where the repository is on this computer, also whether it is there, the role
 * verified, the CLI found, and whether packets can be made without secret-like text; elsewhere its own worker checks
 * that before anything is paid. Errors: not_found, forbidden, invalid_argument.
 */
export async function wantedRole(
  database: Database,
  principal: Principal,
  request: RoleRequest,
  { place = here(), more = [] }: { place?: Here; more?: readonly string[] } = {},
): Promise<Wanted> {
  const repository = await repositoryByAlias(database, request.repo);
  const project = await projectById(database, repository.project_id);
  await authorizeVisible(database, principal, project, 'bounded_run.start', () => noRepository(request.repo));
  const { host, role } = request;
  const demo = request.demo === true;
  const limits = readLimits(request.max_budget_usd === undefined ? {} : { max_budget_usd: request.max_budget_usd });
  const problems = [...more];
  if (!isHost(host)) problems.push(`host must be one of ${hosts.join(', ')}.`);
  if (!isRole(role)) problems.push(`role must be one of ${roles.join(', ')}.`);
  if (!limits.ok) problems.push(...limits.problems);
  if (repository.machine === place.machine && isHost(host) && isRole(role)) {
    const what = { repo: repository.path, name: repository.alias, host, role, demo, env: place.env };
    problems.push(...(await examine(what)).problems);
  }
  if (problems.length > 0 || !isHost(host) || !isRole(role) || !limits.ok) throw refused(problems);
  return { repository, host, role, budget_usd: limits.budget_usd, demo };
}

export const refused = (problems: readonly string[]): DomainError =>
  new DomainError('invalid_argument', problems.join('\n'), { problems: [...problems] });

interface Placed {
  project_id: string;
  organization_id: string;
}

const scopeOf = ({ project_id, organization_id }: Placed): Scope => ({ project_id, organization_id });

/** `found` where the principal may read it, and may do `action` there. Errors: not_found, forbidden. */
export async function visible<Row extends Placed>(
  q: Queryable,
  principal: Principal,
  found: Row | undefined,
  action: 'bounded_run.read' | 'bounded_run.start' | 'bounded_run.cancel',
  what: string,
): Promise<Row> {
  const rights = await rightsOf(q, principal);
  if (!found || !rights('bounded_run.read', scopeOf(found))) throw notFound(`There is no ${what}.`);
  if (action !== 'bounded_run.read') await authorize(q, principal, action, scopeOf(found));
  return found;
}

export const named = (id: string): string => JSON.stringify(firstCharacters(storable(id), 80));

/** Ids of the project, or of all whose runs the principal may read. */
export async function readableProjects(
  q: Queryable,
  principal: Principal,
  project: string | undefined,
): Promise<string[]> {
  if (project !== undefined) return [(await visibleProject(q, principal, project, 'bounded_run.read')).id];
  const rights = await rightsOf(q, principal);
  return (await listProjects(q, principal))
    .filter(({ id, organization_id }) => rights('bounded_run.read', { project_id: id, organization_id }))
    .map(({ id }) => id);
}

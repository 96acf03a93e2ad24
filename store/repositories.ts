// Repositories that bounded runs may plan for: registered on their own computer, named by an alias
// (spec: bounded-claude 1).

import { createHash } from 'node:crypto';
import path from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import type { Principal } from '../domain/actor.ts';
import { DomainError, invalid, notFound } from '../domain/errors.ts';
import { firstCharacters, storable } from '../domain/text.ts';
import type { Queryable, Tx } from './database.ts';
import { rightsOf } from './rights.ts';

export interface Repository {
  id: string;
  alias: string;
  /** Project key. */
  project: string;
  project_id: string;
  organization_id: string;
  /** The computer that holds it. */
  machine: string;
  /** Real and absolute there. */
  path: string;
  /** Of machine and path, 8 hexadecimal digits. */
  path_hash: string;
}

const repositorySql = `
SELECT r.id, r.alias, p.key AS project, r.project_id, p.organization_id, r.machine, r.path, r.path_hash
FROM repositories r JOIN projects p ON p.id = r.project_id`;

/** The first 8 hexadecimal digits of SHA-256 over machine and path. */
export const pathHash = (machine: string, realPath: string): string =>
  createHash('sha256').update(`${machine}\0${realPath}`).digest('hex').slice(0, 8);

/**
 * Registers a repository, or returns the one that is registered under this path (`fresh` false). Asks for no rights:
 * only whoever is on its computer calls this. `alias`: a-z, 0-9, dot, hyphen, underscore, at most 64; by default the
 * folder's name, with a number where that is taken. `project`: a key; by default the installation's oldest project.
 * Errors: invalid_argument, not_found (the project), already_exists (the alias).
 */
export async function registerRepository(
  tx: Tx,
  input: { machine: string; path: string; alias?: string | undefined; project?: string | undefined },
): Promise<Repository & { fresh: boolean }> {
  if (!path.isAbsolute(input.path)) throw invalid('A repository is registered by its absolute path.');
  const known = await repositoryByPath(tx, input.machine, input.path);
  if (known) return { ...known, fresh: false };
  const project = await projectFor(tx, input.project);
  const alias = input.alias === undefined ? await freeAlias(tx, input.path) : checkAlias(input.alias);
  const inserted = await tx.query(
    `INSERT INTO repositories (id, alias, project_id, machine, path, path_hash) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT DO NOTHING RETURNING id`,
    [uuidv7(), alias, project, input.machine, input.path, pathHash(input.machine, input.path)],
  );
  const found = await repositoryByPath(tx, input.machine, input.path);
  if (!found) throw new DomainError('already_exists', `There is a repository ${alias} already. Choose another alias.`);
  return { ...found, fresh: inserted.length > 0 };
}

export async function repositoryByPath(
  q: Queryable,
  machine: string,
  realPath: string,
): Promise<Repository | undefined> {
  const sql = `${repositorySql} WHERE r.machine = $1 AND r.path = $2`;
  const [found] = await q.query<Repository>(sql, [machine, realPath]);
  return found;
}

/** Errors: not_found. Asks for no rights. */
export async function repositoryByAlias(q: Queryable, alias: string): Promise<Repository> {
  const [found] = await q.query<Repository>(`${repositorySql} WHERE r.alias = $1`, [storable(alias)]);
  if (!found) throw noRepository(alias);
  return found;
}

/** The repositories of projects whose bounded runs the principal may read, by alias. */
export async function listRepositories(q: Queryable, principal: Principal): Promise<Repository[]> {
  const rights = await rightsOf(q, principal);
  const rows = await q.query<Repository>(`${repositorySql} ORDER BY r.alias`);
  return rows.filter(({ project_id, organization_id }) => rights('bounded_run.read', { project_id, organization_id }));
}

export function noRepository(alias: string): DomainError {
  const name = JSON.stringify(firstCharacters(storable(alias), 64));
  const how = 'Run `partner plan` in it once, which registers it, or use a listed alias.';
  return notFound(`There is no repository ${name}. ${how}`);
}

async function projectFor(q: Queryable, key: string | undefined): Promise<string> {
  const [project] = await q.query<{ id: string }>(
    'SELECT id FROM projects WHERE $1::text IS NULL OR key = $1 ORDER BY created_at, id LIMIT 1',
    [key ?? null],
  );
  if (project) return project.id;
  if (key !== undefined) throw notFound(`There is no project ${JSON.stringify(key)}.`);
  throw notFound('There is no project yet. Create one first.');
}

const aliasRule = /^[a-z0-9][a-z0-9._-]{0,63}$/;

function checkAlias(alias: string): string {
  if (aliasRule.test(alias)) return alias;
  throw invalid('An alias has 1-64 of a-z, 0-9, dot, hyphen and underscore, and begins with a letter or a digit.');
}

async function freeAlias(q: Queryable, folder: string): Promise<string> {
  const name = path.basename(folder).toLowerCase().replace(/[^a-z0-9._-]+/g, '-').replace(/^[._-]+/, '').slice(0, 58);
  const base = name === '' ? 'repository' : name;
  const taken = new Set((await q.query<{ alias: string }>('SELECT alias FROM repositories')).map((row) => row.alias));
  for (let number = 1; ; number++) {
    const alias = number === 1 ? base : `${base}-${number}`;
    if (!taken.has(alias)) return alias;
  }
}

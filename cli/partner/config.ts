// `partner config`: the identities of roles, read, set, resolved, checked (spec: bounded-claude 3).

import { existsSync } from 'node:fs';
import {
  fieldText,
  hosts,
  parseIdentities,
  resolveIdentity,
  roles,
  type Host,
  type IdentityFields,
  type IdentityProblem,
  type Role,
} from '../../domain/bounded/identity.ts';
import { emptyIdentities, setIdentity } from '../../domain/bounded/identity-file.ts';
import { table } from '../print.ts';
import type { Environment } from '../target.ts';
import { configPath, readConfig, readConfigs, rewriteConfig, scopes, type Scope } from './config-files.ts';
import { unknownNames } from './config-unknown.ts';
import { forRepo } from './repo.ts';
import { reject, Rejection, type Fault } from './reject.ts';

export interface Place {
  /** Real path. */
  repo: string;
  env: Environment;
  scope?: Scope;
}

export interface Whose {
  host: Host;
  role: Role;
}

interface Row extends Whose, IdentityFields {
  scope: Scope;
  path: string;
}

export const identityKeys = ['backend', 'model', 'effort', 'verified', 'verified_at'] as const;
export type IdentityKey = (typeof identityKeys)[number];

export interface GetOptions extends Partial<Whose> {
  key?: IdentityKey;
  json?: boolean;
}

/** What the files say, each table by itself; with `key` one value, of the merged files. @throws Rejection */
export function getConfig(place: Place, options: GetOptions): string {
  const { host, role, key } = options;
  const rows = readRows(place).filter((row) => (!host || row.host === host) && (!role || row.role === role));
  if (key !== undefined) return valueOf(rows, options, key);
  if (options.json) return JSON.stringify({ items: rows }, null, 2);
  if (rows.length === 0)
    return 'No identity is configured. "partner config init" makes a file, "partner config set" fills it.';
  const cells = rows.map((row) => [
    row.scope,
    row.host,
    row.role,
    ...identityKeys.map((each) => fieldText(row, each) ?? '-'),
  ]);
  return table(['file', 'host', 'role', ...identityKeys], cells);
}

function valueOf(rows: readonly Row[], { host, role }: GetOptions, key: IdentityKey): string {
  if (!host || !role) throw reject('usage', 'A single value needs --host and --role.');
  const row = rows.find((each) => each[key] !== undefined);
  if (row) return fieldText(row, key) ?? '';
  throw reject(
    'missing',
    `${key} of ${role} on ${host} is not set. Run: partner config set --host ${host} --role ${role}`,
  );
}

/** The repository's rows first: they lie over the user's. */
function readRows({ repo, env, scope }: Place): Row[] {
  return scopes
    .filter((each) => !scope || each === scope)
    .flatMap((each) => {
      const file = readConfig(each, repo, env);
      if (!file) return [];
      const parsed = parseIdentities(file);
      if (!parsed.ok) throw new Rejection(parsed.problems);
      return hosts.flatMap((host) =>
        roles.flatMap((role) => {
          const fields = parsed.layer[host][role];
          return fields ? [{ scope: each, path: file.path, host, role, ...fields }] : [];
        }),
      );
    });
}

export type Change = Pick<IdentityFields, 'backend' | 'model' | 'effort'>;

/** Sets fields of one identity; a change of them drops its verification. Says what is there now. @throws Rejection */
export async function setConfig(place: Place, whose: Whose, change: Change): Promise<string> {
  if (Object.keys(change).length === 0) throw reject('usage', 'Nothing to set: give --backend, --model or --effort.');
  const scope = place.scope ?? scopeOf(place, whose);
  const file = await writeIdentity({ ...place, scope }, whose, change);
  const [row] = readRows({ ...place, scope }).filter((each) => each.host === whose.host && each.role === whose.role);
  const said = identityKeys
    .slice(0, 3)
    .map((key) => (row && fieldText(row, key)) ?? `no ${key}`)
    .join(', ');
  const verified = row?.verified === true ? 'verified' : 'not verified';
  const lines = [`${file}: ${whose.role} on ${whose.host} is ${said}, ${verified}.`];
  const resolved = resolveIdentity(readConfigs(place.repo, place.env), whose.host, whose.role);
  if (!resolved.ok) lines.push(...faults(resolved.problems, place).map(({ message }) => message));
  return lines.join('\n');
}

/** The file that names the identity now, the upper one first; a new identity goes to the user's file. */
export function scopeOf(place: Place, { host, role }: Whose): Scope {
  const named = (scope: Scope): boolean => {
    const file = readConfig(scope, place.repo, place.env);
    const parsed = file && parseIdentities(file);
    return parsed?.ok === true && parsed.layer[host][role] !== undefined;
  };
  return scopes.find(named) ?? 'user';
}

/** Returns the file's path. @throws Rejection, DomainError */
export function writeIdentity(place: Required<Place>, { host, role }: Whose, change: IdentityFields): Promise<string> {
  const { scope, repo, env } = place;
  const empty = { path: configPath(scope, repo, env), text: '' };
  return rewriteConfig(scope, repo, env, (file) => setIdentity(file ?? empty, host, role, change));
}

/** The identity that a run would use. @throws Rejection it would be rejected: why, and the command that mends it */
export function resolveConfig(
  place: Place,
  whose: Whose,
  options: { allowUnverified: boolean; json?: boolean },
): string {
  const resolved = resolveIdentity(readConfigs(place.repo, place.env), whose.host, whose.role, options);
  if (!resolved.ok) throw new Rejection(faults(resolved.problems, place));
  const { identity } = resolved;
  if (options.json) return JSON.stringify({ ...whose, ...identity }, null, 2);
  const rows = Object.entries({ ...whose, ...identity }).map(([key, value]) => [key, String(value ?? '-')]);
  return rows.map(([key, value]) => `${key?.padEnd(12)} ${value}`).join('\n');
}

/** Problems of identities with commands that name the repository where they must. */
export const faults = (problems: readonly IdentityProblem[], { repo }: Place): Fault[] =>
  problems.map((problem) => ({ ...problem, message: forRepo(problem.message, repo) }));

/**
 * Both files as a run reads them, with names that it does not read, and which roles they serve.
 * @throws Rejection all problems together
 */
export function validateConfig(place: Place): string {
  const lines: string[] = [];
  const problems: Fault[] = [];
  for (const scope of scopes) {
    const file = readConfig(scope, place.repo, place.env);
    const parsed = file && parseIdentities(file);
    if (parsed && !parsed.ok) problems.push(...parsed.problems);
    lines.push(`${configPath(scope, place.repo, place.env)}: ${file ? 'valid' : 'not there'}`);
    if (file && parsed?.ok) lines.push(...unknownNames(file));
  }
  if (problems.length > 0) throw new Rejection(problems);
  const known = new Set(readRows(place).map(({ host, role }) => `${role} on ${host}`));
  const files = readConfigs(place.repo, place.env);
  for (const host of hosts) {
    for (const role of roles.filter((each) => known.has(`${each} on ${host}`))) {
      const resolved = resolveIdentity(files, host, role);
      const said = resolved.ok
        ? `${resolved.identity.model}, ${resolved.identity.effort}`
        : `a run would be rejected. ${resolved.problems[0]?.message}`;
      lines.push(`${role} on ${host}: ${forRepo(said, place.repo)}`);
    }
  }
  return lines.join('\n');
}

/** Makes an empty file; one that is there stays as it is. @throws Rejection */
export async function initConfig(place: Place): Promise<string> {
  const scope = place.scope ?? 'user';
  const file = configPath(scope, place.repo, place.env);
  if (existsSync(file))
    throw reject('exists', `${file} exists already; nothing was changed. "partner config get" shows it.`);
  await rewriteConfig(scope, place.repo, place.env, (found) => found?.text ?? emptyIdentities);
  const next = 'partner config set --host HOST --role ROLE --backend claude --model MODEL --effort EFFORT';
  return `${file} was made. Fill it: ${forRepo(next, place.repo)}`;
}

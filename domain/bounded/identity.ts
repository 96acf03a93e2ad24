// Who answers: host, role, and the identity that two TOML files give them (spec: bounded-claude 3).

import { parse, TomlDate, TomlError } from 'smol-toml';
import { asObject, asText, isObject, type Json } from './envelope.ts';

export const hosts = ['claude_code', 'codex'] as const;
export type Host = (typeof hosts)[number];

export const roles = ['deep_reasoner', 'fast_worker', 'arbiter'] as const;
export type Role = (typeof roles)[number];

export const backends = ['claude', 'codex'] as const;
export type Backend = (typeof backends)[number];

export const efforts = ['low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof efforts)[number];

/** A file of identities: its text, and how messages name it. Absent files are left out. */
export interface IdentityFile {
  path: string;
  text: string;
}

/** The repository's file lies over the user's, field by field. */
export interface IdentityFiles {
  repo?: IdentityFile;
  user?: IdentityFile;
}

export interface IdentityProblem {
  code: 'toml' | 'schema' | 'value' | 'missing' | 'incomplete' | 'backend' | 'alias' | 'unverified';
  /** The file, where the problem stands in one. */
  path?: string;
  /** 1-based. */
  line?: number;
  column?: number;
  /** What is wrong, and the command or the edit that mends it. */
  message: string;
}

/**
 * A table `[hosts.<host>.identities.<role>]` as written; fields of a wrong type are problems, unknown ones are left
 * alone.
 */
export interface IdentityFields {
  backend?: Backend;
  model?: string;
  effort?: Effort;
  verified?: boolean;
  verified_at?: string;
}

export interface Identity {
  backend: 'claude';
  model: string;
  effort: Effort;
  verified: boolean;
  verified_at: string | null;
  /** Which files it comes from; `demo`: none, a script answers by rule. */
  source: 'repo' | 'user' | 'repo over user' | 'demo';
}

type Layer = Record<Host, Partial<Record<Role, IdentityFields>>>;

export type ParsedIdentities = { ok: true; layer: Layer } | { ok: false; problems: IdentityProblem[] };

/** Reads one file: schema 2, known values. A schema 1 file is rejected with how to upgrade it. */
export function parseIdentities(file: IdentityFile): ParsedIdentities {
  let root: Json;
  try {
    root = asObject(parse(file.text));
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const { line, column } = error;
    const reason = error.message.split('\n')[0]!.replace(/^Invalid TOML document: /, '');
    const message = `${file.path}:${line}:${column} is no valid TOML: ${reason}.`;
    return { ok: false, problems: [{ code: 'toml', path: file.path, line, column, message }] };
  }
  const schema = schemaProblem(file, root);
  if (schema) return { ok: false, problems: [schema] };
  const problems: IdentityProblem[] = [];
  const layer: Layer = { claude_code: {}, codex: {} };
  for (const host of hosts) {
    const identities = asObject(asObject(asObject(root['hosts'])[host])['identities']);
    for (const role of roles) {
      if (identities[role] === undefined) continue;
      layer[host][role] = fieldsOf(identities[role], { file, host, role, problems });
    }
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, layer };
}

function schemaProblem({ path, text }: IdentityFile, root: Json): IdentityProblem | undefined {
  const version = root['schema_version'];
  const tables = Object.values(asObject(root['hosts'])).map(asObject);
  const line = text.split(/\r?\n/).findIndex((one) => /^\s*schema_version\s*=/.test(one)) + 1;
  const problem = (message: string): IdentityProblem => (
    { code: 'schema', path, ...(line > 0 ? { line } : {}), message }
  );
  if (version === 1 || tables.some((table) => table['roles'] !== undefined)) {
    return problem(
      `${path} has schema 1. To upgrade: set schema_version = 2, rename each [hosts.<host>.roles.<role>] to `
        + '[hosts.<host>.identities.<role>] and give it backend = "claude" or "codex"; or move the file away and run '
        + '`partner config init`, then `partner config set` for each role.',
    );
  }
  if (version === 2 || Object.keys(root).length === 0) return undefined;
  if (version === undefined) return problem(`${path} names no schema; add schema_version = 2 as its first line.`);
  return problem(
    `${path} has schema ${JSON.stringify(version)}, which this version does not know; it reads schema_version = 2.`,
  );
}

interface Place {
  file: IdentityFile;
  host: Host;
  role: Role;
  problems: IdentityProblem[];
}

function fieldsOf(table: unknown, place: Place): IdentityFields {
  const { file, host, role, problems } = place;
  const bad = (key: string, must: string): undefined => {
    const line = lineOf(file.text, host, role, key);
    const where = `${file.path}${line ? `:${line}` : ''}`;
    const message = `${where}: hosts.${host}.identities.${role}${key ? `.${key}` : ''} must be ${must}.`;
    problems.push({ code: 'value', path: file.path, ...(line ? { line } : {}), message });
    return undefined;
  };
  if (!isObject(table)) return bad('', 'a table') ?? {};
  const oneOf = <T extends string>(key: string, values: readonly T[]): T | undefined => {
    const value = table[key];
    if (value === undefined) return undefined;
    return values.find((known) => known === value) ?? bad(key, `one of ${values.join(', ')}`);
  };
  const text = (key: string): string | undefined => {
    const value = table[key];
    if (value === undefined) return undefined;
    if (value instanceof TomlDate) return value.toISOString();
    return typeof value === 'string' && value.trim() === value && value !== ''
      ? value
      : bad(key, 'a text that is not empty');
  };
  const verified = table['verified'];
  if (verified !== undefined && typeof verified !== 'boolean') bad('verified', 'true or false');
  const fields: { [K in keyof IdentityFields]: IdentityFields[K] | undefined } = {
    backend: oneOf('backend', backends),
    model: text('model'),
    effort: oneOf('effort', efforts),
    verified: typeof verified === 'boolean' ? verified : undefined,
    verified_at: text('verified_at'),
  };
  return defined(fields);
}

function defined(fields: { [K in keyof IdentityFields]: IdentityFields[K] | undefined }): IdentityFields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as IdentityFields;
}

/**
 * One layer over another, by field. A layer that changes backend, model or effort drops the verification that it
 * inherits; its own `verified = true` counts only where it names all three itself.
 */
export function overlay(below: IdentityFields, above: IdentityFields): IdentityFields {
  const keys = ['backend', 'model', 'effort'] as const;
  const changes = keys.some((key) => above[key] !== undefined && above[key] !== below[key]);
  const complete = keys.every((key) => above[key] !== undefined);
  const { verified: inherited, verified_at: inheritedAt, ...base } = below;
  const { verified: own, verified_at: ownAt, ...identity } = above;
  const merged: IdentityFields = { ...base, ...identity };
  if (own === false) return { ...merged, verified: false };
  if (own === true && complete) return { ...merged, verified: true, ...(ownAt ? { verified_at: ownAt } : {}) };
  if (changes || inherited !== true) return { ...merged, verified: false };
  return { ...merged, verified: true, ...(inheritedAt ? { verified_at: inheritedAt } : {}) };
}

export type ResolvedIdentity = { ok: true; identity: Identity } | { ok: false; problems: IdentityProblem[] };

/**
 * The identity of a role on a host, or why there is none and the command that mends it. Nothing is ever replaced: not
 * the model, not the effort, not the backend (spec: bounded-claude 3). `goesOn`: for a run that began earlier, which
 * takes no `--allow-unverified`: what it was allowed at its start holds for it to its end, also for an approved role.
 */
export function resolveIdentity(
  files: IdentityFiles,
  host: Host,
  role: Role,
  { allowUnverified = false, goesOn = false }: { allowUnverified?: boolean; goesOn?: boolean } = {},
): ResolvedIdentity {
  const parsed = { user: files.user && parseIdentities(files.user), repo: files.repo && parseIdentities(files.repo) };
  const problems = [parsed.repo, parsed.user].flatMap((one) => (one && !one.ok ? one.problems : []));
  if (problems.length > 0) return { ok: false, problems };
  const of = (one: ParsedIdentities | undefined): IdentityFields | undefined => (
    one?.ok ? one.layer[host][role] : undefined
  );
  const user = of(parsed.user);
  const repo = of(parsed.repo);
  const merged = overlay(overlay({}, user ?? {}), repo ?? {});
  const problem = identityProblem(merged, { host, role, present: Boolean(user ?? repo), allowUnverified, goesOn });
  if (problem) return { ok: false, problems: [problem] };
  const { model = '', effort = 'high', verified = false, verified_at } = merged;
  const source = user && repo ? 'repo over user' : repo ? 'repo' : 'user';
  return {
    ok: true,
    identity: { backend: 'claude', model, effort, verified, verified_at: verified_at ?? null, source },
  };
}

interface Asked {
  host: Host;
  role: Role;
  present: boolean;
  allowUnverified: boolean;
  goesOn: boolean;
}

function identityProblem(merged: IdentityFields, asked: Asked): IdentityProblem | undefined {
  const { host, role, present, allowUnverified, goesOn } = asked;
  const set = `partner config set --host ${host} --role ${role}`;
  if (!present) {
    const message = `No identity is configured for ${role} on ${host}. `
      + `Run: ${set} --backend claude --model MODEL --effort EFFORT`;
    return { code: 'missing', message };
  }
  const lacking = (['backend', 'model', 'effort'] as const).filter((key) => merged[key] === undefined);
  if (lacking.length > 0) {
    const flags = lacking.map((key) => `--${key} ${key === 'backend' ? 'claude' : key.toUpperCase()}`).join(' ');
    return {
      code: 'incomplete',
      message: `The identity of ${role} on ${host} lacks ${lacking.join(', ')}. Run: ${set} ${flags}`,
    };
  }
  if (merged.backend !== 'claude') {
    const message = `The identity of ${role} on ${host} has backend ${merged.backend}, `
      + `but bounded planning runs Claude only. `
      + `Choose another role, or run: ${set} --backend claude --model MODEL --effort EFFORT`;
    return { code: 'backend', message };
  }
  if (!isFullModelName(merged.model ?? '')) {
    const message = `Model ${merged.model} of ${role} on ${host} is an alias; it can run another model than it says. `
      + `Name the model in full, such as claude-opus-4-8. Run: ${set} --model MODEL`;
    return { code: 'alias', message };
  }
  if (merged.verified || allowUnverified) return undefined;
  const once = goesOn ? '' : ' (or allow it once with --allow-unverified)';
  const message = `The identity of ${role} on ${host} (${merged.model}, ${merged.effort}) is not verified. `
    + `Run: partner verify --host ${host} --role ${role}${once}`;
  return { code: 'unverified', message };
}

/**
 * A full model name has its version in it (`claude-opus-4-8`, `claude-opus-4-8[1m]`); `opus` or `…-latest` are aliases.
 */
export function isFullModelName(model: string): boolean {
  const name = model.replace(/\[[\w-]+\]$/, '');
  return /^[A-Za-z0-9][\w.:@/-]*$/.test(name) && /claude-/.test(name) && /\d/.test(name) && !/-latest$/.test(name);
}

/** The line of a key in a role's own table; undefined where the file is written in another form. */
export function lineOf(toml: string, host: Host, role: Role, key: string): number | undefined {
  const lines = toml.split(/\r?\n/);
  const head = lines.findIndex((line) => isHeaderOf(line, host, role));
  if (head < 0) return undefined;
  if (key === '') return head + 1;
  const length = lines.slice(head + 1).findIndex((line) => /^\s*\[/.test(line));
  const end = length < 0 ? lines.length : head + 1 + length;
  const found = lines.slice(head, end).findIndex((line) => isKeyLine(line, key));
  return found < 0 ? head + 1 : head + found + 1;
}

export const isKeyLine = (line: string, key: string): boolean => new RegExp(
  `^\\s*(?:${key}|"${key}"|'${key}')\\s*=`,
).test(line);

/** True for the line that begins a role's table, however it is spaced or quoted. */
export function isHeaderOf(line: string, host: Host, role: Role): boolean {
  const header = /^\s*\[([^[\]]+)\]\s*(?:#.*)?$/.exec(line)?.[1];
  if (header === undefined) return false;
  const parts = header.split('.').map((part) => part.trim().replace(/^(["'])(.*)\1$/, '$2'));
  return parts.join('.') === `hosts.${host}.identities.${role}`;
}

/** Text of a value that is one of the closed lists; for arguments of commands. */
export const isHost = (text: string): text is Host => hosts.some((host) => host === text);
export const isRole = (text: string): text is Role => roles.some((role) => role === text);
export const isEffort = (text: string): text is Effort => efforts.some((effort) => effort === text);
export const isBackend = (text: string): text is Backend => backends.some((backend) => backend === text);

/** A field of an identity from parsed TOML, as text; for `partner config get`. */
export const fieldText = (fields: IdentityFields, key: keyof IdentityFields): string | undefined =>
  fields[key] === undefined ? undefined : asText(String(fields[key]));

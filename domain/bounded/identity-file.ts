// Rewriting a file of identities: what does not change keeps its bytes (spec: bounded-claude 3).

import { isEqual } from './equal.ts';
import { parse } from 'smol-toml';
import { invalid } from '../errors.ts';
import { asObject, type Json } from './envelope.ts';
import {
  isFullModelName,
  isHeaderOf,
  isKeyLine,
  parseIdentities,
  type Host,
  type IdentityFields,
  type IdentityFile,
  type Role,
} from './identity.ts';

const keys = ['backend', 'model', 'effort', 'verified', 'verified_at'] as const;
type Key = (typeof keys)[number];

/** The text of a new, empty file. */
export const emptyIdentities = 'schema_version = 2\nrevision = 0\n';

/**
 * Sets fields of a role's identity and returns the file's new text. A change of backend, model or effort drops
 * `verified` and `verified_at`, unless they are given. Comments, order and unknown sections survive. Throws
 * `invalid_argument` for a file that can't be read, a model alias, or a form that can't be rewritten.
 */
export function setIdentity(file: IdentityFile, host: Host, role: Role, change: IdentityFields): string {
  const text = file.text.trim() === '' ? emptyIdentities : file.text;
  const parsed = parseIdentities({ path: file.path, text });
  if (!parsed.ok) throw invalid(parsed.problems.map((problem) => problem.message).join('\n'));
  const before = parsed.layer[host][role] ?? {};
  const backend = change.backend ?? before.backend;
  if (change.model !== undefined && backend !== 'codex' && !isFullModelName(change.model)) {
    throw invalid(`Model ${change.model} is an alias; name the model in full, such as claude-opus-4-8.`);
  }
  const after = changed(before, change);
  const result = rewritten(text, host, role, after);
  assertOnlyThat({ path: file.path, text }, result, host, role, after);
  return result;
}

function changed(before: IdentityFields, change: IdentityFields): IdentityFields {
  const differs = (['backend', 'model', 'effort'] as const).some(
    (key) => change[key] !== undefined && change[key] !== before[key],
  );
  const { verified, verified_at, ...identity } = before;
  const kept = differs || change.verified === false ? identity : { ...identity, ...pick({ verified, verified_at }) };
  return pick({ ...kept, ...change });
}

const pick = (fields: { [K in Key]?: IdentityFields[K] | undefined }): IdentityFields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as IdentityFields;

function rewritten(text: string, host: Host, role: Role, fields: IdentityFields): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const lines = text.split(/\r?\n/);
  const head = lines.findIndex((line) => isHeaderOf(line, host, role));
  if (head < 0) {
    const section = [`[hosts.${host}.identities.${role}]`, ...keys.flatMap((key) => lineFor(key, fields))];
    const body = text.replace(/(?:\r?\n)*$/, '');
    return `${body}${eol}${eol}${section.join(eol)}${eol}`;
  }
  const next = lines.slice(head + 1).findIndex((line) => /^\s*\[/.test(line));
  const end = next < 0 ? lines.length : head + 1 + next;
  const section = lines.slice(head + 1, end);
  const present = keys.filter((key) => section.some((line) => isKeyLine(line, key)));
  const kept = section.flatMap((line) => {
    const key = keys.find((one) => isKeyLine(line, one));
    return key === undefined ? [line] : replaced(line, key, fields);
  });
  const last = kept.findLastIndex((line) => line.trim() !== '' && !/^\s*#/.test(line));
  const added = keys.filter((key) => !present.includes(key)).flatMap((key) => lineFor(key, fields));
  kept.splice(last + 1, 0, ...added);
  return [...lines.slice(0, head + 1), ...kept, ...lines.slice(end)].join(eol);
}

function lineFor(key: Key, fields: IdentityFields): string[] {
  const value = fields[key];
  return value === undefined ? [] : [`${key} = ${JSON.stringify(value)}`];
}

/** The line with its new value and its old comment; gone when the field is. */
function replaced(line: string, key: Key, fields: IdentityFields): string[] {
  const [fresh] = lineFor(key, fields);
  if (fresh === undefined) return [];
  const comment = /=\s*(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^#"']*?)(\s*#.*)$/.exec(line)?.[1] ?? '';
  const indent = /^\s*/.exec(line)?.[0] ?? '';
  return [`${indent}${fresh}${comment}`];
}

/** The rewrite must say what was asked for, and nothing else must have changed. */
function assertOnlyThat(file: IdentityFile, text: string, host: Host, role: Role, fields: IdentityFields): void {
  const expected = asObject(parse(file.text));
  const table = child(child(child(expected, 'hosts'), host), 'identities');
  const own = child(table, role);
  for (const key of keys) {
    if (fields[key] === undefined) delete own[key];
    else own[key] = fields[key];
  }
  let actual: unknown;
  try {
    actual = parse(text);
  } catch {
    actual = undefined;
  }
  if (isEqual(actual, expected)) return;
  throw invalid(
    `${file.path} writes hosts.${host}.identities.${role} in a form that can't be rewritten safely. `
      + `Write it as a table [hosts.${host}.identities.${role}] with one key a line, then try again.`,
  );
}

function child(parent: Json, key: string): Json {
  parent[key] ??= {};
  return asObject(parent[key]);
}

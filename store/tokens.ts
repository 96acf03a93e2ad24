// Subjects and the tokens that speak for them. Of a token only its SHA-256 is stored; the token itself is shown once.

import { createHash, randomBytes } from 'node:crypto';
import { v7 as uuidv7, validate as isUuid } from 'uuid';
import { actions as allActions, type Action, type Principal, type SubjectKind } from '../domain/actor.ts';
import { DomainError, invalid, notFound } from '../domain/errors.ts';
import { characters, isBlank, storable } from '../domain/text.ts';
import type { Queryable, Tx } from './database.ts';
import { subjectOf, type VerifyAccessToken } from './issued-subjects.ts';

export interface NewToken {
  subject: string;
  /** At most 200 characters. */
  label?: string;
  /** In the future. */
  expires_at: Date;
  /** The only actions that the token carries; absent: all of its subject's. */
  actions?: readonly Action[];
}

export interface TokenInfo {
  id: string;
  subject: string;
  label: string;
  actions?: Action[];
  created_at: string;
  expires_at: string;
  revoked_at?: string;
}

export interface Authenticated {
  principal: Principal;
  expires_at: string;
  /** Absent: an identity provider's token, which can't be revoked here. */
  token_id?: string;
}

const unauthenticatedText =
  'The token is missing, unknown, expired or revoked. Present a valid one; "planner token create" makes one.';

/** Makes a human or service known. Errors: invalid_argument, already_exists. */
export async function createSubject(
  tx: Tx,
  { subject, kind, name }: { subject: string; kind: SubjectKind; name: string },
): Promise<void> {
  if (!/^[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}$/.test(subject)) {
    throw invalid('A subject is 1-128 of letters, digits and ._@+-, starting with a letter or digit.');
  }
  if (isBlank(name) || characters(name) > 200) {
    throw invalid('A subject\'s name has 1-200 characters and is not blank.');
  }
  const rows = await tx.query(
    'INSERT INTO subjects (subject, kind, name) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING subject',
    [subject, kind, storable(name)],
  );
  if (rows.length === 0) throw new DomainError('already_exists', `The subject ${subject} exists already.`);
}

/** Makes a token: `plt_` and 32 random bytes in base64url. Errors: invalid_argument, not_found (the subject). */
export async function createToken(tx: Tx, input: NewToken): Promise<{ id: string; token: string }> {
  const label = storable(input.label ?? '');
  if (characters(label) > 200) throw invalid('A token\'s label has at most 200 characters.');
  if (!(input.expires_at.getTime() > Date.now())) throw invalid('A token\'s expiry must lie in the future.');
  if (input.actions) checkActions(input.actions);
  const known = await tx.query('SELECT 1 FROM subjects WHERE subject = $1', [storable(input.subject)]);
  if (known.length === 0) throw notFound(`There is no subject ${input.subject}.`);
  const token = `plt_${randomBytes(32).toString('base64url')}`;
  const id = uuidv7();
  await tx.query(
    'INSERT INTO tokens (id, subject, hash, label, actions, expires_at) VALUES ($1, $2, $3, $4, $5, $6)',
    [id, input.subject, hashOf(token), label, input.actions ?? null, input.expires_at.toISOString()],
  );
  return { id, token };
}

function checkActions(wanted: readonly Action[]): void {
  if (wanted.length === 0) {
    throw invalid('A token that carries no action is of no use; name one, or leave actions out.');
  }
  const unknown = wanted.filter((action) => !allActions.includes(action));
  if (unknown.length > 0) {
    throw invalid(`Unknown actions: ${unknown.join(', ')}. Known ones: ${allActions.join(', ')}.`);
  }
}

/** All tokens, or a subject's, newest first. */
export async function listTokens(q: Queryable, filter: { subject?: string } = {}): Promise<TokenInfo[]> {
  const rows = await q.query<{
    id: string;
    subject: string;
    label: string;
    actions: Action[] | null;
    created_at: string;
    expires_at: string;
    revoked_at: string | null;
  }>(
    `SELECT id, subject, label, actions, created_at, expires_at, revoked_at
     FROM tokens WHERE $1::text IS NULL OR subject = $1 ORDER BY created_at DESC, id DESC`,
    [filter.subject ?? null],
  );
  return rows.map(({ actions, revoked_at, ...row }) => ({
    ...row,
    ...(actions ? { actions } : {}),
    ...(revoked_at ? { revoked_at } : {}),
  }));
}

/** Revokes a token for good; sockets that it opened close at once. A repeat changes nothing. Errors: not_found. */
export async function revokeToken(tx: Tx, id: string): Promise<void> {
  const rows = isUuid(id)
    ? await tx.query('UPDATE tokens SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1 RETURNING id', [id])
    : [];
  if (rows.length === 0) throw notFound(`There is no token ${id}. "planner token list" shows the ids.`);
  tx.notify({ channel: 'tokens', id });
}

/**
 * Whom a presented token speaks for. `verify`: judges access tokens of an identity provider, where one is configured.
 * Errors: unauthenticated, one text for missing, unknown, expired and revoked; unavailable (the provider's keys).
 */
export async function authenticate(
  q: Queryable,
  token: string | undefined,
  verify?: VerifyAccessToken,
): Promise<Authenticated> {
  const known = token === undefined ? undefined : await (isOurs(token) ? ownToken(q, token) : issued(q, token, verify));
  if (!known) throw new DomainError('unauthenticated', unauthenticatedText);
  return known;
}

const isOurs = (token: string): boolean => /^plt_[A-Za-z0-9_-]{43}$/.test(token);

async function issued(
  q: Queryable,
  token: string,
  verify: VerifyAccessToken | undefined,
): Promise<Authenticated | undefined> {
  const identity = await verify?.(token);
  return identity && { principal: await subjectOf(q, identity), expires_at: identity.expires_at };
}

async function ownToken(q: Queryable, token: string): Promise<Authenticated | undefined> {
  const [row] = await q.query<{
    id: string;
    subject: string;
    kind: SubjectKind;
    actions: Action[] | null;
    expires_at: string;
  }>(
    `SELECT t.id, t.subject, s.kind, t.actions, t.expires_at
     FROM tokens t JOIN subjects s USING (subject)
     WHERE t.hash = $1 AND t.revoked_at IS NULL AND t.expires_at > clock_timestamp()`,
    [hashOf(token)],
  );
  return row && {
    principal: { subject: row.subject, kind: row.kind, ...(row.actions ? { actions: row.actions } : {}) },
    expires_at: row.expires_at,
    token_id: row.id,
  };
}

/** Those of the tokens that are revoked by now. */
export async function revokedAmong(q: Queryable, ids: readonly string[]): Promise<string[]> {
  const rows = await q.query<{ id: string }>(
    'SELECT id FROM tokens WHERE id = ANY($1::uuid[]) AND revoked_at IS NOT NULL',
    [ids],
  );
  return rows.map((row) => row.id);
}

/** A subject's kind and display name. */
export async function readSubject(q: Queryable, subject: string): Promise<{ kind: SubjectKind; name: string }> {
  const [row] = await q.query<{ kind: SubjectKind; name: string }>(
    'SELECT kind, name FROM subjects WHERE subject = $1',
    [subject],
  );
  if (!row) throw notFound(`There is no subject ${subject}.`);
  return row;
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

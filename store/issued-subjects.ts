// Subjects whose tokens come from an identity provider: known from the first sight of a token on (spec: planner 5).

import { createHash } from 'node:crypto';
import type { Principal, SubjectKind } from '../domain/actor.ts';
import { firstCharacters, isBlank, storable } from '../domain/text.ts';
import type { Queryable } from './database.ts';

/** Whom a checked access token speaks for, in the words of who issued it. */
export interface IssuedIdentity {
  issuer: string;
  /** What the issuer calls the subject: unique there, 1-255 characters that PostgreSQL can store. */
  external: string;
  kind: SubjectKind;
  /** For display. */
  name?: string;
  expires_at: string;
}

/**
 * Whom an access token speaks for; undefined when it is none that counts.
 * @throws DomainError unavailable: the issuer's keys can't be had, the token may be good
 */
export type VerifyAccessToken = (token: string) => Promise<IssuedIdentity | undefined>;

interface Row {
  subject: string;
  kind: SubjectKind;
  name: string;
}

/**
 * The subject of an identity. At first sight it is made known, without any right. It keeps the name that it got then,
 * which is never the name of a subject that was made here: who is called "admin" elsewhere is not our "admin".
 */
export async function subjectOf(q: Queryable, identity: IssuedIdentity): Promise<Principal> {
  const row = (await find(q, identity)) ?? (await create(q, identity));
  const name = displayName(identity.name);
  if (row.kind !== identity.kind || (name !== undefined && row.name !== name)) {
    await q.query('UPDATE subjects SET kind = $2, name = coalesce($3, name) WHERE subject = $1', [
      row.subject,
      identity.kind,
      name ?? null,
    ]);
  }
  return { subject: row.subject, kind: identity.kind };
}

async function find(q: Queryable, { issuer, external }: IssuedIdentity): Promise<Row | undefined> {
  const [row] = await q.query<Row & Record<string, string>>(
    'SELECT subject, kind, name FROM subjects WHERE issuer = $1 AND external = $2',
    [issuer, external],
  );
  return row;
}

async function create(q: Queryable, identity: IssuedIdentity): Promise<Row> {
  const { issuer, external, kind } = identity;
  for (const subject of subjectNames(identity)) {
    await q.query(
      `INSERT INTO subjects (subject, kind, name, issuer, external) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT DO NOTHING`,
      [subject, kind, displayName(identity.name) ?? subject, issuer, external],
    );
    // Made by this call, or by another one at the same time; neither: the name is another subject's.
    const row = await find(q, identity);
    if (row) return row;
  }
  throw new Error('no free name for a subject');
}

/** The issuer's own name where it can be one of ours; and one that is surely free. */
function subjectNames({ issuer, external }: IssuedIdentity): string[] {
  const hash = createHash('sha256').update(JSON.stringify([issuer, external])).digest('hex');
  const plain = external.replace(/[^A-Za-z0-9._@+-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '');
  const marked = [8, 32].map((length) => `${plain.slice(0, 90) || 'subject'}-${hash.slice(0, length)}`);
  return plain === external && plain.length <= 128 ? [plain, ...marked] : marked;
}

function displayName(name: string | undefined): string | undefined {
  if (name === undefined || isBlank(name)) return undefined;
  return firstCharacters(storable(name).replace(/\s+/g, ' ').trim(), 200);
}

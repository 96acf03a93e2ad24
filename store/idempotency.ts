// Answers of POST requests by Idempotency-Key: the same request again gets the stored answer (spec: planner 10).

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { conflict, invalid } from '../domain/errors.ts';
import type { Database, Queryable } from './database.ts';

export interface KeyedRequest {
  subject: string;
  /** 1-255 visible ASCII characters. */
  key: string;
  /** SHA-256 of what was asked. */
  hash: Buffer;
}

export interface KeptAnswer {
  status: number;
  body: unknown;
}

/** Stores the answer; in the transaction of the effect, so that both are there or neither. */
export type Keep = (q: Queryable, answer: KeptAnswer) => Promise<void>;

export interface OnceOptions {
  /** How long to wait for a request with the same key that is under way. Default 10 s. */
  waitMs?: number;
  /** A request under way for longer is taken to have died with its process. Default 60 s. */
  staleMs?: number;
}

/**
 * Runs `work` once a key and returns its answer, or the stored one. A failed request frees its key. `work` may keep the
 * answer itself, in its transaction; else it is kept afterwards.
 * Errors: invalid_argument (the key), conflict (another request's key, or still under way after `waitMs`).
 */
export async function once(
  database: Database,
  request: KeyedRequest,
  work: (keep: Keep) => Promise<KeptAnswer>,
  options: OnceOptions = {},
): Promise<KeptAnswer> {
  if (!/^[\x21-\x7e]{1,255}$/.test(request.key)) {
    throw invalid('Idempotency-Key: expected 1-255 visible ASCII characters.');
  }
  const claim = randomUUID();
  const until = Date.now() + (options.waitMs ?? 10_000);
  const staleMs = options.staleMs ?? 60_000;
  for (let wait = 10; !(await take(database, request, claim, staleMs)); wait = Math.min(wait * 2, 200)) {
    const kept = await find(database, request);
    if (kept === 'gone') continue;
    if (kept) return kept;
    if (Date.now() > until) throw conflict('A request with this Idempotency-Key is still under way. Try again later.');
    await sleep(wait);
  }
  let done = false;
  const keep: Keep = async (q, answer) => {
    const rows = await q.query(
      `UPDATE idempotency_keys SET status = $4, response = $5
       WHERE subject = $1 AND key = $2 AND status = 0 AND response ->> 'claim' = $3 RETURNING key`,
      [request.subject, request.key, claim, answer.status, JSON.stringify(answer.body)],
    );
    if (rows.length === 0) throw conflict('This request took too long and was taken over by its repetition.');
    done = true;
  };
  try {
    const answer = await work(keep);
    if (!done) await keep(database, answer);
    return answer;
  } catch (error) {
    await release(database, request, claim).catch(() => undefined);
    throw error;
  }
}

async function take(database: Database, request: KeyedRequest, claim: string, staleMs: number): Promise<boolean> {
  const rows = await database.query(
    `INSERT INTO idempotency_keys AS k (subject, key, request_hash, status, response)
     VALUES ($1, $2, $3, 0, jsonb_build_object('claim', $4::text))
     ON CONFLICT (subject, key) DO UPDATE SET response = excluded.response, created_at = now()
       WHERE k.status = 0 AND k.request_hash = excluded.request_hash
         AND k.created_at < now() - make_interval(secs => $5)
     RETURNING key`,
    [request.subject, request.key, request.hash, claim, staleMs / 1_000],
  );
  return rows.length > 0;
}

async function find(database: Database, request: KeyedRequest): Promise<KeptAnswer | 'gone' | undefined> {
  const [row] = await database.query<{ same: boolean; status: number; response: unknown }>(
    'SELECT request_hash = $3 AS same, status, response FROM idempotency_keys WHERE subject = $1 AND key = $2',
    [request.subject, request.key, request.hash],
  );
  if (!row) return 'gone';
  if (!row.same) throw conflict('This Idempotency-Key was used for another request. Use a new key for each request.');
  return row.status === 0 ? undefined : { status: row.status, body: row.response };
}

async function release(database: Database, request: KeyedRequest, claim: string): Promise<void> {
  await database.query(
    `DELETE FROM idempotency_keys WHERE subject = $1 AND key = $2 AND status = 0 AND response ->> 'claim' = $3`,
    [request.subject, request.key, claim],
  );
}

/** Forgets keys that are older than that; default a day. */
export async function pruneIdempotencyKeys(q: Queryable, hours = 24): Promise<void> {
  await q.query('DELETE FROM idempotency_keys WHERE created_at < now() - make_interval(hours => $1)', [hours]);
}

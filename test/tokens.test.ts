// Tokens: stored hashed, with a subject and an expiry.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { transaction } from '../store/database.ts';
import { authenticate, createSubject, createToken, listTokens, revokeToken } from '../store/tokens.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';
import { inHours, makeToken } from './support/api.ts';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
  await transaction(db.database, (tx) => createSubject(tx, { subject: 'ada', kind: 'human', name: 'Ada' }));
});
afterAll(() => db.drop());

test('spec: planner 1.18: a token speaks for its subject with the actions that it carries', async () => {
  const narrow = { subject: 'ada', expires_at: inHours(1), actions: ['tracker.read' as const] };
  const { id, token } = await makeToken(db.database, narrow);
  expect(token).toMatch(/^plt_[A-Za-z0-9_-]{43}$/);
  const who = await authenticate(db.database, token);
  expect(who).toMatchObject({ token_id: id, principal: { subject: 'ada', kind: 'human', actions: ['tracker.read'] } });
});

test('only the hash of a token is stored, and listings never show the token', async () => {
  const { id, token } = await makeToken(db.database, { subject: 'ada', label: 'laptop', expires_at: inHours(1) });
  const rows = await db.database.query<{ row: string }>('SELECT t::text AS row FROM tokens t');
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.filter(({ row }) => row.includes(token.slice(4)))).toEqual([]);
  const listed = await listTokens(db.database, { subject: 'ada' });
  expect(listed[0]).toMatchObject({ id, label: 'laptop' });
  expect(JSON.stringify(listed)).not.toContain(token.slice(4));
});

test('missing, malformed, unknown, expired and revoked tokens are refused with one and the same text', async () => {
  const { id, token: revoked } = await makeToken(db.database, { subject: 'ada', expires_at: inHours(1) });
  await transaction(db.database, (tx) => revokeToken(tx, id));
  const { id: old, token: expired } = await makeToken(db.database, { subject: 'ada', expires_at: inHours(1) });
  await db.database.query(`UPDATE tokens SET expires_at = now() - interval '1 s' WHERE id = $1`, [old]);
  const unknown = `plt_${'A'.repeat(43)}`;
  const texts = await Promise.all(
    [undefined, '', 'plt_x', unknown, revoked, expired, `${revoked}\0`].map((token) =>
      authenticate(db.database, token).then(
        () => 'accepted',
        (error: Error & { code: string }) => `${error.code}: ${error.message}`,
      ),
    ),
  );
  expect(new Set(texts).size).toBe(1);
  expect(texts[0]).toMatch(/^unauthenticated: .*planner token create/);
});

test('a token needs a known subject, an expiry in the future, and known actions', async () => {
  const make = (input: Parameters<typeof createToken>[1]) => transaction(db.database, (tx) => createToken(tx, input));
  await expect(make({ subject: 'nobody', expires_at: inHours(1) })).rejects.toMatchObject({ code: 'not_found' });
  const good = { subject: 'ada', expires_at: inHours(1) };
  for (const expires_at of [new Date(0), new Date(Number.NaN)]) {
    await expect(make({ ...good, expires_at })).rejects.toMatchObject({ code: 'invalid_argument' });
  }
  await expect(make({ ...good, actions: [] })).rejects.toThrow('no action');
  await expect(make({ ...good, actions: ['fly' as 'tracker.read'] })).rejects.toThrow('fly');
});

test('revoking an unknown token is an error that says how to find ids; revoking twice is none', async () => {
  const { id } = await makeToken(db.database, { subject: 'ada', expires_at: inHours(1) });
  await transaction(db.database, (tx) => revokeToken(tx, id));
  await transaction(db.database, (tx) => revokeToken(tx, id));
  await expect(transaction(db.database, (tx) => revokeToken(tx, 'x'))).rejects.toThrow('planner token list');
});

// Access tokens of an OpenID Connect provider, against an issuer on this computer (spec: planner 5).

import { exportSPKI, generateKeyPair, type JWTPayload } from 'jose';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { oidcVerifier, type OidcOptions } from '../api/oidc.ts';
import { systemActor } from '../domain/actor.ts';
import { transaction } from '../store/database.ts';
import type { VerifyAccessToken } from '../store/issued-subjects.ts';
import { bindRole } from '../store/role-bindings.ts';
import { authenticate, createSubject, createToken, readSubject } from '../store/tokens.ts';
import { inHours, startTestApi, type TestApi } from './support/api.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';
import { audience, makeKey, startIssuer, type Issuer } from './support/issuer.ts';

const now = (): number => Math.floor(Date.now() / 1_000);
const warnings: string[] = [];
const verifier = (issuer: Issuer, options: Partial<OidcOptions> = {}): VerifyAccessToken =>
  oidcVerifier({ issuer: issuer.issuer, audience, warn: (text) => void warnings.push(text), ...options });

let provider: Issuer;
let db: TestDatabase;
beforeAll(async () => {
  [provider, db] = await Promise.all([startIssuer(), createTestDatabase()]);
});
afterAll(async () => {
  await Promise.all([provider.close(), db.drop()]);
});

describe('spec: planner 5: an access token of the identity provider', () => {
  test('speaks for its subject until its exp; the keys are fetched once', async () => {
    const verify = verifier(provider);
    const before = provider.asked.keys;
    const exp = now() + 100;
    for (let n = 0; n < 5; n++) {
      expect(await verify(await provider.sign({ exp, name: 'Olga O.' }))).toEqual({
        issuer: provider.issuer,
        external: 'olga',
        kind: 'human',
        name: 'Olga O.',
        expires_at: new Date(exp * 1_000).toISOString(),
      });
    }
    expect(provider.asked.keys - before).toBe(1);
  });

  const headers: [string, Record<string, unknown>][] = [
    ['of an identity token\'s type', { typ: 'id+jwt' }],
    ['of a logout token\'s type', { typ: 'logout+jwt' }],
    ['with a demand that we do not know', { crit: ['x'], x: 1 }],
  ];
  const claims: [string, JWTPayload][] = [
    ['of another issuer', { iss: 'https://elsewhere.example' }],
    ['for another audience', { aud: 'another-api' }],
    ['for nobody in particular', { aud: undefined } as unknown as JWTPayload],
    ['that has expired', { exp: now() - 1 }],
    ['without an expiry', { exp: undefined } as unknown as JWTPayload],
    ['whose expiry is no number', { exp: 'never' as unknown as number }],
    ['that begins in more than a minute', { nbf: now() + 900 }],
    ['without a subject', { sub: undefined } as unknown as JWTPayload],
    ['with a blank subject', { sub: ' ' }],
    ['with a subject that no database can hold', { sub: 'a\0b' }],
    ['that is an identity token', { nonce: 'n-1' }],
    ['that is an identity token by its hash', { at_hash: 'x' }],
    ['that is a refresh token', { typ: 'Refresh' }],
    ['that is bound to a key', { cnf: { jkt: 'x' } }],
  ];

  test.each([
    ...headers.map(([what, header]) => [what, {}, header] as const),
    ...claims.map(([what, changed]) => [what, changed, {}] as const),
  ])('%s is refused', async (_what, changed, header) => {
    const verify = verifier(provider);
    expect(await verify(await provider.sign(changed, header))).toBeUndefined();
    expect(await verify(await provider.sign())).toBeDefined();
  });

  test('a beginning up to a minute ahead of our clock is none to wait for', async () => {
    expect(await verifier(provider)(await provider.sign({ nbf: now() + 30, iat: now() + 30 }))).toBeDefined();
  });

  test('one expiry in a far future is a date all the same', async () => {
    const identity = await verifier(provider)(await provider.sign({ exp: 1e14 }));
    expect(identity?.expires_at).toBe('9999-01-01T00:00:00.000Z');
  });

  test('no signature, a shared secret, another key under the same name: refused, and no key is asked for by the first two', async () => {
    const own = await startIssuer();
    try {
      const verify = verifier(own);
      const [, payload] = (await own.sign()).split('.');
      const none = Buffer.from('{"alg":"none"}').toString('base64url');
      expect(await verify(`${none}.${payload}.AAAA`)).toBeUndefined();
      // The public key as a shared secret: the confusion that a fixed list of algorithms excludes.
      const { publicKey } = await generateKeyPair('RS256', { extractable: true });
      const secret = new TextEncoder().encode(await exportSPKI(publicKey));
      expect(await verify(await own.sign({}, { alg: 'HS256' }, secret))).toBeUndefined();
      expect(own.asked).toEqual({ keys: 0, discovery: 0 });
      const other = await makeKey('k1');
      expect(await verify(await own.sign({}, {}, other.privateKey))).toBeUndefined();
      expect(own.asked).toEqual({ keys: 1, discovery: 1 });
    } finally {
      await own.close();
    }
  });

  test('a token that does not name its key is judged by each key that may be it', async () => {
    const keys = [await makeKey('a'), await makeKey('b')];
    const own = await startIssuer({ keys });
    try {
      const verify = verifier(own);
      const stranger = await makeKey('c');
      for (const { privateKey } of keys) {
        expect(await verify(await own.sign({}, { kid: undefined }, privateKey))).toBeDefined();
      }
      expect(await verify(await own.sign({}, { kid: undefined }, stranger.privateKey))).toBeUndefined();
    } finally {
      await own.close();
    }
  });

  test.each<[string, JWTPayload, Partial<OidcOptions>, 'human' | 'service']>([
    ['a client on its own, by client_id', { sub: 'ci', client_id: 'ci' }, {}, 'service'],
    ['a client on its own, by azp', { sub: 'ci', client_id: 'x', azp: 'ci' }, {}, 'service'],
    ['a human behind a client', { sub: 'ada', client_id: 'page', azp: 'page' }, {}, 'human'],
    ['a mark that is configured', { gty: 'cc' }, { service: { claim: 'gty', value: 'cc' } }, 'service'],
    ['one mark of a list', { roles: ['a', 'bot'] }, { service: { claim: 'roles', value: 'bot' } }, 'service'],
    ['another mark', { gty: 'password' }, { service: { claim: 'gty', value: 'cc' } }, 'human'],
  ])('%s is told apart', async (_what, given, options, kind) => {
    expect(await verifier(provider, options)(await provider.sign(given))).toMatchObject({ kind });
  });

  test('the subject may be another claim; an address of mail counts unless it is known to be unverified', async () => {
    const verify = verifier(provider, { subjectClaim: 'email' });
    const email = 'olga@example.org';
    expect(await verify(await provider.sign({ email, email_verified: true }))).toMatchObject({ external: email });
    expect(await verify(await provider.sign({ email, email_verified: false }))).toBeUndefined();
    expect(await verify(await provider.sign())).toBeUndefined();
  });

  test('why tokens were refused is told to operators, without any token', async () => {
    const told: string[] = [];
    const verify = verifier(provider, { warn: (text) => void told.push(text) });
    const token = await provider.sign({ aud: 'another-api' });
    await verify(token);
    await verify(token);
    expect(told).toEqual([expect.stringContaining('"aud"')]);
    expect(told.join()).not.toContain(token.split('.')[1]);
  });
});

describe('the issuer\'s keys', () => {
  test('a key that is not known is looked for, at most once in the time of cooling down', async () => {
    const own = await startIssuer();
    try {
      const verify = verifier(own, { cooldownMs: 300 });
      expect(await verify(await own.sign())).toBeDefined();
      const old = await own.sign();
      await own.turnOver();
      const fresh = await own.sign();
      const asked = own.asked.keys;
      await Promise.all(Array.from({ length: 20 }, () => verify(fresh)));
      expect(own.asked.keys).toBe(asked);
      await vi.waitFor(async () => expect(await verify(fresh)).toBeDefined(), { timeout: 3_000, interval: 50 });
      expect(own.asked.keys).toBe(asked + 1);
      expect(await verify(old)).toBeUndefined();
    } finally {
      await own.close();
    }
  });

  test('an issuer that can\'t be reached makes a token unavailable, not bad; it counts once the issuer is back', async () => {
    const own = await startIssuer();
    const port = Number(new URL(own.issuer).port);
    const key = await makeKey('k1');
    const token = await own.sign({}, {}, key.privateKey);
    await own.close();
    const verify = verifier(own);
    await expect(verify(token)).rejects.toMatchObject({ code: 'unavailable' });
    const back = await startIssuer({ port, keys: [key] });
    try {
      await vi.waitFor(async () => expect(await verify(token)).toBeDefined(), { timeout: 5_000, interval: 100 });
    } finally {
      await back.close();
    }
  });

  test('known keys go on counting while the issuer is away, until they are too old', async () => {
    const own = await startIssuer();
    const verify = verifier(own, { cooldownMs: 0, keysMaxAgeMs: 1_500 });
    const known = await own.sign();
    expect(await verify(known)).toBeDefined();
    const unknown = await own.sign({}, { kid: 'k9' });
    await own.close();
    await expect(verify(unknown)).rejects.toMatchObject({ code: 'unavailable' });
    expect(await verify(known)).toBeDefined();
    await vi.waitFor(() => expect(verify(known)).rejects.toMatchObject({ code: 'unavailable' }), 5_000);
  });

  test('an issuer that fails is left alone for a moment, however many tokens come', async () => {
    const own = await startIssuer();
    try {
      own.broken = true;
      const verify = verifier(own);
      const token = await own.sign();
      for (let n = 0; n < 20; n++) await expect(verify(token)).rejects.toMatchObject({ code: 'unavailable' });
      expect(own.asked.discovery).toBeLessThanOrEqual(2);
    } finally {
      await own.close();
    }
  });

  test.each([
    ['calls itself something else', (own: Issuer) => ({ issuer: `${own.issuer}/`, jwks_uri: `${own.issuer}/keys` })],
    ['has its keys at an unsafe address', (own: Issuer) => ({ issuer: own.issuer, jwks_uri: 'http://keys.example/k' })],
    ['has no keys', (own: Issuer) => ({ issuer: own.issuer })],
  ])('a provider that %s is not trusted, and operators are told', async (_what, document) => {
    const own = await startIssuer();
    const told: string[] = [];
    try {
      own.document = document(own);
      const verify = verifier(own, { warn: (text) => void told.push(text) });
      await expect(verify(await own.sign())).rejects.toMatchObject({ code: 'unavailable' });
      expect(told).toEqual([expect.stringContaining(own.issuer)]);
    } finally {
      await own.close();
    }
  });
});

describe('spec: planner 5: subjects of the identity provider', () => {
  const signIn = async (claims: JWTPayload) =>
    authenticate(db.database, await provider.sign(claims), verifier(provider));

  test('at first sight one is known, by its own name where that is free, without any right', async () => {
    const { principal, token_id } = await signIn({ sub: 'nina', name: ' Nina\nN. ' });
    expect(principal).toEqual({ subject: 'nina', kind: 'human' });
    expect(token_id).toBeUndefined();
    expect(await readSubject(db.database, 'nina')).toEqual({ kind: 'human', name: 'Nina N.' });
    expect(await db.database.query('SELECT 1 FROM role_bindings WHERE subject = $1', ['nina'])).toEqual([]);
    expect((await signIn({ sub: 'nina', name: 'Nina M.' })).principal.subject).toBe('nina');
    expect((await readSubject(db.database, 'nina')).name).toBe('Nina M.');
  });

  test('who is called like a subject that was made here is somebody else', async () => {
    await transaction(db.database, (tx) => createSubject(tx, { subject: 'admin', kind: 'human', name: 'Admin' }));
    const { principal } = await signIn({ sub: 'admin' });
    expect(principal.subject).toMatch(/^admin-[0-9a-f]{8}$/);
    expect((await signIn({ sub: 'admin' })).principal).toEqual(principal);
  });

  test('names that can be none of ours are told apart by a mark', async () => {
    const subjects = new Set<string>();
    for (const sub of ['auth0|1', 'auth0/1', 'auth0-1', '|', '\u{1f680}', 'x'.repeat(255), '1'.repeat(129)]) {
      const { subject } = (await signIn({ sub })).principal;
      expect(subject).toMatch(/^[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}$/);
      subjects.add(subject);
    }
    expect(subjects.size).toBe(7);
  });

  test('twenty first sights at once are one subject', async () => {
    const token = await provider.sign({ sub: 'twin|1' });
    const verify = verifier(provider);
    const all = await Promise.all(Array.from({ length: 20 }, () => authenticate(db.database, token, verify)));
    expect(new Set(all.map(({ principal }) => principal.subject)).size).toBe(1);
  });

  test('without a provider, and for any fault, the answer is the one text of all bad tokens', async () => {
    const texts = new Set<string>();
    const bad = ['plt_x', await provider.sign({ aud: 'x' }), await provider.sign({ exp: now() - 10 }), 'a.b.c'];
    for (const token of bad) {
      await authenticate(db.database, token, verifier(provider)).catch((error: Error) => texts.add(error.message));
    }
    await authenticate(db.database, await provider.sign()).catch((error: Error) => texts.add(error.message));
    expect(texts.size).toBe(1);
  });

  test('the planner\'s own tokens count beside them', async () => {
    const { token } = await transaction(db.database, (tx) =>
      createToken(tx, { subject: 'admin', expires_at: inHours(1) }),
    );
    expect((await authenticate(db.database, token, verifier(provider))).principal.subject).toBe('admin');
  });
});

describe('spec: planner 5: an identity provider\'s token at the API', () => {
  let t: TestApi;
  beforeAll(async () => {
    t = await startTestApi({ verify: verifier(provider) });
  });
  afterAll(() => t.close());

  test('REST: nothing is granted at first sight; what is granted then is', async () => {
    const token = await provider.sign({ sub: 'rosa' });
    expect((await t.rest(token, 'GET', '/api/v1/me')).body).toMatchObject({ subject: 'rosa', bindings: [], projects: [] });
    expect((await t.rest(token, 'GET', '/api/v1/projects/WEB')).status).toBe(404);
    const binding = { subject: 'rosa', role: 'viewer', project: 'WEB' };
    expect((await t.rest(t.tokens.admin, 'POST', '/api/v1/role-bindings', binding)).status).toBe(201);
    expect((await t.rest(token, 'GET', '/api/v1/projects/WEB')).status).toBe(200);
    expect((await t.rest(await provider.sign({ sub: 'rosa', aud: 'x' }), 'GET', '/api/v1/me')).status).toBe(401);
  });

  test('a socket signs in, is refreshed for the same subject, and closes with 4001 at the token\'s exp', async () => {
    const socket = await t.socket();
    const exp = now() + 3;
    const first = await provider.sign({ sub: 'sven', exp });
    expect((await socket.call('auth', { token: first })).result).toEqual({
      subject: 'sven',
      expires_at: new Date(exp * 1_000).toISOString(),
    });
    const other = await provider.sign({ sub: 'somebody-else' });
    expect((await socket.call('auth.refresh', { token: other })).error).toMatchObject({ code: -32003 });
    const later = exp + 1;
    const longer = await provider.sign({ sub: 'sven', exp: later });
    expect((await socket.call('auth.refresh', { token: longer })).result).toMatchObject({ subject: 'sven' });
    expect(await socket.untilClosed()).toMatchObject({ code: 4001, reason: 'the token has expired' });
    expect(Date.now()).toBeGreaterThanOrEqual(later * 1_000);
  });

  test('an issuer that is away: 503 with Retry-After, and a socket closes with 1013, not 4001', async () => {
    const gone = await startIssuer();
    const token = await gone.sign();
    await gone.close();
    const own = await startTestApi({ verify: verifier(gone) });
    try {
      const { status, body, headers } = await own.rest(token, 'GET', '/api/v1/me');
      expect({ status, error: body['error'] }).toEqual({ status: 503, error: 'unavailable' });
      expect(headers.get('retry-after')).toBe('5');
      const socket = await own.socket();
      socket.send({ jsonrpc: '2.0', id: 1, method: 'auth', params: { token } });
      expect(await socket.untilClosed()).toMatchObject({ code: 1013 });
    } finally {
      await own.close();
    }
  });

  test('a subject that lost its role in mid-watch is told so, whatever its token says', async () => {
    const token = await provider.sign({ sub: 'tove' });
    await t.rest(token, 'GET', '/api/v1/me');
    const at = { project_id: t.web.id };
    const { id } = await transaction(t.database, (tx) =>
      bindRole(tx, systemActor, { subject: 'tove', role: 'viewer', ...at }),
    );
    const socket = await t.socket({ token });
    await socket.call('stream.subscribe', { subscription: 's', stream: 'project:WEB' });
    expect((await t.rest(t.tokens.admin, 'DELETE', `/api/v1/role-bindings/${id}`)).status).toBe(204);
    const closed = await socket.until((frames) => frames.find((frame) => frame.method === 'stream.closed'));
    expect(closed.params).toEqual({ subscription: 's', reason: 'forbidden' });
    socket.ws.terminate();
  });
});

// An OpenID Connect provider on 127.0.0.1 for tests: discovery, keys that can be turned over, tokens of any kind.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK, type JWTPayload } from 'jose';

export const audience = 'planner-api';

export interface Issuer {
  issuer: string;
  /** How often the keys, and the discovery document, were asked for. */
  asked: { keys: number; discovery: number };
  /** What the discovery document says; tests may change it. */
  document: Record<string, unknown>;
  /** Answer everything with 500. */
  broken: boolean;
  /** A new key: it signs from now on; the old one is no longer published. */
  turnOver(): Promise<void>;
  /** A token with the claims of a good one, save those that are given; undefined leaves a claim out. */
  sign(claims?: JWTPayload, header?: Record<string, unknown>, key?: CryptoKey | Uint8Array): Promise<string>;
  close(): Promise<void>;
}

export interface Pair {
  kid: string;
  jwk: JWK;
  privateKey: CryptoKey;
}

export async function makeKey(kid: string, alg = 'ES256'): Promise<Pair> {
  const { publicKey, privateKey } = await generateKeyPair(alg);
  return { kid, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }, privateKey };
}

export async function startIssuer(options: { port?: number; keys?: Pair[] } = {}): Promise<Issuer> {
  let published = options.keys ?? [await makeKey('k1')];
  let made = 1;
  const server = createServer((request, response) => {
    const answer = (body: unknown): void => {
      response.writeHead(issuer.broken ? 500 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    if (request.url === '/.well-known/openid-configuration') {
      issuer.asked.discovery += 1;
      answer(issuer.document);
    } else {
      issuer.asked.keys += 1;
      answer({ keys: published.map(({ jwk }) => jwk) });
    }
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer: Issuer = {
    issuer: address,
    asked: { keys: 0, discovery: 0 },
    document: { issuer: address, jwks_uri: `${address}/keys` },
    broken: false,
    async turnOver() {
      published = [await makeKey(`k${++made}`)];
    },
    async sign(claims = {}, header = {}, key) {
      const now = Math.floor(Date.now() / 1_000);
      const good = { iss: address, aud: audience, sub: 'olga', iat: now, exp: now + 300, client_id: 'page' };
      const [pair] = published;
      const told = { alg: 'ES256', kid: pair!.kid, typ: 'at+jwt', ...header };
      return new SignJWT(withoutUndefined({ ...good, ...claims }))
        .setProtectedHeader(withoutUndefined(told) as { alg: string })
        .sign(key ?? pair!.privateKey, { crit: { x: true } });
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return issuer;
}

function withoutUndefined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}

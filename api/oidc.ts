// Access tokens of an OpenID Connect provider: JWTs, judged by the keys that their issuer publishes (spec: planner 5).

import {
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  jwtVerify,
  type JWTPayload,
  type JWTVerifyGetKey,
  type RemoteJWKSetOptions,
} from 'jose';
import { z } from 'zod';
import { isSafeAddress } from '../domain/address.ts';
import { DomainError } from '../domain/errors.ts';
import { isBlank, storable } from '../domain/text.ts';
import type { IssuedIdentity, VerifyAccessToken } from '../store/issued-subjects.ts';

export interface OidcOptions {
  /** Exactly what tokens name as `iss`. */
  issuer: string;
  /** What tokens must name as `aud`: this API's name at the provider. */
  audience: string;
  /** Where the keys are; absent: where the provider's discovery document says. */
  jwksUri?: string | undefined;
  /** The claim that names the subject. Default `sub`. */
  subjectClaim?: string | undefined;
  /** A claim whose value marks a service, besides the rule of RFC 9068 (the subject is the client itself). */
  service?: { claim: string; value: string } | undefined;
  /** Told why tokens were refused and what is wrong with the provider; never a token. */
  warn(text: string): void;
  /** Milliseconds between two looks for a key that is not known. Default 10 s. */
  cooldownMs?: number;
  /** Milliseconds that keys are used without another look. Default 10 min. */
  keysMaxAgeMs?: number;
}

/** None of them works with a shared secret: whoever may check a token can't make one. */
const algorithms = [
  'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519',
];
/** Seconds by which a token's beginning may lie ahead of our clock. */
const clockSkew = 60;
const fetchTimeoutMs = 5_000;
/** After a failure the provider is left alone for as long. */
const pauseMs = 1_000;
/** A reason is told once in as long. */
const warnEveryMs = 10_000;

/** Judges access tokens; shared by REST and realtime. Nothing is fetched before the first token. */
export function oidcVerifier(options: OidcOptions): VerifyAccessToken {
  const warn = seldom(options.warn);
  const keys = issuerKeys(options);
  return async (token) => {
    const complaint = judgeForm(token, options);
    if (complaint !== undefined) return void warn(`An access token was refused: ${complaint}.`);
    try {
      const payload = await verified(token, keys, options);
      return identityOf(payload, options);
    } catch (error) {
      if (error instanceof Refused || isTokenFault(error)) {
        return void warn(`An access token was refused: ${(error as Error).message}`);
      }
      warn(`The keys of the identity provider ${options.issuer} can't be had: ${reason(error)}`);
      throw new DomainError(
        'unavailable',
        'The identity provider can\'t be reached right now, so this token can\'t be checked. Try again in a moment.',
        { retry_after: 5 },
      );
    }
  };
}

class Refused extends Error {}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

/** What is wrong with a token whatever its signature: told before any key is asked for. */
function judgeForm(token: string, { issuer }: OidcOptions): string | undefined {
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return 'it is no token of ours and no JWT';
  try {
    const { alg, typ } = decodeProtectedHeader(token);
    if (alg === undefined || !algorithms.includes(alg)) return 'its algorithm is not one that is accepted';
    if (typ !== undefined && !/^(application\/)?(at\+)?jwt$/i.test(String(typ))) return 'it is no access token';
    if (decodeJwt(token).iss !== issuer) return 'it was issued by somebody else';
    return undefined;
  } catch {
    return 'it can\'t be read';
  }
}

async function verified(token: string, keys: JWTVerifyGetKey, { issuer, audience }: OidcOptions): Promise<JWTPayload> {
  const rules = { issuer, audience, algorithms, clockTolerance: clockSkew, requiredClaims: ['exp', 'sub'] };
  try {
    return (await jwtVerify(token, keys, rules)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    // A token that does not name its key: each one that may be it is tried.
    for await (const key of error) {
      try {
        return (await jwtVerify(token, key, rules)).payload;
      } catch (failure) {
        if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

/** The token's own fault, in contrast to the provider's absence. */
function isTokenFault(error: unknown): boolean {
  return [
    errors.JWTClaimValidationFailed,
    errors.JWTExpired,
    errors.JWTInvalid,
    errors.JWSInvalid,
    errors.JWSSignatureVerificationFailed,
    errors.JWKSNoMatchingKey,
    errors.JOSEAlgNotAllowed,
    errors.JOSENotSupported,
  ].some((kind) => error instanceof kind);
}

function identityOf(payload: JWTPayload, options: OidcOptions): IssuedIdentity {
  refuseOtherKinds(payload);
  const claim = options.subjectClaim ?? 'sub';
  const external = payload[claim];
  if (typeof external !== 'string' || isBlank(external) || external.length > 255 || !isPlain(external)) {
    throw new Refused(`its claim ${claim} names no subject.`);
  }
  if (claim === 'email' && payload['email_verified'] === false) throw new Refused('its e-mail is not verified.');
  const name = [payload['name'], payload['preferred_username']].find((value) => typeof value === 'string');
  return {
    issuer: options.issuer,
    external,
    kind: isService(payload, options) ? 'service' : 'human',
    ...(name === undefined ? {} : { name }),
    expires_at: expiry(payload),
  };
}

/** Identity and logout tokens are for the client that asked for them; a bound one needs a proof that we can't judge. */
function refuseOtherKinds(payload: JWTPayload): void {
  if (typeof payload['typ'] === 'string' && /^(id|refresh|offline|logout)$/i.test(payload['typ'])) {
    throw new Refused('it is no access token.');
  }
  if (['nonce', 'at_hash', 'c_hash', 'events'].some((claim) => payload[claim] !== undefined)) {
    throw new Refused('it is no access token.');
  }
  if (payload['cnf'] !== undefined) throw new Refused('it is bound to a key of its client.');
}

/** RFC 9068: where nobody but the client itself stands behind a token, its subject is the client. */
function isService(payload: JWTPayload, { service }: OidcOptions): boolean {
  const clients = [payload['client_id'], payload['azp']];
  if (clients.includes(payload.sub)) return true;
  if (!service) return false;
  const value = payload[service.claim];
  return Array.isArray(value) ? value.includes(service.value) : String(value) === service.value;
}

/** `exp` as it is: what may begin a minute early does not end a minute late. */
function expiry({ exp = 0 }: JWTPayload): string {
  const ms = Math.floor(exp * 1_000);
  if (ms <= Date.now()) throw new Refused('it has expired.');
  // Later ones are no dates any more.
  return new Date(Math.min(ms, Date.UTC(9999, 0))).toISOString();
}

function isPlain(text: string): boolean {
  return storable(text) === text && !/\p{Cc}/u.test(text);
}

const discovery = z.object({ issuer: z.string(), jwks_uri: z.string() });

/** The issuer's keys: kept, looked at again for a key that is not known, and looked for again where they are gone. */
function issuerKeys(options: OidcOptions): JWTVerifyGetKey {
  const get = guardedFetch();
  const settings: RemoteJWKSetOptions = {
    timeoutDuration: fetchTimeoutMs,
    cooldownDuration: options.cooldownMs ?? 10_000,
    cacheMaxAge: options.keysMaxAgeMs ?? 600_000,
    [customFetch]: get,
  };
  let uri: string | undefined;
  let keys: JWTVerifyGetKey | undefined;
  let finding: Promise<void> | undefined;
  let lost = true;
  const find = async (): Promise<void> => {
    const found = options.jwksUri ?? (await discoveredUri(options, get));
    if (found !== uri) keys = createRemoteJWKSet(new URL(found), settings);
    uri = found;
    lost = false;
  };
  return async (header, token) => {
    if (lost) {
      finding ??= find().finally(() => (finding = undefined));
      // Keys that are known go on counting while it can't be asked where they are.
      await finding.catch((error: unknown) => {
        if (!keys) throw error;
      });
    }
    try {
      return await keys!(header, token);
    } catch (error) {
      lost = !isTokenFault(error) && !(error instanceof errors.JWKSMultipleMatchingKeys);
      throw error;
    }
  };
}

async function discoveredUri({ issuer }: OidcOptions, get: Get): Promise<string> {
  const address = `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`;
  const signal = AbortSignal.timeout(fetchTimeoutMs);
  const response = await get(address, { signal, redirect: 'manual', headers: { accept: 'application/json' } });
  if (response.status !== 200) throw new Error(`${address} answered ${response.status}`);
  const found = discovery.safeParse(await response.json());
  if (!found.success) throw new Error(`${address} is no discovery document`);
  if (found.data.issuer !== issuer) {
    throw new Error(`it calls itself ${found.data.issuer}; set oidc.issuer to exactly that if it is the right one`);
  }
  if (!isSafeAddress(found.data.jwks_uri)) throw new Error('its jwks_uri is neither https nor on this computer');
  return found.data.jwks_uri;
}

type Get = (address: string, init: RequestInit) => Promise<Response>;

/** Leaves a provider that fails alone for a moment, so that a flood of tokens is no flood of requests. */
function guardedFetch(): Get {
  let pausedUntil = 0;
  return async (address, init) => {
    if (Date.now() < pausedUntil) throw new Error('it failed a moment ago');
    try {
      const response = await fetch(address, init);
      if (response.status !== 200) pausedUntil = Date.now() + pauseMs;
      return response;
    } catch (error) {
      pausedUntil = Date.now() + pauseMs;
      throw error;
    }
  };
}

function seldom(warn: (text: string) => void): (text: string) => undefined {
  const told = new Map<string, number>();
  return (text) => {
    const now = Date.now();
    for (const [known, at] of told) if (now - at >= warnEveryMs) told.delete(known);
    if (told.has(text) || told.size >= 20) return undefined;
    told.set(text, now);
    warn(text);
    return undefined;
  };
}

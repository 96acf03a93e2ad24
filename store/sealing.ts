// Secrets at rest: AES-256-GCM under a key of the installation, bound to where they belong (spec: planner 9).

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { DomainError } from '../domain/errors.ts';

interface SecretKey {
  /** Tells keys apart; says nothing of them. */
  id: string;
  bytes: Buffer;
}

/** The installation's keys: the first seals, all open. Empty: nothing can be sealed. */
export type Keyring = readonly SecretKey[];

export interface Sealed {
  sealed: Buffer;
  key_id: string;
}

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const version = 1;

/** Thrown where a sealed secret cannot be opened: its key is not here, or it was sealed for another place. */
export class CannotOpen extends Error {
  readonly why: 'no key' | 'damaged';
  constructor(why: 'no key' | 'damaged') {
    super(why === 'no key' ? 'the key that sealed it is not here' : 'it is damaged, or was sealed for another place');
    this.why = why;
  }
}

/** `keys`: base64 of 32 bytes each, the newest first. Errors: Error, without showing the key. */
export function keyring(keys: readonly string[]): Keyring {
  return keys.map((text) => {
    const bytes = Buffer.from(text, 'base64');
    if (bytes.length !== keyBytes) throw new Error('A secret key is not base64 of 32 bytes.');
    return { id: createHash('sha256').update('key id').update(bytes).digest('hex').slice(0, 12), bytes };
  });
}

export function newSecretKey(): string {
  return randomBytes(keyBytes).toString('base64');
}

/** `place`: what the secret is bound to; it opens nowhere else. Errors: unavailable where there is no key. */
export function seal(keys: Keyring, place: readonly unknown[], secret: string): Sealed {
  const [key] = keys;
  if (!key) {
    throw new DomainError(
      'unavailable',
      'Credentials cannot be stored: the installation has no key to seal them with. ' +
        'Set PLANNER_SECRET_KEY (32 random bytes in base64) for the API and the workers.',
    );
  }
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key.bytes, nonce, { authTagLength: tagBytes });
  cipher.setAAD(bound(place));
  const body = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
  return { sealed: Buffer.concat([Buffer.of(version), nonce, cipher.getAuthTag(), body]), key_id: key.id };
}

/** Errors: CannotOpen. */
export function unseal(keys: Keyring, place: readonly unknown[], { sealed, key_id }: Sealed): string {
  const key = keys.find(({ id }) => id === key_id);
  if (!key) throw new CannotOpen('no key');
  const tagAt = 1 + nonceBytes;
  if (sealed[0] !== version || sealed.length < tagAt + tagBytes) throw new CannotOpen('damaged');
  const nonce = sealed.subarray(1, tagAt);
  const decipher = createDecipheriv('aes-256-gcm', key.bytes, nonce, { authTagLength: tagBytes });
  decipher.setAAD(bound(place));
  decipher.setAuthTag(sealed.subarray(tagAt, tagAt + tagBytes));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(tagAt + tagBytes)), decipher.final()]).toString('utf8');
  } catch {
    throw new CannotOpen('damaged');
  }
}

const bound = (place: readonly unknown[]): Buffer => Buffer.from(JSON.stringify(place));

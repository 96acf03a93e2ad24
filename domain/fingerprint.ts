// Tells secrets apart without showing them.

import { createHash } from 'node:crypto';

/** `sha256:` and the first 8 digits of the secret's hash. */
export function fingerprint(secret: string): string {
  return `sha256:${createHash('sha256').update(secret).digest('hex').slice(0, 8)}`;
}

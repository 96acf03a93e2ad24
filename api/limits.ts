// How often a subject may ask, a minute: a bucket a subject that fills evenly.

import { DomainError } from '../domain/errors.ts';

interface Bucket {
  left: number;
  at: number;
}

/** In this process. Zero: no limit. */
export class RateLimit {
  readonly #perMinute: number;
  readonly #what: string;
  readonly #buckets = new Map<string, Bucket>();

  constructor(perMinute: number, what: string) {
    this.#perMinute = perMinute;
    this.#what = what;
  }

  /** Throws rate_limited, with `retry_after` (seconds), when the subject has used up its minute. */
  take(subject: string, now = Date.now()): void {
    if (this.#perMinute <= 0) return;
    const bucket = this.#buckets.get(subject) ?? { left: this.#perMinute, at: now };
    bucket.left = Math.min(this.#perMinute, bucket.left + ((now - bucket.at) * this.#perMinute) / 60_000);
    bucket.at = now;
    if (this.#buckets.size > 10_000) this.#buckets.clear();
    this.#buckets.set(subject, bucket);
    if (bucket.left >= 1) {
      bucket.left -= 1;
      return;
    }
    const wait = Math.ceil(((1 - bucket.left) * 60) / this.#perMinute);
    throw new DomainError(
      'rate_limited',
      `More than ${this.#perMinute} ${this.#what} a minute. Try again in ${wait} s.`,
      { retry_after: wait },
    );
  }
}

// The product's one vocabulary of errors. Thrown typed, mapped once at each edge (REST, realtime, tools).

export type ErrorCode =
  | 'invalid_argument'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'already_exists'
  | 'rate_limited'
  | 'resync'
  | 'unavailable';

/** An error whose message is written for the person who caused it: what is wrong, and how to mend it. No secrets. */
export class DomainError extends Error {
  override readonly name = 'DomainError';
  readonly code: ErrorCode;
  /** Further facts for the caller; sent with the error where the protocol has room for them. */
  readonly data: Record<string, unknown> | undefined;

  constructor(code: ErrorCode, message: string, data?: Record<string, unknown>) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export const invalid = (message: string): DomainError => new DomainError('invalid_argument', message);
export const notFound = (message: string): DomainError => new DomainError('not_found', message);
export const forbidden = (message: string): DomainError => new DomainError('forbidden', message);
export const conflict = (message: string): DomainError => new DomainError('conflict', message);

// What a client's calls fail with: the API's own errors, and a connection that is not there.

/** Words for the protocol's error numbers (spec: planner 11). */
const words: Record<number, string> = {
  [-32700]: 'parse_error',
  [-32600]: 'invalid_request',
  [-32601]: 'unknown_method',
  [-32602]: 'invalid_argument',
  [-32603]: 'internal',
  [-32001]: 'unauthenticated',
  [-32003]: 'forbidden',
  [-32004]: 'not_found',
  [-32009]: 'conflict',
  [-32010]: 'resync',
  [-32029]: 'rate_limited',
  [-32053]: 'unavailable',
};

/** A realtime request that the API refused. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  /** The protocol's number, for example -32009. */
  readonly number: number;
  /** The same as a word, for example `conflict`. */
  readonly code: string;
  readonly data: unknown;

  constructor(number: number, message: string, data?: unknown) {
    super(message);
    this.number = number;
    this.code = words[number] ?? 'error';
    this.data = data;
  }
}

/** A REST request that the API refused. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** The HTTP status. */
  readonly status: number;
  /** For example `not_found`; `http` when the answer was not the API's. */
  readonly code: string;
  /** Seconds to wait, where the API named them. */
  readonly retryAfter: number | undefined;

  constructor(status: number, code: string, message: string, retryAfter?: number) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

/** The API was not reached, or did not answer; whether the request took effect is unknown unless it said otherwise. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  readonly code: 'unreachable' | 'timeout' | 'lost' | 'closed';

  constructor(code: ConnectionError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** The error's word, whichever of the three it is; undefined for anything else. */
export function errorCode(error: unknown): string | undefined {
  if (error instanceof RpcError || error instanceof ApiError || error instanceof ConnectionError) return error.code;
  return undefined;
}

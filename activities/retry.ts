// The one table of retries: which failure of a model call makes another attempt, and when.
// (spec: orchestration "Retries")

import { DomainError } from '../domain/errors.ts';
import { callBackoff, failureTexts, type FailureClass } from '../domain/turn.ts';
import { ModelError } from '../models/gateway.ts';
import { CallFailure } from '../planner/model-call.ts';
import { isConnectionError, isRetryableConflict } from '../store/database.ts';

export interface Retry {
  failure: FailureClass;
  retryable: boolean;
  /** Milliseconds until the next attempt, where the provider named them, at least the back-off; else the policy's. */
  delayMs?: number;
  /** For humans: what is wrong, and what to do. */
  text: string;
  /** For watchers while it is tried again: a short phrase. */
  reason: string;
}

const retried: Record<FailureClass, boolean> = {
  rate_limited: true,
  overloaded: true,
  server_error: true,
  timeout: true,
  connection: true,
  cut_stream: true,
  silent_stream: true,
  bad_response: true,
  worker_lost: true,
  shutdown: true,
  database: true,
  internal: true,
  authentication: false,
  permission: false,
  not_found: false,
  invalid_request: false,
  context_length: false,
  not_configured: false,
  budget: false,
  forbidden: false,
  hole: false,
  stale: true,
  workflow_lost: false,
};

/**
 * @param attempt number of the attempt that failed, from 1
 * @param remainingMs time that is left for all attempts together
 */
export function retryOf(error: unknown, attempt: number, remainingMs: number): Retry {
  const failure = classOf(error);
  const told = error instanceof ModelError || error instanceof CallFailure ? error.text : undefined;
  const text = told ?? failureTexts[failure];
  const reason = failure.replaceAll('_', ' ');
  const asked = error instanceof ModelError ? error.retryAfterMs : undefined;
  if (asked !== undefined && asked >= remainingMs) {
    const at = new Date(Date.now() + asked).toISOString().replace(/\.\d+Z$/, 'Z');
    return { failure, retryable: false, text: `${sentence(text)} The provider accepts requests again at ${at}.`, reason };
  }
  const retryable =
    error instanceof ModelError ? error.retryable && attempt < (error.attemptLimit ?? Infinity) : retried[failure];
  // Providers also name 0 or a moment that has passed: asking again at once, again and again, would hammer them.
  const delay = asked === undefined ? {} : { delayMs: Math.max(asked, backoffMs(attempt)) };
  return { failure, retryable, text, reason, ...delay };
}

function backoffMs(attempt: number): number {
  const { initialMs, coefficient, maximumMs } = callBackoff;
  return Math.min(initialMs * coefficient ** (attempt - 1), maximumMs);
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

function classOf(error: unknown): FailureClass {
  if (error instanceof ModelError) return error.class;
  if (error instanceof CallFailure) return error.failure;
  if (isConnectionError(error) || isRetryableConflict(error)) return 'database';
  if (error instanceof DomainError) return error.code === 'conflict' ? 'database' : 'internal';
  return 'internal';
}

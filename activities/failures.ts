// What the engine is told of a failure: a class and nothing else; the log has the rest.

import { ApplicationFailure } from '@temporalio/common';
import type { FailureClass } from '../domain/turn.ts';
import { isConnectionError, isRetryableConflict } from '../store/database.ts';
import { logError } from '../telemetry/log.ts';

export function failure(type: FailureClass, retryable: boolean, delayMs?: number): ApplicationFailure {
  return ApplicationFailure.create({
    type,
    message: type,
    nonRetryable: !retryable,
    ...(delayMs === undefined ? {} : { nextRetryDelay: delayMs }),
  });
}

/** The database is away, or something that only the log can explain; tried again. */
export function unexpected(error: unknown): ApplicationFailure {
  if (isConnectionError(error) || isRetryableConflict(error)) return failure('database', true);
  log(error);
  return failure('internal', true);
}

export const log = (error: unknown): void => logError('activity failed', error);

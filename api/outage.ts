// A database that is away, as REST and realtime tell it alike.

import { DomainError } from '../domain/errors.ts';
import { isConnectionError } from '../store/database.ts';
import { logError } from '../telemetry/log.ts';

/** The error for clients where the database could not be reached; logs the cause. Undefined: it was something else. */
export function databaseAway(error: unknown): DomainError | undefined {
  if (!isConnectionError(error)) return undefined;
  logError('the database is away', error);
  return new DomainError('unavailable', 'The database can\'t be reached right now. Try again in a moment.');
}

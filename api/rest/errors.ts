// Errors as REST answers: one place for all of them (spec: planner 10).

import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import { DomainError, invalid } from '../../domain/errors.ts';
import { firstCharacters } from '../../domain/text.ts';
import type { ErrorBody } from '../contracts/common.ts';
import { logError } from '../../telemetry/log.ts';
import { databaseAway } from '../outage.ts';
import { routeOf, type RouteError } from './routes.ts';

/** The HTTP status of each error code. */
export const statusOf: Record<RouteError, number> = {
  invalid_argument: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  already_exists: 409,
  rate_limited: 429,
  unavailable: 503,
  internal: 500,
};

export const unknownRoute: RequestHandler = (request, response) => {
  const path = firstCharacters(request.originalUrl.split('?')[0] ?? '', 200);
  send(response, 404, { error: 'not_found', message: `There is no route ${request.method} ${path}.` });
};

/** `checked`: an error that its route does not document is a fault of ours. */
export function answerErrors(checked: boolean): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) return next(error);
    const known = domainError(error);
    const route = routeOf(response);
    const code = known?.code === 'resync' ? 'conflict' : known?.code;
    if (!known || !code || (checked && route && !route.errors.includes(code))) {
      logError(`${request.method} ${request.originalUrl.split('?')[0]} failed`, error);
      return send(response, 500, { error: 'internal', message: 'Internal error.' });
    }
    const wait = known.data?.['retry_after'];
    if (typeof wait === 'number') response.set('Retry-After', String(wait));
    if (code === 'unauthenticated') response.set('WWW-Authenticate', 'Bearer');
    send(response, statusOf[code], { error: code, message: known.message });
  };
}

function send(response: Response, status: number, body: ErrorBody): void {
  response.status(status).json(body);
}

/** Our own errors, the body parser's, the router's, and a database that is away; undefined: a fault of ours. */
function domainError(error: unknown): DomainError | undefined {
  if (error instanceof DomainError) return error;
  const away = databaseAway(error);
  if (away) return away;
  const { type, status, limit } = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
  const complaint = error instanceof Error ? firstCharacters(error.message, 200) : '';
  if (type === 'entity.parse.failed') return new DomainError('invalid_argument', `The body is no JSON: ${complaint}`);
  if (type === 'entity.too.large') return invalid(`The body is larger than ${mebibytes(limit)}.`);
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return new DomainError('invalid_argument', `The request can't be read: ${complaint}`);
  }
  return undefined;
}

const mebibytes = (bytes: unknown): string => `${Number(bytes) / 1024 ** 2} MiB`;

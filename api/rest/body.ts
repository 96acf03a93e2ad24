// The body of a request: JSON in UTF-8 and nothing else (spec: planner 10).

import express, { type Request, type RequestHandler } from 'express';
import { invalid } from '../../domain/errors.ts';

/** The most that a body may have, in bytes, unless a route says otherwise. */
export const bodyBytes = 1024 * 1024;

/** The most levels of arrays and objects in each other: what is deeper is no body of ours, and could end the stack. */
const bodyLevels = 100;

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Reads a body of up to `limit` bytes. Errors: invalid_argument where it is no JSON in UTF-8, not said to be, or deep. */
export function bodyReader(limit: number): RequestHandler[] {
  return [
    (request, _response, next) => {
      if (isSent(request)) checkType(request);
      next();
    },
    express.json({ limit, strict: false, inflate: false, type: 'json', verify: checkBytes }),
    (request, _response, next) => {
      if (isDeeper(request.body, bodyLevels)) throw invalid(`The body is nested too deeply: at most ${bodyLevels} levels.`);
      next();
    },
  ];
}

/** The body as it came; `{}` when there was none. */
export const bodyOf = (request: Request): unknown => (request.body === undefined ? {} : (request.body as unknown));

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

function isSent(request: Request): boolean {
  return request.get('Transfer-Encoding') !== undefined || Number(request.get('Content-Length') ?? 0) > 0;
}

function checkType(request: Request): void {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(request.get('Content-Type') ?? '')?.[1];
  if (request.is('json') && (charset === undefined || /^utf-?8$/i.test(charset))) return;
  throw invalid('Send the body as JSON in UTF-8, with Content-Type: application/json.');
}

// Otherwise what can't be decoded would be stored as U+FFFD.
function checkBytes(_request: unknown, _response: unknown, bytes: Buffer): void {
  try {
    decoder.decode(bytes);
  } catch {
    throw invalid('The body is not in UTF-8.');
  }
}

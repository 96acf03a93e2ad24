// Which request it all comes from: trace ids as W3C Trace Context has them, accepted from callers or made here.

import { randomBytes } from 'node:crypto';
import { currentIds } from './log.ts';

const form = /^[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;

/** The trace id of a `traceparent` header; undefined where it is none. */
export function traceOf(traceparent: string | undefined): string | undefined {
  if (traceparent === undefined || traceparent.length > 200 || traceparent.startsWith('ff')) return undefined;
  return form.exec(traceparent)?.[1];
}

export const newTrace = (): string => randomBytes(16).toString('hex');

/** That of the work that runs, else a new one. */
export const currentTrace = (): string => currentIds().trace_id ?? newTrace();

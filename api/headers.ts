// Bounds on the headers of a request. Node drops headers past its bound in silence; here they are refused instead.

import type { IncomingMessage } from 'node:http';

/** Headers that are read at most. */
export const maxHeaders = 200;

export function tooManyHeaders(request: IncomingMessage): boolean {
  return request.rawHeaders.length / 2 >= maxHeaders;
}

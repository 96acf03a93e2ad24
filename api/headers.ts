// Headers: bounds on those of a request (Node drops what is past its bound in silence; here it is refused), and the policy
// of pages.

import type { IncomingMessage } from 'node:http';

/** Headers that are read at most. */
export const maxHeaders = 200;

export function tooManyHeaders(request: IncomingMessage): boolean {
  return request.rawHeaders.length / 2 >= maxHeaders;
}

/** What a page of this server may load: its own files and sockets. 'self' includes the socket of the same origin. */
export const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

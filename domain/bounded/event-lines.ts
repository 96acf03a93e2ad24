// Bytes of a stream to its lines: cut only at line feeds, decoded whole, each within a limit (spec: bounded-claude 4).

import { maxLineBytes } from './sizes.ts';

export { maxLineBytes };

export type Line =
  | { kind: 'line'; bytes: Uint8Array }
  /** The line passed the limit; told once, at its first byte too many. The rest of it is skipped. */
  | { kind: 'too_long'; bytes: number };

export interface LineSplitter {
  push(chunk: Uint8Array, take: (line: Line) => void): void;
  /** What stands after the last line feed, if anything. */
  rest(): Uint8Array;
}

/** Holds one incomplete line at most, whatever the chunks are. */
export function createLineSplitter(limit: number = maxLineBytes): LineSplitter {
  let parts: Uint8Array[] = [];
  let length = 0;
  let skipping = false;

  const append = (part: Uint8Array, take: (line: Line) => void): void => {
    if (skipping || part.length === 0) return;
    length += part.length;
    if (length > limit) {
      take({ kind: 'too_long', bytes: limit + 1 });
      skipping = true;
      parts = [];
      return;
    }
    parts.push(part);
  };

  const finish = (take: (line: Line) => void): void => {
    if (!skipping) take({ kind: 'line', bytes: joined(parts, length) });
    parts = [];
    length = 0;
    skipping = false;
  };

  return {
    push(chunk, take) {
      let start = 0;
      for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
        append(chunk.subarray(start, end), take);
        finish(take);
        start = end + 1;
      }
      // A copy: the caller may use its buffer again, and a slice would keep a whole burst alive.
      append(chunk.slice(start), take);
    },
    rest: () => joined(parts, skipping ? 0 : length),
  };
}

function joined(parts: Uint8Array[], length: number): Uint8Array {
  const first = parts[0];
  if (parts.length === 1 && first) return first;
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

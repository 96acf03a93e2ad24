// Server-sent events out of a byte stream, as far as chat completions need them.

/** A line longer than this is no event of a model, characters. */
const maxLine = 8 * 1024 * 1024;

const lineEnd = /[\r\n]/;

/** The connection ended, or broke, before the stream did. */
export class BrokenStream extends Error {
  override readonly name = 'BrokenStream';
}

/** What arrived is no event stream. */
export class BadStream extends Error {
  override readonly name = 'BadStream';
}

/**
 * The `data` of each event, in order. Comments are skipped, also those that a gateway repeats as `data: : text`. Lines
 * may end in \n, \r\n or \r; each `data:` line is an event of its own, as providers send them, and a last one may lack
 * its line end. `onBytes` is called for all that arrives. Throws BrokenStream where reading fails, BadStream where the
 * body is no event stream from its first line on or holds a line without end.
 */
export async function* eventData(body: AsyncIterable<Uint8Array>, onBytes: () => void): AsyncGenerator<string> {
  let begun = false;
  for await (const line of lines(body, onBytes)) {
    if (line.trim() === '') continue;
    if (!begun && !/^\uFEFF?(?::|(?:data|event|id|retry)\b)/.test(line)) throw new BadStream('no event stream');
    begun = true;
    const data = /^\uFEFF?data:(.*)$/s.exec(line)?.[1]?.trim();
    if (data !== undefined && data !== '' && !data.startsWith(':')) yield data;
  }
}

async function* lines(body: AsyncIterable<Uint8Array>, onBytes: () => void): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of whole(body)) {
    onBytes();
    const piece = decoder.decode(bytes, { stream: true });
    rest += piece;
    // A long line comes in many pieces: it is looked through once.
    if (lineEnd.test(piece)) {
      const complete = rest.split(/\r\n|\n|\r/);
      rest = complete.pop() ?? '';
      yield* complete;
    }
    if (rest.length > maxLine) throw new BadStream('a line without end');
  }
  yield rest + decoder.decode();
}

async function* whole(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await reader.next().catch((cause: unknown) => {
        throw new BrokenStream('the stream broke', { cause });
      });
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await reader.return?.();
  }
}

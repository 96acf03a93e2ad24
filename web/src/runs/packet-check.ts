// A packet's check while somebody types it, by the very code that the API runs. It is big: the page loads it when it is
// first needed.

import type { Problem } from '../../../domain/bounded/markdown.ts';

export type { Problem };

/** All problems; none: acceptable. Rejects where the code can't be loaded: the API checks at the start again. */
export async function checkPacket(text: string, maxCharacters?: number): Promise<Problem[]> {
  const { packetProblems } = await import('../../../domain/bounded/packet.ts');
  return packetProblems(text, maxCharacters === undefined ? {} : { maxCharacters });
}

export async function template(): Promise<string> {
  const { packetTemplate } = await import('../../../domain/bounded/packet-template.ts');
  return packetTemplate();
}

/** UTF-16 indices of a line of the text, 1-based, its end not counted; the last line where there are fewer. */
export function lineRange(text: string, line: number): { start: number; end: number } {
  let start = 0;
  for (let at = 1; at < line; at++) {
    const next = text.indexOf('\n', start);
    if (next < 0) break;
    start = next + 1;
  }
  const end = text.indexOf('\n', start);
  return { start, end: end < 0 ? text.length : end };
}

// A session's title, made from its first message. Pure.

const titleLength = 60;

/** The first line, cut at a word. */
export function titleOf(text: string): string {
  const line = text.trim().split(/[\n\v\f\r\u0085\u2028\u2029]/, 1)[0]?.trim() ?? '';
  if (line.length <= titleLength) return line;
  const cut = line.slice(0, titleLength);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), titleLength / 2)).trim()}…`;
}

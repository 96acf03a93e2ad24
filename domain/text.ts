// What counts as a character, as blank, as storable text.

/** Length in code points: the unit of every "characters" limit of the specification. */
export function characters(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    const high = text.charCodeAt(i);
    if (high >= 0xd800 && high <= 0xdbff) {
      const low = text.charCodeAt(i + 1);
      if (low >= 0xdc00 && low <= 0xdfff) {
        count--;
        i++;
      }
    }
  }
  return count;
}

/** True when nothing in the text can be seen: white space, controls, zero-width and other format characters, lone marks. */
export function isBlank(text: string): boolean {
  return !/[^\s\p{C}\p{M}\p{Z}\u115f\u1160\u2800\u3164\uffa0]/u.test(text);
}

/** Everything that a reader may take for the end of a line. */
const lineEnds = /[\n\v\f\r\u0085\u2028\u2029]/;

export const isOneLine = (text: string): boolean => !lineEnds.test(text);

export const lines = (text: string): string[] => text.split(lineEnds);

/** Text that PostgreSQL can store: NUL and lone surrogates become U+FFFD. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}

/** The first `limit` code points of a text. */
export function firstCharacters(text: string, limit: number): string {
  if (text.length <= limit) return text;
  let index = 0;
  for (let count = 0; count < limit && index < text.length; count++) {
    index += text.codePointAt(index)! > 0xffff ? 2 : 1;
  }
  return text.slice(0, index);
}

/** JSON that PostgreSQL can store: every string in it, keys too, made storable. */
export function storableJson<T>(value: T): T {
  return clean(value) as T;
}

function clean(value: unknown): unknown {
  if (typeof value === 'string') return storable(value);
  if (Array.isArray(value)) return value.map(clean);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [storable(key), clean(inner)]));
}

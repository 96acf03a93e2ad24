// How many tokens a text will be, without a tokenizer: by what its characters are. (spec: planner 8)

/** A word of Latin letters and digits, white space, ASCII punctuation and controls, or one other code point. */
const pieces = /([0-9A-Za-z\u00c0-\u024f\u1e00-\u1eff]+)|([\t-\r ]+)|([\0-\x08\x0e-\x1f!-/:-@[-`{-\x7f]+)|[^]/gu;

/**
 * An estimate of the tokens of a text: Latin words 4 characters a token, CJK and kana 1, other scripts 2.5, long
 * unbroken alphanumeric runs 1.4; marks, white space, emoji and scripts that tokenizers spell in bytes as measured. Within a
 * factor of 2 of a real tokenizer for prose, code and data; about 50 ms a megabyte. (spec: planner 8)
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  for (const [piece, word, space, marks] of text.matchAll(pieces)) {
    if (word !== undefined) tokens += wordTokens(word);
    else if (space !== undefined) tokens += spaceTokens(space);
    else if (marks !== undefined) tokens += markTokens(marks);
    else tokens += signTokens(piece.codePointAt(0)!);
  }
  return Math.ceil(tokens);
}

type Letter = 'lower' | 'upper' | 'digit';

function letter(code: number): Letter {
  if (code < 0x3a) return 'digit';
  return code < 0x5b ? 'upper' : 'lower';
}

/** Part by part, as tokenizers split `heartbeatTimeout2`; a long run of short parts is base64, a hash, an id. */
function wordTokens(word: string): number {
  let parts = 0;
  let tokens = 0;
  let from = 0;
  let last = letter(word.charCodeAt(0));
  for (let i = 1; i <= word.length; i++) {
    const now = i < word.length ? letter(word.charCodeAt(i)) : undefined;
    const capital = last === 'upper' && now === 'lower' && i - from === 1;
    if (now !== last && !capital) {
      parts++;
      tokens += last === 'digit' ? Math.ceil((i - from) / 3) : Math.max(1, (i - from) / 4);
      from = i;
    }
    last = now ?? last;
  }
  const unbroken = word.length >= 20 && word.length < 3 * parts;
  return unbroken ? word.length / 1.4 : tokens;
}

/** A single blank belongs to the word after it. */
function spaceTokens(space: string): number {
  if (space === ' ') return 0;
  const { lines, changes } = runs(space);
  return 0.5 + space.length / 80 + lines / 20 + 0.4 * changes;
}

/** Rulers (`-----`) are a few tokens. */
function markTokens(marks: string): number {
  const { changes } = runs(marks);
  const repeated = marks.length - 1 - changes;
  return 0.8 + changes / 2 + repeated / 48;
}

function runs(text: string): { lines: number; changes: number } {
  let lines = 0;
  let changes = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\n') lines++;
    if (i > 0 && text[i] !== text[i - 1]) changes++;
  }
  return { lines, changes };
}

const commonScript = 1 / 2.5;
/** Scripts that tokenizers have hardly any words of. */
const rareScript = 1.8;
const symbol = 1.2;
const emoji = 1.5;

/** Tokens a code point, up to and including `last`; ascending. Measured with o200k where the rule names no rate. */
const rates: readonly (readonly [last: number, tokens: number])[] = [
  [0xbf, 1],
  [0x24f, commonScript],
  // Phonetic letters, combining marks.
  [0x36f, 1],
  // Greek, Cyrillic, Armenian, Hebrew, Arabic.
  [0x6ff, commonScript],
  [0x8ff, rareScript],
  // The scripts of India, Sinhala, Thai; Odia is rarer.
  [0xaff, commonScript],
  [0xb7f, 1],
  [0xe7f, commonScript],
  [0xfff, rareScript],
  // Burmese, Georgian.
  [0x10ff, commonScript],
  // Hangul letters.
  [0x11ff, 1],
  [0x177f, rareScript],
  // Khmer.
  [0x17ff, commonScript],
  [0x1dff, rareScript],
  [0x1fff, commonScript],
  // Dashes, quotes, arrows, mathematics, boxes, dingbats.
  [0x2e7f, symbol],
  // CJK, kana.
  [0xa4cf, 1],
  [0xabff, rareScript],
  // Hangul.
  [0xd7ff, 1],
  [0xf8ff, rareScript],
  // Compatibility forms, full and half width.
  [0xffff, 1],
  [0x1efff, 3],
  [0x1fbff, emoji],
  [0x10ffff, 3],
];

function signTokens(codePoint: number): number {
  return rates.find(([last]) => codePoint <= last)![1];
}

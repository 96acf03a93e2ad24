// BERT's tokenizer, uncased: words and marks, then the longest known pieces.

import { readFileSync } from 'node:fs';

/** Longer words are unknown ones. */
const longestWord = 100;

export class WordPiece {
  readonly #ids: ReadonlyMap<string, number>;

  constructor(pieces: readonly string[]) {
    this.#ids = new Map(pieces.map((piece, id) => [piece, id]));
  }

  /** At most `limit` ids, [CLS] and [SEP] included. */
  ids(text: string, limit: number): number[] {
    const ids = [this.#id('[CLS]')];
    for (const word of words(text)) {
      ids.push(...this.#pieces(word));
      if (ids.length >= limit) break;
    }
    return [...ids.slice(0, limit - 1), this.#id('[SEP]')];
  }

  #pieces(word: string): number[] {
    const letters = [...word];
    if (letters.length > longestWord) return [this.#id('[UNK]')];
    const ids: number[] = [];
    for (let from = 0; from < letters.length; ) {
      let to = letters.length;
      let id: number | undefined;
      for (; to > from && id === undefined; to--) {
        id = this.#ids.get((from > 0 ? '##' : '') + letters.slice(from, to).join(''));
      }
      if (id === undefined) return [this.#id('[UNK]')];
      ids.push(id);
      from = to + 1;
    }
    return ids;
  }

  #id(piece: string): number {
    const id = this.#ids.get(piece);
    if (id === undefined) throw new Error(`the vocabulary lacks ${piece}`);
    return id;
  }
}

/** Ideographs stand alone, as do marks; all other runs without white space are words. */
const wordPattern = new RegExp(
  '[\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{2ebef}\\u{2f800}-\\u{2fa1f}]|[\\p{P}$+<=>^`|~]|' +
    '[^\\s\\p{P}$+<=>^`|~\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{2ebef}\\u{2f800}-\\u{2fa1f}]+',
  'gu',
);

function* words(text: string): Generator<string> {
  const clean = text
    .replace(/[\t\n\r]/g, ' ')
    .replace(/[\p{Cc}\p{Cf}\ufffd]/gu, '')
    .toLowerCase()
    .normalize('NFD')
    .replace(/\p{Mn}/gu, '');
  for (const [word] of clean.matchAll(wordPattern)) yield word;
}

/** BERT's own 30,522 pieces. */
export function readVocabulary(): WordPiece {
  const file = readFileSync(new URL('vocab.txt', import.meta.url), 'utf8');
  return new WordPiece(file.trimEnd().split(/\r?\n/));
}

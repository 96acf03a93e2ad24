// The visible text of a run: committed blocks in order, deltas only for the block in progress (spec: bounded-claude 5).

import { characters, firstCharacters } from '../text.ts';
import { maxVisibleCharacters } from './sizes.ts';

export { maxVisibleCharacters };

/** From UTF-16 index `at` on, the visible text is now `text`. */
export interface TextChange {
  at: number;
  text: string;
}

export interface VisibleText {
  text(): string;
  /** Begins a message. The text of an unfinished one before it gives way once this one has text of its own. */
  begin(message: string): void;
  /** The CLI withdrew the current message and asks for it again. */
  withdraw(): void;
  /** The CLI goes on where the current message stops: its text stays. */
  goOn(): void;
  /** The current message ended by itself. */
  finish(): void;
  append(delta: string): TextChange | undefined;
  commit(message: string, block: string): TextChange | undefined;
  /** True once text had to be cut off. */
  full(): boolean;
}

export function createVisibleText(limit: number = maxVisibleCharacters): VisibleText {
  let committed = '';
  let pending = '';
  let current: string | undefined;
  /** Where the current message began in `committed`. */
  let start = 0;
  let finished = true;
  /** From here on the text is of an attempt that was abandoned; it stays until the next one has text. */
  let stale: number | undefined;
  let room = limit;
  let full = false;

  const settle = (): void => {
    committed += pending;
    pending = '';
  };

  const enter = (message: string): void => {
    if (!finished) stale ??= start;
    else settle();
    current = message;
    start = stale ?? committed.length;
  };

  const dropStale = (): void => {
    if (stale === undefined) return;
    committed = committed.slice(0, stale);
    pending = '';
    stale = undefined;
    room = limit - characters(committed);
  };

  const fitting = (text: string): string => {
    const size = characters(text);
    full ||= size > room;
    const fits = size <= room ? text : firstCharacters(text, room);
    room -= Math.min(size, room);
    return fits;
  };

  return {
    text: () => committed + pending,
    begin(message) {
      enter(message);
      finished = false;
    },
    withdraw() {
      stale ??= start;
      finished = true;
    },
    goOn() {
      settle();
      finished = true;
    },
    finish() {
      finished = true;
    },
    append(delta) {
      const at = stale ?? committed.length + pending.length;
      const dropped = stale !== undefined;
      dropStale();
      const text = fitting(delta);
      pending += text;
      return text === '' && !dropped ? undefined : { at, text };
    },
    commit(message, block) {
      if (message !== current) {
        enter(message);
        finished = true;
      }
      const at = stale ?? committed.length;
      const before = (committed + pending).slice(at);
      dropStale();
      room += characters(pending);
      pending = '';
      const text = fitting(block);
      committed += text;
      return text === before ? undefined : { at, text };
    },
    full: () => full,
  };
}

// Somebody else wrote while one was editing: what they changed, and the choice between theirs and mine.

import type { ReactNode } from 'react';
import { Button } from '../base/button.tsx';
import { Notice } from '../base/notice.tsx';
import { listed } from '../plan/words.ts';
import { clashOf, rebased, type Draft, type NamesOf } from './draft.ts';

interface MeanwhileProps<Fields extends object> {
  /** What was changed, at the beginning of a sentence. */
  what: string;
  /** Who changed it, where that is known. */
  writers?: readonly string[];
  draft: Draft<Fields>;
  version: number;
  current: Fields;
  /** Of the fields; otherwise all. */
  names?: NamesOf<Fields>;
  words: Record<keyof Fields & string, string>;
  onChange(draft: Draft<Fields>): void;
  /** Shows what they changed. */
  children(theirs: NamesOf<Fields>): ReactNode;
}

export function Meanwhile<Fields extends object>(props: MeanwhileProps<Fields>) {
  const { what, writers = [], draft, version, current, names, words, onChange, children } = props;
  const { theirs, mine, both } = clashOf(draft, current, names);
  const goOn = (kept: NamesOf<Fields>): void => onChange(rebased(draft, kept, version, current));
  return (
    <Notice
      tone="warning"
      actions={
        <>
          <Button small onClick={() => goOn(mine)}>
            {both.length > 0 ? 'Keep my text' : 'Go on with the newer version'}
          </Button>
          {both.length > 0 && (
            <Button small onClick={() => goOn(mine.filter((name) => !both.includes(name)))}>
              Take theirs
            </Button>
          )}
        </>
      }
    >
      <p>
        <strong>
          {what} was changed{writers.length > 0 && ` by ${listed(writers)}`} while you edited it.
        </strong>{' '}
        {both.length > 0
          ? `You have changed the same: ${listed(both.map((name) => words[name]))}. Nothing of yours is lost.`
          : 'Nothing of yours is touched by it.'}
      </p>
      {children(theirs)}
    </Notice>
  );
}

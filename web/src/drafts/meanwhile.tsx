// Somebody else wrote while one was editing: what they changed, and the choice between theirs and mine.

import { Button } from '../base/button.tsx';
import { Notice } from '../base/notice.tsx';
import { listed } from '../plan/words.ts';
import { Changes, type FieldTexts } from './changes.tsx';
import { clashOf, rebased, type Draft } from './draft.ts';

interface MeanwhileProps<Fields extends object> extends FieldTexts<Fields> {
  /** What was changed, at the beginning of a sentence. */
  what: string;
  draft: Draft<Fields>;
  version: number;
  current: Fields;
  onChange(draft: Draft<Fields>): void;
}

export function Meanwhile<Fields extends object>(props: MeanwhileProps<Fields>) {
  const { what, draft, version, current, words, textOf, onChange } = props;
  const { theirs, mine, both } = clashOf(draft, current);
  const goOn = (kept: readonly (keyof Fields & string)[]): void => onChange(rebased(draft, kept, version, current));
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
        <strong>{what} was changed while you edited it.</strong>{' '}
        {both.length > 0
          ? `You have changed the same: ${listed(both.map((name) => words[name]))}. Nothing of yours is lost.`
          : 'Nothing of yours is touched by it.'}
      </p>
      {theirs.length > 0 && (
        <Changes names={theirs} before={draft.base} after={current} words={words} textOf={textOf} />
      )}
    </Notice>
  );
}

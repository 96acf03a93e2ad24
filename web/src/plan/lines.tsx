// What differs between two texts, line by line.

import { difference, withGaps } from './difference.ts';
import { counted } from './words.ts';

export const linesOf = (text: string): string[] => (text === '' ? [] : text.split('\n'));

const marks = { same: ' ', removed: '−', added: '+' } as const;
const spoken = { same: '', removed: 'removed: ', added: 'added: ' } as const;

/** Two texts, line by line. */
export function Lines({ before, after }: { before: readonly string[]; after: readonly string[] }) {
  return (
    <ul className="lines">
      {withGaps(difference(before, after)).map((line, index) =>
        line.mark === 'gap' ? (
          <li key={index} className="line line-gap">
            {counted(line.count, 'line')} unchanged
          </li>
        ) : (
          <li key={index} className={`line line-${line.mark}`}>
            <span aria-hidden="true">{marks[line.mark]}</span>
            <span>
              <span className="visually-hidden">{spoken[line.mark]}</span>
              {line.text}
            </span>
          </li>
        ),
      )}
    </ul>
  );
}

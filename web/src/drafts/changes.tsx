// What changed from one version of a text to another, field by field.

import { Lines, linesOf } from '../plan/lines.tsx';

export interface FieldTexts<Fields extends object> {
  words: Record<keyof Fields & string, string>;
  /** A field as text, to compare by lines. */
  textOf(fields: Fields, name: keyof Fields & string): string;
}

interface ChangesProps<Fields extends object> extends FieldTexts<Fields> {
  names: readonly (keyof Fields & string)[];
  before: Fields;
  after: Fields;
}

export function Changes<Fields extends object>({ names, before, after, words, textOf }: ChangesProps<Fields>) {
  if (names.length === 0) return null;
  return (
    <dl className="changes">
      {names.map((name) => (
        <div className="change" key={name}>
          <dt>{words[name]}</dt>
          <dd>
            <Lines before={linesOf(textOf(before, name))} after={linesOf(textOf(after, name))} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

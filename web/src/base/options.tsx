// The options of a `<select>`.

import type { ReactNode } from 'react';

interface OptionsProps<Value> {
  of: readonly Value[];
  words(value: Value): ReactNode;
}

export function Options<Value extends string | number>({ of, words }: OptionsProps<Value>) {
  return of.map((each) => (
    <option key={each} value={each}>
      {words(each)}
    </option>
  ));
}

// What was typed and not saved: kept for this tab, over navigation and reloads.

import { useCallback, useState } from 'react';

/** Undefined: nothing is kept under that name. Setting undefined forgets it. */
export function useKept<Value>(name: string): [Value | undefined, (value: Value | undefined) => void] {
  const place = `planner.kept.${name}`;
  const [value, setValue] = useState(() => read<Value>(place));
  const keep = useCallback(
    (next: Value | undefined) => {
      setValue(next);
      if (next === undefined) sessionStorage.removeItem(place);
      else store(place, JSON.stringify(next));
    },
    [place],
  );
  return [value, keep];
}

/** What is too large for the tab's store is kept by the view alone. */
function store(place: string, text: string): void {
  try {
    sessionStorage.setItem(place, text);
  } catch {
    sessionStorage.removeItem(place);
  }
}

function read<Value>(place: string): Value | undefined {
  const text = sessionStorage.getItem(place);
  if (text === null) return undefined;
  try {
    return JSON.parse(text) as Value;
  } catch {
    return undefined;
  }
}

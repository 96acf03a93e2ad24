// Narrowing a view of items by words.

import type { ItemSummary } from '../../../client/index.ts';

/** Every word occurs in the key or the title. */
export function matches({ key, title }: Pick<ItemSummary, 'key' | 'title'>, words: string): boolean {
  const text = `${key} ${title}`.toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

export function FilterField({ value, onChange }: { value: string; onChange(value: string): void }) {
  return (
    <input
      type="search"
      className="filter"
      aria-label="Filter by key and title"
      placeholder="Filter"
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

// A text that is being edited while others may write it, too. Pure.

/** `base`: the fields as they were when editing began, or as they were last seen; `version`: of them. */
export interface Draft<Fields> {
  version: number;
  base: Fields;
  fields: Fields;
}

export const begun = <Fields>(version: number, fields: Fields): Draft<Fields> => ({ version, base: fields, fields });

export const equal = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

export type NamesOf<Fields> = readonly (keyof Fields & string)[];

const namesIn = <Fields extends object>(fields: Fields): NamesOf<Fields> =>
  Object.keys(fields) as (keyof Fields & string)[];

/** The fields, of the named ones, in which the two differ. */
export function differing<Fields extends object>(a: Fields, b: Fields, names = namesIn(a)): (keyof Fields & string)[] {
  return names.filter((name) => !equal(a[name], b[name]));
}

/** `fields`, the named ones alone. */
export function only<Fields extends object>(names: readonly (keyof Fields)[], fields: Fields): Partial<Fields> {
  const taken: Partial<Fields> = {};
  for (const name of names) taken[name] = fields[name];
  return taken;
}

export interface Clash<Fields> {
  /** What others changed since. */
  theirs: (keyof Fields & string)[];
  mine: (keyof Fields & string)[];
  /** What both changed, to different ends. */
  both: (keyof Fields & string)[];
}

export function clashOf<Fields extends object>(
  draft: Draft<Fields>,
  current: Fields,
  names?: NamesOf<Fields>,
): Clash<Fields> {
  const theirs = differing(draft.base, current, names);
  const mine = differing(draft.base, draft.fields, names);
  const both = theirs.filter((name) => mine.includes(name) && !equal(draft.fields[name], current[name]));
  return { theirs, mine, both };
}

/** The draft over a newer version: the named fields stay as they were typed, the others become the newer ones. */
export function rebased<Fields extends object>(
  draft: Draft<Fields>,
  kept: readonly (keyof Fields)[],
  version: number,
  current: Fields,
): Draft<Fields> {
  return { version, base: current, fields: { ...current, ...only(kept, draft.fields) } };
}

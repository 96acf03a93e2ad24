// Item keys and ids that a text names, and the list of those that a summary has lost. Pure. (spec: planner 8)

/** Numbers from first to last. */
type Run = [first: number, last: number];

/** Item numbers by project key, as ascending runs that do not touch: thousands of keys take little room. */
export type Keys = ReadonlyMap<string, readonly Run[]>;

const keyPattern = /(?<![A-Za-z0-9])([A-Z][A-Z0-9]{1,9})-([1-9]\d{0,8})(?:\.\.([1-9]\d{0,8}))?(?![A-Za-z0-9])/g;

/** The item keys that a text names: `WEB-12`, and runs as `listKeys` writes them: `WEB-3..9`. Of the given projects. */
export function keysIn(text: string, projects: ReadonlySet<string>): Keys {
  const runs = new Map<string, Run[]>();
  for (const [, project, first, last] of text.matchAll(keyPattern)) {
    if (!projects.has(project!)) continue;
    const run: Run = [Number(first), Math.max(Number(first), Number(last ?? first))];
    const known = runs.get(project!);
    if (known) known.push(run);
    else runs.set(project!, [run]);
  }
  return new Map([...runs].map(([project, all]) => [project, joined(all)]));
}

function joined(runs: readonly Run[]): Run[] {
  const out: Run[] = [];
  for (const [first, last] of runs.toSorted((a, b) => a[0] - b[0])) {
    const before = out.at(-1);
    if (before && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else out.push([first, last]);
  }
  return out;
}

/** Those of `keys` that are not among `known`. */
export function without(keys: Keys, known: Keys): Keys {
  const out = new Map<string, Run[]>();
  for (const [project, runs] of keys) {
    const rest = (known.get(project) ?? []).reduce((left, run) => left.flatMap((one) => minus(one, run)), [...runs]);
    if (rest.length > 0) out.set(project, rest as Run[]);
  }
  return out;
}

function minus([first, last]: Run, [from, to]: Run): Run[] {
  if (to < first || from > last) return [[first, last]];
  const out: Run[] = [];
  if (first < from) out.push([first, from - 1]);
  if (last > to) out.push([to + 1, last]);
  return out;
}

/** Keys that are listed one by one at most; of more, neighbours are written as runs. */
const maxListed = 500;

/** `WEB-1, WEB-2, API-7`; of many keys `WEB-1..900`. Empty: no keys. */
export function listKeys(keys: Keys): string {
  const runs = [...keys].flatMap(([project, all]) => all.map(([first, last]) => ({ project, first, last })));
  const count = runs.reduce((sum, { first, last }) => sum + last - first + 1, 0);
  const each = ({ project, first, last }: (typeof runs)[number]): string[] =>
    count > maxListed && last - first > 1
      ? [`${project}-${first}..${last}`]
      : Array.from({ length: last - first + 1 }, (_, n) => `${project}-${first + n}`);
  return runs.flatMap(each).join(', ');
}

const idPattern = /(?<![0-9a-z-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-z-])/g;

/** The ids (UUIDs) that a text names, each once, in order. */
export function idsIn(text: string): string[] {
  return [...new Set(text.match(idPattern) ?? [])];
}

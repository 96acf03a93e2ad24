// The known name that a mistyped one most likely means.

/** At most a third of the letters differ; undefined: none is near. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const far = Math.max(1, Math.floor(name.length / 3));
  const ranked = known.map((each) => ({ each, away: distance(name.toLowerCase(), each.toLowerCase()) }));
  const [best] = ranked.sort((one, other) => one.away - other.away);
  return best && best.away <= far ? best.each : undefined;
}

/** Insertions, deletions and replacements from one text to the other. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let at = 1; at <= from.length; at++) {
    const next = [at];
    for (let index = 1; index <= to.length; index++) {
      const same = from[at - 1] === to[index - 1] ? 0 : 1;
      next.push(Math.min((row[index] ?? 0) + 1, (next[index - 1] ?? 0) + 1, (row[index - 1] ?? 0) + same));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

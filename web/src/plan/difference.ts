// What differs between two lists of lines. Pure.

export interface Line {
  mark: 'same' | 'removed' | 'added';
  text: string;
}

/** Larger tables than this many cells are not worth the wait: everything is removed and added. */
const cells = 1_000_000;

/** A shortest way from one list to the other by removing and adding lines. */
export function difference(before: readonly string[], after: readonly string[]): Line[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  while (
    end < Math.min(before.length, after.length) - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  ) {
    end++;
  }
  const same = (text: string): Line => ({ mark: 'same', text });
  return [
    ...before.slice(0, start).map(same),
    ...middle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map(same),
  ];
}

function middle(before: readonly string[], after: readonly string[]): Line[] {
  const removed = (text: string): Line => ({ mark: 'removed', text });
  const added = (text: string): Line => ({ mark: 'added', text });
  if (before.length * after.length > cells) return [...before.map(removed), ...after.map(added)];
  const common = commonLengths(before, after);
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length && j < after.length) {
    const [old, fresh] = [before[i] ?? '', after[j] ?? ''];
    if (old === fresh) {
      lines.push({ mark: 'same', text: old });
      i++;
      j++;
    } else if ((common[i + 1]?.[j] ?? 0) >= (common[i]?.[j + 1] ?? 0)) {
      lines.push(removed(old));
      i++;
    } else {
      lines.push(added(fresh));
      j++;
    }
  }
  return [...lines, ...before.slice(i).map(removed), ...after.slice(j).map(added)];
}

/** `[i][j]`: how many lines the rest of `before` from i and the rest of `after` from j have in common. */
function commonLengths(before: readonly string[], after: readonly string[]): Uint32Array[] {
  const table = Array.from({ length: before.length + 1 }, () => new Uint32Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i--) {
    const [row, below] = [table[i], table[i + 1]];
    if (!row || !below) continue;
    for (let j = after.length - 1; j >= 0; j--) {
      row[j] =
        before[i] === after[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return table;
}

/** Runs of unchanged lines, more than a few, become one gap that says how many. */
export function withGaps(lines: readonly Line[], around = 2): (Line | { mark: 'gap'; count: number })[] {
  const near = lines.map((_, index) =>
    lines.slice(Math.max(0, index - around), index + around + 1).some(({ mark }) => mark !== 'same'),
  );
  const shown: (Line | { mark: 'gap'; count: number })[] = [];
  lines.forEach((line, index) => {
    const last = shown.at(-1);
    if (near[index]) shown.push(line);
    else if (last?.mark === 'gap') last.count++;
    else shown.push({ mark: 'gap', count: 1 });
  });
  return shown;
}

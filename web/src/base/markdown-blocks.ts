// Cuts growing Markdown where no later text can change what stands before. Pure.

const fence = /^ {0,3}(`{3,}|~{3,})/;
/** A line that can't belong to a list, quote, table or indented block above. */
const fresh = /^(?![ \t]|[-*+>|]|\d+[.)])\S/;

/**
 * Blocks that put together (with '') are the text. A block ends at a blank line outside of code fences that a fresh
 * paragraph, heading or fence follows; the last one may still grow.
 */
export function markdownBlocks(text: string): string[] {
  const blocks: string[] = [];
  let start = 0;
  let at = 0;
  let open: string | undefined;
  let blank = false;
  while (at < text.length) {
    const newline = text.indexOf('\n', at);
    const end = newline < 0 ? text.length : newline + 1;
    const line = text.slice(at, end);
    if (open === undefined && blank && fresh.test(line)) {
      if (at > start) blocks.push(text.slice(start, at));
      start = at;
    }
    const mark = fence.exec(line)?.[1];
    if (mark && open === undefined) open = mark;
    else if (mark && open && mark[0] === open[0] && mark.length >= open.length && line.trim() === mark) open = undefined;
    blank = line.trim() === '';
    at = end;
  }
  if (start < text.length) blocks.push(text.slice(start));
  return blocks;
}

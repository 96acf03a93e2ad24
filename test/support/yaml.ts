// Reads the part of YAML that the repository's own files use: block maps, lists in brackets or with dashes, scalars.
// What it does not know it refuses.

export type Yaml = string | Yaml[] | YamlMap | undefined;
export interface YamlMap {
  [key: string]: Yaml;
}

interface Line {
  indent: number;
  text: string;
  number: number;
}

export function parseYaml(source: string): Yaml {
  const lines = source.split('\n').flatMap((raw, index): Line[] => {
    const text = raw.trim();
    if (text === '' || text.startsWith('#')) return [];
    if (raw.includes('\t')) throw new Error(`Line ${index + 1}: a tab.`);
    return [{ indent: raw.length - raw.trimStart().length, text, number: index + 1 }];
  });
  const [value, rest] = block(lines, 0);
  if (rest.length > 0) throw new Error(`Line ${rest[0]?.number}: wrong indentation.`);
  return value;
}

function block(lines: Line[], least: number): [Yaml, Line[]] {
  const indent = lines[0]?.indent ?? -1;
  if (indent < least) return [undefined, lines];
  return lines[0]?.text.startsWith('- ') ? list(lines, indent) : map(lines, indent);
}

function list(lines: Line[], indent: number): [Yaml[], Line[]] {
  const items: Yaml[] = [];
  let rest = lines;
  for (let line = rest[0]; line && line.indent === indent; line = rest[0]) {
    if (!line.text.startsWith('- ')) throw new Error(`Line ${line.number}: expected "- ".`);
    items.push(scalar(line.text.slice(2), line));
    rest = rest.slice(1);
  }
  return [items, rest];
}

function map(lines: Line[], indent: number): [YamlMap, Line[]] {
  const entries: YamlMap = {};
  let rest = lines;
  for (let line = rest[0]; line && line.indent === indent; line = rest[0]) {
    const [, key, text] = /^([A-Za-z0-9_-]+):(?: (.*))?$/.exec(line.text) ?? [];
    if (!key || key in entries) throw new Error(`Line ${line.number}: no key, or one that is there already.`);
    if (text === undefined) [entries[key], rest] = block(rest.slice(1), indent + 1);
    else [entries[key], rest] = [scalar(text, line), rest.slice(1)];
  }
  return [entries, rest];
}

/** Lists in brackets and quoted strings are JSON here. */
function scalar(text: string, line: Line): Yaml {
  if (/^["[]/.test(text)) return JSON.parse(text) as Yaml;
  if (/^[&*!|>%@`{]/.test(text) || text.includes(': ') || text.includes(' #')) {
    throw new Error(`Line ${line.number}: not understood.`);
  }
  return text;
}

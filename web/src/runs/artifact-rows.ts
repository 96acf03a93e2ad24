// Artifacts as rows: metadata.json flat, events.jsonl one row an event. Pure.

export interface MetadataRow {
  /** "observed · models" */
  name: string;
  value: string;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Every field in its order, nested ones by their path; throws where the text is no JSON object. */
export function metadataRows(text: string): MetadataRow[] {
  const value: unknown = JSON.parse(text);
  if (!isRecord(value)) throw new Error('metadata.json holds no object.');
  return rowsOf(value, []);
}

function rowsOf(record: Record<string, unknown>, path: readonly string[]): MetadataRow[] {
  return Object.entries(record).flatMap(([name, value]) => {
    const here = [...path, name.replaceAll('_', ' ')];
    if (isRecord(value) && Object.keys(value).length > 0) return rowsOf(value, here);
    return [{ name: here.join(' · '), value: words(value) }];
  });
}

function words(value: unknown): string {
  if (value === null || value === '') return 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(words).join(', ');
  return isRecord(value) ? 'none' : String(value);
}

export interface EventRow {
  n: string;
  at?: string | undefined;
  /** "stream_event content_block_delta" */
  type: string;
  rest: string;
}

/** A line that is no JSON object is shown as it is. */
export function eventRows(text: string): EventRow[] {
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line, index) => eventRow(line) ?? { n: String(index + 1), type: '', rest: line });
}

function eventRow(line: string): EventRow | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const { n, at, type, subtype, event, ...more } = value;
  const named = [type, subtype, event].filter((part) => typeof part === 'string');
  const told = (part: unknown): string => (isRecord(part) ? JSON.stringify(part) : words(part));
  const rest = Object.entries(more).map(([name, part]) => `${name} ${told(part)}`);
  return {
    n: n === undefined ? '' : String(n),
    at: typeof at === 'string' ? at : undefined,
    type: named.join(' '),
    rest: rest.join(', '),
  };
}

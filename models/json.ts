// JSON from strangers: narrowing, and strings that PostgreSQL can store.

import { storable } from '../domain/text.ts';

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The JSON object that a text is; undefined where it is none. */
export function parsedObject(text: string): Record<string, unknown> | undefined {
  const value = parsed(text);
  return isObject(value) ? value : undefined;
}

/** The same object with every string in it, names too, storable: escapes hide what the raw text did not show. */
export function storableJson(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [storable(name), storableValue(inner)]));
}

function storableValue(value: unknown): unknown {
  if (typeof value === 'string') return storable(value);
  if (Array.isArray(value)) return value.map(storableValue);
  return isObject(value) ? storableJson(value) : value;
}

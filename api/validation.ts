// Validates what comes from outside; every violation is named at once.

import type { z } from 'zod';
import { invalid } from '../domain/errors.ts';
import { firstCharacters } from '../domain/text.ts';

/** The schema's output. Throws invalid_argument that names each wrong or unknown field. `what`: "body", "params"... */
export function validate<Schema extends z.ZodType>(schema: Schema, value: unknown, what: string): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const complaints = parsed.error.issues.slice(0, 20).map((issue) => complaint(issue, what));
  throw invalid(`${complaints.join('; ')}.`);
}

function complaint(issue: z.core.$ZodIssue, what: string): string {
  const path = issue.path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  const field = path.replace(/^\./, '');
  if (issue.code === 'unrecognized_keys') {
    const names = issue.keys.map((key) => (field ? `${field}.${key}` : key)).map((name) => firstCharacters(name, 100));
    return `Unknown field${names.length > 1 ? 's' : ''} in the ${what}: ${names.join(', ')}`;
  }
  const text = issue.message.replace(/^Invalid input: /, '').replace(/\.$/, '');
  return field ? `${firstCharacters(field, 200)}: ${text}` : `The ${what}: ${text}`;
}

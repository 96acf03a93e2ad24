// `[models.<name>]`: windows and prices of models, by names that the operator chooses (spec: planner 13).

import { z } from 'zod';
import type { ModelFacts } from '../domain/models.ts';
import { nearest } from './nearest.ts';

/** As `PLANNER_MODELS` gives them: a JSON object, {"<name>": {"window": ..., "prices": {...}}}. */
export const modelsVariable = 'PLANNER_MODELS';

export interface KnownModel {
  facts: ModelFacts;
  source: string;
}

const price = z.number().min(0).max(1_000_000);
const prices = z.strictObject({
  input: price,
  output: price,
  cache_read: price.optional(),
  cache_write: price.optional(),
});
const facts = z.strictObject({ window: z.int().min(1).max(1_000_000_000).optional(), prices: prices.optional() });

const keys = ['window', 'prices', 'prices.input', 'prices.output', 'prices.cache_read', 'prices.cache_write'];
const wanted: Record<string, string> = {
  window: 'a whole number of tokens, at least 1',
  prices: 'a table: { input, output, cache_read, cache_write }, USD per million tokens',
};
const wantedPrice = 'USD per million tokens, a number from 0 on';

/** Adds the models of a table to `models`, in place of those of the same name; what is wrong goes to `problems`. */
export function addModels(
  table: unknown,
  source: string,
  models: Map<string, KnownModel>,
  problems: string[],
): void {
  const parsed = z.record(z.string(), z.unknown()).safeParse(table);
  if (!parsed.success) {
    problems.push(`models (from ${source}) must be a table of models, such as [models."gpt-5"]`);
    return;
  }
  for (const [name, given] of Object.entries(parsed.data)) {
    const known = facts.safeParse(given, { reportInput: true });
    if (known.success) models.set(name, { facts: known.data, source });
    else problems.push(...new Set(known.error.issues.flatMap((issue) => complaints(issue, name, source))));
  }
}

/** The text of `PLANNER_MODELS`. */
export function addModelsText(text: string, models: Map<string, KnownModel>, problems: string[]): void {
  let table: unknown;
  try {
    table = JSON.parse(text);
  } catch {
    problems.push(`${modelsVariable} must be a JSON object: {"<model>": {"window": 128000, "prices": {...}}}`);
    return;
  }
  addModels(table, modelsVariable, models, problems);
}

/** Rows for `planner config`: values as they were given. */
export function modelRows(models: ReadonlyMap<string, KnownModel>): { key: string; value: string; source: string }[] {
  return [...models].flatMap(([name, { facts, source }]) => [
    ...(facts.window === undefined ? [] : [{ key: `models.${name}.window`, value: String(facts.window), source }]),
    ...Object.entries(facts.prices ?? {})
      .filter(([, value]) => value !== undefined)
      .map(([kind, value]) => ({ key: `models.${name}.prices.${kind}`, value: String(value), source })),
  ]);
}

function complaints(issue: z.core.$ZodIssue, name: string, source: string): string[] {
  const path = issue.path.map(String);
  const full = ['models', name, ...path].join('.');
  if (issue.code !== 'unrecognized_keys') {
    const rule = wanted[path.join('.')] ?? (path.length === 0 ? 'a table with window and prices' : wantedPrice);
    const given = issue.input === undefined ? 'it is missing' : `not ${JSON.stringify(issue.input)?.slice(0, 80)}`;
    return [`${full} (from ${source}) must be ${rule}; ${given}`];
  }
  return issue.keys.map((key) => {
    const known = nearest([...path, key].join('.'), keys);
    if (known) return `${full}.${key} (from ${source}) is not known; did you mean models.${name}.${known}?`;
    return (
      `${full}.${key} (from ${source}) is not known; a model has window and prices. ` +
      'A name with dots stands in quotes: [models."gpt-4.1"]'
    );
  });
}

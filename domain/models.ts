// What is known of models: windows, prices, and what tokens cost (spec: planner 9, 13).

import type { Usage } from './transcript.ts';

/** USD per million tokens. What reads or writes a provider's cache costs as much as input where no price is named. */
export interface Prices {
  input: number;
  output: number;
  cache_read?: number | undefined;
  cache_write?: number | undefined;
}

export interface ModelFacts {
  /** Tokens of one request and its answer at most. */
  window?: number | undefined;
  prices?: Prices | undefined;
}

/** By the model's name as it is configured; the names are the operator's. */
export type ModelCatalog = ReadonlyMap<string, ModelFacts>;

export const noModels: ModelCatalog = new Map();

/** USD; undefined where no price of the model is known. */
export function costOf(usage: Usage, prices: Prices | undefined): number | undefined {
  if (!prices) return undefined;
  const { input, output, cache_read = input, cache_write = input } = prices;
  const millionths =
    usage.input * input + usage.output * output + usage.cache_read * cache_read + usage.cache_write * cache_write;
  return millionths / 1_000_000;
}

/** The provider that is asked where no other is chosen; the only one that the installation's own key is for. */
export const defaultProvider = 'openai';

// Tokens, costs and days as people read them. Pure.

import type { ProjectUsage, UsageTotals } from '../../../client/index.ts';
import { money } from '../runs/words.ts';

export const groupings = ['day', 'model', 'session'] as const;
export type By = (typeof groupings)[number];
export const byWords: Record<By, string> = { day: 'By day', model: 'By model', session: 'By session' };
export const columnWords: Record<By, string> = { day: 'Day (UTC)', model: 'Model', session: 'Session' };

export const periods = [7, 30, 90] as const;

const dayMs = 86_400_000;
const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** The first of the last `days` days, UTC. */
export const firstDay = (days: number, now: number): string => dayOf(now - (days - 1) * dayMs);

/** Every day from the first to the last, both included. */
export function daysBetween(from: string, to: string): string[] {
  const days: string[] = [];
  for (let time = Date.parse(from); time <= Date.parse(to); time += dayMs) days.push(dayOf(time));
  return days;
}

type Tokens = Pick<UsageTotals, 'input' | 'output' | 'cache_read' | 'cache_write'>;

/** What the model read: cached or not. */
export const tokensIn = ({ input, cache_read, cache_write }: Tokens): number => input + cache_read + cache_write;
export const tokens = (sum: Tokens): number => tokensIn(sum) + sum.output;

export const number = (count: number): string => count.toLocaleString('en-US');

type Cost = Pick<UsageTotals, 'cost_usd' | 'estimated_tokens' | 'unpriced_calls'>;

/** "about 0.12 USD" where tokens are estimated; undefined: no price is known. */
export function costWords(sum: Cost): string | undefined {
  if (sum.cost_usd === undefined) return undefined;
  const about = sum.estimated_tokens > 0 ? 'about ' : '';
  return `${sum.unpriced_calls > 0 ? 'at least ' : ''}${about}${money(sum.cost_usd)}`;
}

/** Undefined: all was reported by providers. */
export function estimateWords(sum: Tokens & { estimated_tokens: number }): string | undefined {
  if (sum.estimated_tokens === 0) return undefined;
  return sum.estimated_tokens >= tokens(sum) ? 'estimated' : `${number(sum.estimated_tokens)} of the tokens estimated`;
}

/** What is left of today's budget; undefined: the project has none of its own. */
export function budgetLeft({ daily_tokens, used }: ProjectUsage['budget']): number | undefined {
  return daily_tokens === 0 ? undefined : Math.max(0, daily_tokens - used);
}

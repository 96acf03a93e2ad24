// Limits of a run: lowered at will, never raised; the budget and what a resume gets of it (spec: bounded-claude 1).

import { maxLineBytes, maxLogBytes, maxPacketCharacters, maxVisibleCharacters } from './sizes.ts';

/** Wall, idle and upstream limits count per attempt. Field names as in metadata.json. */
export interface Limits {
  wall_timeout_seconds: number;
  /** Without a complete valid event. */
  idle_timeout_seconds: number;
  /** Of events without content. */
  upstream_idle_seconds: number;
  max_input_chars: number;
  max_line_bytes: number;
  max_visible_chars: number;
  max_log_bytes: number;
  resume_attempts: number;
}

/** The limits nobody can raise; they hold where nothing lower is asked for, but for `resume_attempts`. */
export const highest: Limits = {
  wall_timeout_seconds: 600,
  idle_timeout_seconds: 180,
  upstream_idle_seconds: 300,
  max_input_chars: maxPacketCharacters,
  max_line_bytes: maxLineBytes,
  max_visible_chars: maxVisibleCharacters,
  max_log_bytes: maxLogBytes,
  resume_attempts: 3,
};

export const defaultLimits: Limits = { ...highest, resume_attempts: 1 };

/** USD a run. */
export const defaultBudget = 2;
export const highestBudget = 10;
/** USD: less than this is not worth an attempt. */
export const leastBudget = 0.05;

export interface AskedLimits extends Partial<Limits> {
  max_budget_usd?: number;
}

export interface RunLimits {
  limits: Limits;
  budget_usd: number;
  /** Names of the limits that are below their default; recorded in metadata and event. */
  lowered: string[];
}

const options: Partial<Record<keyof AskedLimits, string>> = {
  wall_timeout_seconds: '--wall-timeout',
  idle_timeout_seconds: '--idle-timeout',
  max_input_chars: '--max-input-chars',
  resume_attempts: '--resume-attempts',
  max_budget_usd: '--max-budget-usd',
};

/** Checks what was asked for; all problems together, each naming its option and the range. */
export function readLimits(asked: AskedLimits = {}): ({ ok: true } & RunLimits) | { ok: false; problems: string[] } {
  const problems: string[] = [];
  const limits = { ...defaultLimits };
  for (const key of Object.keys(highest) as (keyof Limits)[]) {
    const value = asked[key];
    if (value === undefined) continue;
    const problem = limitProblem(key, value);
    if (problem) problems.push(problem);
    else limits[key] = value;
  }
  const budget_usd = asked.max_budget_usd ?? defaultBudget;
  if (!(budget_usd > 0 && budget_usd <= highestBudget)) {
    problems.push(`--max-budget-usd must be greater than 0 and at most ${highestBudget}.`);
  }
  if (problems.length > 0) return { ok: false, problems };
  const lowered: string[] = (Object.keys(highest) as (keyof Limits)[]).filter(
    (key) => limits[key] < defaultLimits[key],
  );
  if (budget_usd < defaultBudget) lowered.push('budget_usd');
  return { ok: true, limits, budget_usd, lowered };
}

function limitProblem(key: keyof Limits, value: number): string | undefined {
  const option = options[key] ?? key;
  const most = highest[key];
  if (key === 'resume_attempts') {
    if (Number.isInteger(value) && value >= 0 && value <= most) return undefined;
    return `${option} must be a whole number from 0 to ${most}.`;
  }
  const whole = key.endsWith('_seconds') || Number.isInteger(value);
  if (Number.isFinite(value) && value > 0 && whole && value <= most) return undefined;
  return `${option} must be greater than 0 and at most ${most}: a limit may be lowered, never raised.`;
}

/**
 * What an attempt may spend, in USD: what is left of the run's budget after known and estimated spend, rounded down to
 * a hundredth of a cent; undefined when less than 0.05 is left, which is `budget_exceeded`. A first attempt has spent 0
 * and gets the whole budget, however small.
 */
export function budgetLeft(budgetUsd: number, spentUsd: number): number | undefined {
  if (spentUsd <= 0) return budgetUsd;
  const left = Math.floor((budgetUsd - spentUsd) * 10_000 + 1e-6) / 10_000;
  return left >= leastBudget ? left : undefined;
}

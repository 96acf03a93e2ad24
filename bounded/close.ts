// The end of an attempt in PostgreSQL: verdict, text, cost; tried until PostgreSQL is back (spec: bounded-claude 5, 7).

import { setTimeout as sleep } from 'node:timers/promises';
import type { AttemptOutcome } from '../claude/index.ts';
import { estimatedCost } from '../domain/bounded/cost.ts';
import type { FailureKind } from '../domain/bounded/failures.ts';
import type { AttemptEnd } from '../domain/run.ts';
import { storable, storableJson } from '../domain/text.ts';
import { endAttempt, lockAttempt, markInterrupted, readAttempts, type AttemptResult, type AttemptRow } from '../store/attempts.ts';
import { isConnectionError, transaction, type Database } from '../store/database.ts';
import { lockRun } from '../store/runs.ts';

const patienceMs = 60_000;

/**
 * Stores how an attempt ended, under its fence; also of a run that was ended meanwhile: what it cost counts. Errors:
 * RunLost where somebody else has taken it over.
 */
export async function closeAttempt(
  database: Database,
  attempt: AttemptRow,
  judged: AttemptOutcome,
): Promise<AttemptEnd> {
  const outcome = blameless(judged);
  await patiently(() =>
    transaction(database, async (tx) => {
      const run = await lockRun(tx, attempt.run);
      const row = await lockAttempt(tx, attempt.run, attempt.attempt, attempt.fence);
      const others = (await readAttempts(tx, attempt.run)).filter((one) => one.attempt !== row.attempt);
      await endAttempt(tx, run, row, resultOf(row, outcome, others));
      if (!outcome.success && outcome.failure === 'interrupted') await markInterrupted(tx, row);
    }),
  );
  return endOf(outcome);
}

export function endOf(outcome: AttemptOutcome): AttemptEnd {
  if (outcome.success) return { kind: 'plan' };
  const { retryAfterMs } = outcome;
  return { kind: 'failed', failure: kindOf(outcome.failure), ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

/** An end on purpose is the asker's own stop. */
const kindOf = (failure: FailureKind | 'interrupted'): FailureKind =>
  failure === 'interrupted' ? 'cancelled' : failure;

function resultOf(row: AttemptRow, outcome: AttemptOutcome, others: readonly AttemptRow[]): AttemptResult {
  const { observed, streamed, usage, costUsd, numTurns, returncode, signal, durationMs, stderrTail } = outcome;
  const kept = { observed, streamed, usage, costUsd, numTurns, returncode, signal, durationMs, stderrTail };
  return {
    status: outcome.success ? 'succeeded' : 'failed',
    failure_kind: outcome.success ? null : kindOf(outcome.failure),
    failure_detail: outcome.success ? null : storable(outcome.detail),
    checkpoint: storable(outcome.text),
    warnings: outcome.warnings.map(storable),
    outcome: storableJson(kept),
    ...costOf(row, outcome, others),
  };
}

/**
 * What the CLI reports is cumulative over those attempts of its session that ended by themselves (measured, see
 * docs/bounded.md): this attempt's share is what it adds to them.
 */
function costOf(
  row: AttemptRow,
  { costUsd, streamed }: AttemptOutcome,
  others: readonly AttemptRow[],
): Pick<AttemptResult, 'session_cost_usd' | 'cost_usd' | 'cost_estimated'> {
  if (costUsd === null) {
    const cost_usd = estimatedCost(streamed);
    return { session_cost_usd: null, cost_usd, cost_estimated: cost_usd > 0 };
  }
  const before = others
    .filter((one) => one.session_id === row.session_id && one.attempt < row.attempt && endedByItself(one))
    .map((one) => one.session_cost_usd ?? 0);
  const known = Math.max(0, ...before);
  return { session_cost_usd: costUsd, cost_usd: costUsd < known ? costUsd : costUsd - known, cost_estimated: false };
}

const byItself: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'upstream_error',
  'refusal',
  'claude_error',
  'protocol_error',
  'budget_exceeded',
]);

const endedByItself = ({ failure_kind, outcome }: AttemptRow): boolean =>
  outcome?.signal === null && (failure_kind === null || byItself.has(failure_kind));

/** Where no CLI ran, Claude did nothing wrong: its host could not start it. */
function blameless(outcome: AttemptOutcome): AttemptOutcome {
  const ran = outcome.returncode !== null || outcome.signal !== null || outcome.durationMs > 0;
  if (outcome.success || ran || outcome.failure !== 'claude_error') return outcome;
  return { ...outcome, failure: 'host_unavailable', detail: unstartedDetail(outcome.detail) };
}

export const unstartedDetail = (why: string): string =>
  `The CLI was not started, and nothing was paid for this attempt: ${why}`;

/** Nothing ran, so nothing was paid. */
export function neverStarted(failure: FailureKind, detail: string): AttemptOutcome {
  return {
    success: false,
    failure,
    detail,
    text: '',
    warnings: [],
    observed: { session_ids: [], models: [], cli_version: null },
    streamed: { input_tokens: 0, output_tokens: 0 },
    usage: null,
    costUsd: null,
    numTurns: null,
    returncode: null,
    signal: null,
    durationMs: 0,
    stderrTail: '',
  };
}

async function patiently<T>(work: () => Promise<T>): Promise<T> {
  const until = Date.now() + patienceMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isConnectionError(error) || Date.now() > until) throw error;
      await sleep(500);
    }
  }
}

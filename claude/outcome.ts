// From what was read and how the process ended to the attempt's outcome (spec: bounded-claude 5 and 7).

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { EventReader, Fact, ReaderOptions } from '../domain/bounded/events.ts';
import type { FailureKind } from '../domain/bounded/failures.ts';
import type { Verdict } from '../domain/bounded/verdict.ts';
import { redactPlan } from '../domain/bounded/plan.ts';
import { redactKnown } from '../domain/secrets/index.ts';
import { ArtifactError, writeWhole } from './artifacts.ts';
import type { GuardExit } from './guard-protocol.ts';
import type { AttemptFailure, AttemptLimits, AttemptOutcome, AttemptPlan } from './types.ts';

/** Why we ended an attempt, recorded before the first signal. `lingered`: the result was there, but no exit. */
export type EndCause = { kind: FailureKind; detail: string } | { kind: 'interrupted' | 'lingered'; detail: string };

export const readerOptions = ({
  session,
  model,
  limits,
}: Pick<AttemptPlan, 'session' | 'model' | 'limits'>): ReaderOptions => ({
  sessionId: session.id,
  model,
  maxLineBytes: limits.maxLineBytes,
  maxVisibleCharacters: limits.maxVisibleCharacters,
  maxLogBytes: limits.maxLogBytes,
});

/** How the CLI ended; null where it never started. */
export type Ended = Pick<GuardExit, 'code' | 'signal' | 'stderr_tail' | 'duration_ms'>;

export interface Ending {
  ended: Ended;
  cause: EndCause | undefined;
  warnings: string[];
  retryAfterMs?: number;
}

/** Judges, redacts, and puts the facts together. */
export async function outcomeOf(reader: EventReader, ending: Ending): Promise<AttemptOutcome> {
  const verdict = verdictOf(reader, ending);
  const observed = reader.observed();
  const visible = verdict.success ? verdict.text : reader.visibleText();
  const { text, warnings } = await redactPlan(visible);
  const { ended, retryAfterMs } = ending;
  return {
    ...(verdict.success
      ? { success: true }
      : { success: false, failure: verdict.failure_kind, detail: redactKnown(verdict.detail) }),
    text,
    warnings: [...ending.warnings, ...verdict.notes, ...warnings],
    observed: { session_ids: observed.session_ids, models: observed.models, cli_version: observed.cli_version },
    streamed: observed.streamed,
    usage: observed.usage,
    costUsd: observed.total_cost_usd,
    numTurns: observed.num_turns,
    returncode: ended.code,
    signal: ended.signal,
    durationMs: ended.duration_ms,
    stderrTail: redactKnown(ended.stderr_tail),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

type Decision =
  | Extract<Verdict, { success: true }>
  | { success: false; failure_kind: AttemptFailure; detail: string; notes: string[] };

function verdictOf(reader: EventReader, { ended, cause }: Ending): Decision {
  const exit = { exitCode: ended.code, signal: ended.signal, stderrTail: ended.stderr_tail };
  if (!cause) return reader.judge(exit);
  if (cause.kind === 'lingered') return reader.judge({ ...exit, lingered: true });
  if (cause.kind === 'worker_lost') {
    // The loss says nothing about what was finished before it: a stored success is a success.
    const stored = reader.judge({ ...exit, lingered: true });
    if (stored.success) return stored;
  }
  if (cause.kind === 'interrupted') {
    return { success: false, failure_kind: 'interrupted', detail: cause.detail, notes: reader.observed().notes };
  }
  return reader.judge({ ...exit, cause: { failure_kind: cause.kind, detail: cause.detail } });
}

/** Milliseconds until the API takes requests again, where a rate limit event says so. */
export function retryAfter(fact: Fact, now: number): number | undefined {
  if (fact.kind !== 'event' || fact.envelope.type !== 'rate_limit_event') return undefined;
  const limit = fact.envelope['rate_limit'] as Record<string, unknown> | undefined;
  const resets = limit?.['resetsAt'];
  if (limit?.['status'] !== 'rejected' || typeof resets !== 'number') return undefined;
  return Math.max(0, resets * 1_000 - now);
}

const outcomeFile = (runDir: string): string => path.join(runDir, 'outcome.json');

/** Kept until the run's artifacts are complete: a finished, paid attempt is never judged or bought twice. */
export async function keepOutcome(runDir: string, outcome: AttemptOutcome): Promise<void> {
  try {
    await writeWhole(outcomeFile(runDir), `${JSON.stringify(outcome)}\n`);
  } catch (error) {
    if (!(error instanceof ArtifactError)) throw error;
    outcome.warnings.push(`The outcome could not be kept on disk: ${error.message}`);
  }
}

export async function keptOutcome(runDir: string): Promise<AttemptOutcome | undefined> {
  try {
    return JSON.parse(await readFile(outcomeFile(runDir), 'utf8')) as AttemptOutcome;
  } catch {
    return undefined;
  }
}

const seconds = (ms: number): string => `${ms / 1_000} s`;

export const limitCauses: Record<
  'wall_timeout' | 'idle_timeout' | 'upstream_idle',
  (limits: AttemptLimits) => EndCause
> = {
  wall_timeout: ({ wallMs }) => ({ kind: 'wall_timeout', detail: `The CLI ran longer than ${seconds(wallMs)}.` }),
  idle_timeout: ({ idleMs }) => ({ kind: 'idle_timeout', detail: `No complete event came for ${seconds(idleMs)}.` }),
  upstream_idle: ({ upstreamIdleMs }) => ({
    kind: 'upstream_idle',
    detail: `Events came, but none with content, for ${seconds(upstreamIdleMs)}.`,
  }),
};

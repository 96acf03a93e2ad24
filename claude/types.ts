// What the CLI boundary takes and gives: an attempt's plan, hooks and outcome (spec: bounded-claude 4, 5, 7).

import type { FailureKind } from '../domain/bounded/failures.ts';

/** The CLI that an attempt runs, as found before anything is paid. */
export interface CliIdentity {
  /** Absolute, links resolved. */
  path: string;
  /** `2.1.332`. */
  version: string;
  /** Of the executable, 64 hexadecimal digits. */
  sha256: string;
}

/** All but `settleMs` may only be lowered; milliseconds on a monotonic clock, bytes, code points. */
export interface AttemptLimits {
  /** 600,000: from the CLI's start to its end. */
  wallMs: number;
  /** 180,000 without a complete valid JSON event. */
  idleMs: number;
  /** 300,000 of events without content. */
  upstreamIdleMs: number;
  /** 5,000 from the result event to the exit. */
  settleMs: number;
  /** 1,048,576 bytes a line. */
  maxLineBytes: number;
  /** 100,000 code points of visible text. */
  maxVisibleCharacters: number;
  /** 10,485,760 bytes of `events.jsonl`. */
  maxLogBytes: number;
}

export const defaultLimits: AttemptLimits = {
  wallMs: 600_000,
  idleMs: 180_000,
  upstreamIdleMs: 300_000,
  settleMs: 5_000,
  maxLineBytes: 1_048_576,
  maxVisibleCharacters: 100_000,
  maxLogBytes: 10_485_760,
};

export interface AttemptPlan {
  runId: string;
  /** From 1. */
  attempt: number;
  /** Absolute: `.partner/runs/<run-id>`, from the second attempt on `.partner/runs/<run-id>.r<attempt>`. */
  runDir: string;
  /** The run's empty directory outside any git repository; the same real path for every resume. */
  workDir: string;
  cli: CliIdentity;
  /** A full name, no alias. */
  model: string;
  effort: string;
  /** More than 0, at most 10. */
  budgetUsd: number;
  limits: AttemptLimits;
  session: { kind: 'fresh' | 'resume'; id: string };
  /** Made by `promptFor`. */
  prompt: string;
  /** Made by `cliEnvironment`. */
  environment: Record<string, string>;
  /** Whose sweep ends what is left of it; without dots. Undefined: anybody's. */
  installation?: string;
}

/** What a successor knows of an attempt whose worker was lost. */
export type LostAttempt = Omit<AttemptPlan, 'prompt' | 'environment' | 'installation'>;

/** starting: no event yet; waiting: no content yet; retrying: the API is asked again; ending: we end the group. */
export type AttemptPhase = 'starting' | 'waiting' | 'thinking' | 'writing' | 'retrying' | 'settling' | 'ending';

export interface AttemptState {
  phase: AttemptPhase;
  elapsedMs: number;
  /** Code points. */
  visibleCharacters: number;
  /** Since the last complete valid event, or since the start. */
  lastEventAgeMs: number;
}

/**
 * Why the caller ends an attempt. cancel: a person; interrupt: a re-validation, on purpose; lost: this worker hands the
 * run back, the guard ends the group and a successor judges.
 */
export type AbortCause = 'cancel' | 'interrupt' | 'lost';

export interface AttemptHooks {
  /** Its `reason` is an `AbortCause`; anything else counts as `lost`. */
  signal: AbortSignal;
  /** At most four times a second, and at each new phase. */
  onChange(state: AttemptState): void;
  /** Visible text, redacted over the joined text: more of it, or all of it anew. */
  onText(text: TextChange): void;
}

export type TextChange = { append: string } | { replace: string };

/** Tokens as the CLI reports them in its result. */
export type Usage = Record<string, unknown>;

interface AttemptFacts {
  /** Visible text, redacted; on success the plan. */
  text: string;
  /** What was redacted and what was odd, a line each; never a value. */
  warnings: string[];
  observed: { session_ids: string[]; models: string[]; cli_version: string | null };
  /** By the stream's own events: an estimate where no result came. */
  streamed: { input_tokens: number; output_tokens: number };
  usage: Usage | null;
  /** Cumulative over the session, as the CLI reports it; null: no result came. */
  costUsd: number | null;
  numTurns: number | null;
  returncode: number | null;
  signal: string | null;
  durationMs: number;
  /** At most 8 KiB, redacted. */
  stderrTail: string;
  retryAfterMs?: number;
}

/** `interrupted` is the end that a re-validation brought about on purpose (spec: bounded-claude 9). */
export type AttemptFailure = FailureKind | 'interrupted';

export type AttemptOutcome = AttemptFacts &
  ({ success: true } | { success: false; failure: AttemptFailure; detail: string });

/** A process group that outlived its guard and its worker, and was ended. */
export interface Swept {
  marker: string;
  pids: number[];
}

// The bounded run as its workflow and its activities know it: ids, counts and classes only (spec: orchestration).

import type { FailureKind } from './bounded/failures.ts';

export const runWorkflow = 'boundedClaudePlan';
/** One workflow id a run; each resume that a person asks for is a new workflow run under it. */
export const runWorkflowId = (pathHash: string, runId: string): string => `bounded-claude-${pathHash}-${runId}`;
/** The queue of the worker on the computer that holds the repository. */
export const runTaskQueue = (machine: string): string => `bounded-${machine}`;

/** Milliseconds. */
export interface RunTimings {
  /** How long an activity waits for a worker of the repository's host before that is told. */
  hostPatience: number;
  /** How long all that waiting may take before the run fails with host_unavailable. */
  hostGiveUp: number;
  /** Longer than the guard's lease (10 s): never two CLIs for one run. */
  heartbeat: number;
  /** Before the first automatic resume; doubled for each further one. A Retry-After counts instead. */
  backoff: number;
}

export const runTimings: RunTimings = {
  hostPatience: 300_000,
  hostGiveUp: 86_400_000,
  heartbeat: 30_000,
  backoff: 5_000,
};

export interface RunInput {
  /** The row's id. */
  run: string;
  /** 0, raised by each resume that a person asks for. */
  cycle: number;
  /** Of the repository's host. */
  queue: string;
  timings: RunTimings;
}

export type RunRef = Pick<RunInput, 'run' | 'cycle'>;

/** How a run ended; `superseded`: it had ended, or goes on in another cycle. */
export type RunEnd =
  | { status: 'succeeded' }
  | { status: 'failed'; failure: FailureKind }
  | { status: 'cancelled' }
  | { status: 'rejected' }
  | { status: 'superseded' };

/**
 * start: supervise this attempt. publish: this attempt has a finished plan that is not published yet. failed: this
 * cycle had begun before, and its last attempt failed so; `resumes` counts those that this cycle has had.
 */
export type PreflightOutcome =
  | { next: 'start' | 'publish'; attempt: number; resumeAttempts: number }
  | { next: 'failed'; attempt: number; resumeAttempts: number; resumes: number; failure: FailureKind }
  | { next: 'rejected' }
  | { next: 'superseded' };

export interface AttemptInput extends RunRef {
  attempt: number;
}

export interface StartInput extends AttemptInput {
  /** fresh: in a new session, as the old one is lost. */
  session: 'go on' | 'fresh';
}

export interface RecoverInput extends AttemptInput {
  /** The phase of the last heartbeat, where the loss told one. */
  phase?: string;
}

/**
 * plan: finished and stored. lost: handed back by this worker, to be recovered. not_begun: its worker was lost before
 * it had written anything: the same attempt is asked for again.
 */
export type AttemptEnd =
  | { kind: 'plan' }
  | { kind: 'lost' }
  | { kind: 'not_begun' }
  | { kind: 'failed'; failure: FailureKind; retryAfterMs?: number }
  | { kind: 'superseded' };

/** Of the workflow. */
export interface RunResult {
  status: 'succeeded';
  /** The one whose plan was published. */
  attempt: number;
}

export interface EndRunInput extends RunRef {
  end: Exclude<RunEnd, { status: 'superseded' }>;
}

export interface TellRunInput extends RunRef {
  phase: RunPhase;
  /** Why it waits. */
  failure?: FailureKind;
  /** Another attempt follows after so many milliseconds. */
  waitMs?: number;
}

/** Activities on the shared queue. */
export interface RunActivities {
  /** Tells people what the run does. */
  tellRun(input: TellRunInput): Promise<void>;
  endRun(input: EndRunInput): Promise<RunEnd>;
}

/** Activities on the queue of the repository's host. */
export interface HostActivities {
  preflight(input: RunRef): Promise<PreflightOutcome>;
  superviseClaude(input: StartInput): Promise<AttemptEnd>;
  recoverClaude(input: RecoverInput): Promise<AttemptEnd>;
  publishPlan(input: AttemptInput): Promise<AttemptEnd>;
}

/** What a run does, for people. Phases of an attempt are in between: starting, waiting, thinking, writing, ... */
export type RunPhase =
  | 'starting'
  | 'preflight'
  | 'supervising'
  | 'recovering'
  | 'backing off'
  | 'waiting for host'
  | 'publishing'
  | 'ending'
  | 'ended';

/** Details of a heartbeat. */
export interface RunHeartbeat {
  phase: string;
  attempt: number;
  characters: number;
}

/** Answer of the query `status`. */
export interface RunStatus {
  phase: RunPhase;
  attempt: number;
  resumes: number;
  cancelled: boolean;
}

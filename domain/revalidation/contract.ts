// A re-validation as its workflow and its activities know it: ids, counts and classes only
// (spec: bounded-claude 9, orchestration "Re-validation").

import type { FailureKind } from '../bounded/failures.ts';
import type { RunInput } from '../run.ts';

export const revalidationWorkflow = 'revalidateRunner';
/** Of one that somebody asked for; a schedule's own are named after the schedule. */
export const revalidationWorkflowId = (id: string): string => `revalidate-${id}`;
/** Of the schedule in the engine. */
export const scheduleWorkflowId = (schedule: string): string => `revalidate-schedule-${schedule}`;

/** fresh: a plan in a new session. recovery: ended on purpose after the first text, then resumed in its session. */
export const plannedRuns = ['fresh', 'recovery', 'fresh'] as const;
export type RunPurpose = (typeof plannedRuns)[number];

/** What an attempt was made for. */
export const purposes = ['fresh', 'interrupted', 'recovery'] as const;
export type Purpose = (typeof purposes)[number];

/** Code points of a packet that is near the limit. */
export const nearLimit = { least: 23_000, most: 24_000 } as const;

export const claims = ['holds', 'fails', 'pending', 'stale'] as const;
export type Claim = (typeof claims)[number];

/** rejected: before anything was paid. failed: its workflow was lost. */
export const validationStatuses = ['pending', 'running', 'completed', 'cancelled', 'rejected', 'failed'] as const;
export type ValidationStatus = (typeof validationStatuses)[number];

/**
 * What is listed as a failure: a failed attempt's kind; not_interrupted: it could not be ended on purpose;
 * other_session: the recovery did not go on in the interrupted session; changed: other hashes than at the
 * beginning; not_run: it never began.
 */
export const findingKinds = ['rejected', 'not_run', 'not_interrupted', 'other_session', 'changed', 'lost'] as const;
export type FindingKind = FailureKind | (typeof findingKinds)[number];

/** Asked for by somebody, or by a schedule. */
export type RevalidationInput = { validation: string } | { schedule: string };

/** skipped: the schedule is gone or paused, or another one of the same role is under way. */
export type Opened = { next: 'go'; validation: string; queue: string; timings: HostTimings } | { next: 'skipped' };

/** Milliseconds; as for runs. */
export interface HostTimings {
  hostPatience: number;
  hostGiveUp: number;
}

/** none: there is nothing to run; why is in the database. */
export type ChildRun = { next: 'run'; workflowId: string; input: RunInput } | { next: 'none' };

export interface RunAt {
  validation: string;
  /** From 1. */
  position: number;
}

export type ValidationEnd = Exclude<ValidationStatus, 'pending' | 'running'>;

/** Activities on the shared queue. */
export interface RevalidationActivities {
  openValidation(input: RevalidationInput): Promise<Opened>;
  tellValidation(input: { validation: string; phase: string }): Promise<void>;
  /** The run of a position, created once. */
  openValidationRun(input: RunAt): Promise<ChildRun>;
  /** The same run again, where its first attempt was ended on purpose. */
  resumeValidationRun(input: RunAt): Promise<ChildRun>;
  /** Of a run that was started by somebody else. */
  validationRunEnded(input: RunAt): Promise<boolean>;
  concludeValidation(input: { validation: string; end: ValidationEnd }): Promise<Claim>;
}

/** Activities on the queue of the repository's host. */
export interface RevalidationHostActivities {
  /** Checks everything and makes the packets; nothing is paid. */
  prepareValidation(input: { validation: string }): Promise<'go' | 'rejected'>;
  /** Whether runner, CLI, identity and packets are still what they were. */
  confirmValidation(input: { validation: string }): Promise<void>;
  writeValidationReport(input: { validation: string }): Promise<void>;
}

/** Answer of the query `status`. */
export interface RevalidationStatus {
  phase: string;
  validation: string | null;
  /** Runs that have begun. */
  runs: number;
  cancelled: boolean;
}

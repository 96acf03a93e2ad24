// What a re-validation has shown: its findings, and whether a release claim holds (spec: bounded-claude 9). Pure.

import { failureSentences, isFailureKind, type FailureKind } from '../bounded/failures.ts';
import { plannedRuns, type Claim, type FindingKind, type Purpose, type ValidationStatus } from './contract.ts';

/** An attempt as far as the verdict asks. */
export interface JudgedAttempt {
  /** From 1, over all runs of the re-validation. */
  number: number;
  /** Of the run, from 1. */
  position: number;
  purpose: Purpose;
  status: 'running' | 'succeeded' | 'failed';
  /** It was ended on purpose. */
  interrupted: boolean;
  failure_kind: FailureKind | null;
  failure_detail: string | null;
  session_id: string;
  /** CLI, identity and packet are those that the re-validation is bound to. */
  same_hashes: boolean;
}

export interface Finding {
  /** From 1. */
  number: number;
  /** The attempt's, where it is about one. */
  attempt: number | null;
  kind: FindingKind;
  detail: string;
}

export interface Judged {
  status: ValidationStatus;
  problems: readonly string[];
  attempts: readonly JudgedAttempt[];
  /** Runner, CLI, identity and packets were the same at the end; null: not looked at. */
  confirmed: boolean | null;
}

export const outcomeOf = ({ status, interrupted }: Pick<JudgedAttempt, 'status' | 'interrupted'>): Outcome =>
  status === 'succeeded' ? 'valid' : status === 'running' ? 'running' : interrupted ? 'interrupted' : 'failed';

export const outcomes = ['valid', 'interrupted', 'failed', 'running'] as const;
export type Outcome = (typeof outcomes)[number];

/** Whether an attempt is what its purpose asks for. */
export const asPlanned = (attempt: JudgedAttempt): boolean =>
  outcomeOf(attempt) === (attempt.purpose === 'interrupted' ? 'interrupted' : 'valid');

/** Everything that somebody has to inspect, in order; an end on purpose is none. */
export function findingsOf(judged: Judged): Finding[] {
  const found: Omit<Finding, 'number'>[] = [];
  const add = (attempt: number | null, kind: FindingKind, detail: string): void =>
    void found.push({ attempt, kind, detail });
  if (judged.status === 'rejected') add(null, 'rejected', judged.problems.join('\n') || 'It was rejected.');
  if (judged.status === 'failed') add(null, 'lost', judged.problems.join('\n') || 'Its workflow or its host was lost.');
  for (const attempt of judged.attempts) {
    const { number, failure_kind, failure_detail } = attempt;
    const outcome = outcomeOf(attempt);
    if (attempt.purpose === 'interrupted' && outcome === 'valid') {
      add(number, 'not_interrupted', 'The plan was finished before the attempt could be ended on purpose.');
    } else if (outcome === 'failed') {
      const kind = isFailureKind(failure_kind) ? failure_kind : 'worker_lost';
      add(number, kind, failure_detail || failureSentences[kind]);
    } else if (outcome === 'running') {
      add(number, 'worker_lost', 'The attempt has no end.');
    }
    if (!attempt.same_hashes) add(number, 'changed', 'It ran with another CLI, identity or packet than the others.');
  }
  const resumed = resumedSession(judged.attempts);
  if (resumed === false) {
    const last = judged.attempts.findLast(({ purpose }) => purpose === 'recovery')!;
    add(last.number, 'other_session', 'The recovery did not go on in the session that was interrupted.');
  }
  if (judged.status === 'completed' || judged.status === 'cancelled') {
    plannedRuns.forEach((purpose, index) => {
      const own = judged.attempts.filter(({ position }) => position === index + 1);
      const complete = purpose === 'fresh' ? own.length > 0 : own.length > 1 || own.some((one) => !asPlanned(one));
      if (complete) return;
      const why = judged.problems.filter((problem) => problem.startsWith(`Run ${index + 1} `));
      const what = `Run ${index + 1} (${purpose}) did not ${own.length > 0 ? 'go on' : 'begin'}.`;
      add(null, 'not_run', [what, ...why].join(' '));
    });
  }
  if (judged.confirmed === false) {
    add(null, 'changed', 'Runner, CLI, identity or packets were changed while it ran.');
  }
  return found.map((finding, index) => ({ number: index + 1, ...finding }));
}

/** Undefined: there was no recovery. */
function resumedSession(attempts: readonly JudgedAttempt[]): boolean | undefined {
  const interrupted = attempts.find(({ purpose }) => purpose === 'interrupted');
  const recoveries = attempts.filter(({ purpose }) => purpose === 'recovery');
  if (!interrupted || recoveries.length === 0) return undefined;
  return recoveries.every(({ session_id }) => session_id === interrupted.session_id);
}

export interface Verdict {
  claim: Claim;
  /** Why, a sentence each. */
  reasons: string[];
}

/** `open`: findings that nobody has acknowledged. `stale`: what has changed since, a sentence each. */
export function claimOf(judged: Judged, open: number, stale: readonly string[]): Verdict {
  if (judged.status === 'pending' || judged.status === 'running') {
    return { claim: 'pending', reasons: ['It is under way.'] };
  }
  if (stale.length > 0) return { claim: 'stale', reasons: [...stale] };
  const against = doubts(judged);
  if (open > 0) {
    const what = open === 1 ? 'One failure waits' : `${open} failures wait`;
    return { claim: 'pending', reasons: [`${what} for somebody to inspect and acknowledge.`, ...against] };
  }
  if (against.length > 0) return { claim: 'fails', reasons: against };
  return {
    claim: 'holds',
    reasons: ['The recovery and the last fresh attempt gave valid plans, on exactly these hashes.'],
  };
}

/** What speaks against the claim; nothing: it holds. */
function doubts({ status, attempts, confirmed }: Judged): string[] {
  if (status === 'rejected') return ['It was rejected before an attempt began.'];
  const found: string[] = [];
  const recovery = attempts.findLast(({ purpose }) => purpose === 'recovery');
  const interrupted = attempts.find(({ purpose }) => purpose === 'interrupted');
  const fresh = attempts.findLast(({ purpose }) => purpose === 'fresh');
  const runs = new Set(attempts.map(({ position }) => position)).size;
  if (runs < plannedRuns.length) found.push(`${runs} of ${plannedRuns.length} runs were made.`);
  if (!recovery || !interrupted || !asPlanned(interrupted) || !asPlanned(recovery)) {
    found.push('There is no valid recovery.');
  } else if (resumedSession(attempts) === false) {
    found.push('The recovery was not in the same session.');
  }
  if (!fresh || fresh.position !== plannedRuns.length || !asPlanned(fresh)) {
    found.push('The last fresh attempt gave no valid plan.');
  }
  if (confirmed !== true || attempts.some((attempt) => !attempt.same_hashes)) {
    found.push('The hashes were not the same from beginning to end.');
  }
  return found;
}

/** What a claim is bound to. */
export interface Hashes {
  /** Over the sorted files of the runner and its contracts: supervisor, guard, packet and plan rules. */
  runner_sha256: string;
  /** Of backend, model and effort as they are resolved: a comment or a later verification changes no model. */
  identity_sha256: string;
  cli_sha256: string;
}

/** What is there now; null: it can't be found any more. */
export type CurrentHashes = { [K in keyof Hashes]: string | null };

const names: Record<keyof Hashes, string> = {
  runner_sha256: 'The runner',
  identity_sha256: "The role's identity (backend, model or effort)",
  cli_sha256: 'The CLI',
};

/** What has changed since a re-validation, a sentence each. `current` undefined: nobody has looked yet. */
export function staleReasons(
  bound: Hashes | null,
  current: CurrentHashes | undefined,
  packetsIntact: boolean,
): string[] {
  if (!bound) return [];
  const keys = Object.keys(names) as (keyof Hashes)[];
  const changed = current === undefined ? [] : keys.filter((key) => current[key] !== bound[key]);
  return [
    ...changed.map((key) => `${names[key]} ${current![key] === null ? 'is not there any more' : 'has changed since'}.`),
    ...(packetsIntact ? [] : ['A kept packet has changed or is gone.']),
  ];
}

// The verdict on an attempt: a valid plan, or one kind of failure, by a fixed precedence (spec: bounded-claude 5).

import type { FailureKind } from './failures.ts';
import { asNumber, asObject, asText, told, toldWhole, type Json } from './envelope.ts';
import { sameModel, type Evidence, type Result } from './evidence.ts';
import { checkPlan } from './plan.ts';

export interface Ending {
  /** Null when a signal ended the process. */
  exitCode: number | null;
  signal: string | null;
  stderrTail: string;
  /** The cause that was recorded before our first signal. It decides: exit 0 after SIGINT is never a success. */
  cause?: { failure_kind: FailureKind; detail: string };
  /** We ended a process that stayed after its result: its exit says nothing, the result counts. */
  lingered?: boolean;
}

export type Verdict =
  /** The plan's text, not yet redacted. */
  | { success: true; text: string; notes: string[] }
  | { success: false; failure_kind: FailureKind; detail: string; notes: string[] };

type Failure = { failure_kind: FailureKind; detail: string };

/**
 * Decides. Precedence: the cause recorded by us (also a reader's finding), tool use, identity, structured error,
 * refusal, protocol. Two results: a success with a valid plan wins in either order, with exit 0.
 */
export function judge(seen: Evidence, ending: Ending): Verdict {
  const cause = ending.cause ?? seen.ending;
  const failed = (failure: Failure): Verdict => ({ success: false, ...failure, notes: [...seen.notes] });
  if (cause) return failed({ failure_kind: cause.failure_kind, detail: cause.detail });
  const clean = ending.lingered === true || (ending.exitCode === 0 && ending.signal === null);
  const winner = successes(seen).find((result) => checkPlan(result.text).ok);
  const failure = winner && clean ? doubt(seen, winner) : failureOf(seen, ending);
  if (failure) return failed(failure);
  const plan = winner ? checkPlan(winner.text) : undefined;
  if (!plan?.ok) return failed({ failure_kind: 'protocol_error', detail: 'The answer is no valid plan.' });
  return { success: true, text: plan.text, notes: [...seen.notes] };
}

const successes = (seen: Evidence): Result[] => seen.results.filter((result) => result.success);

/** What speaks against a valid plan that came with exit 0; undefined when nothing does. */
function doubt(seen: Evidence, result: Result): Failure | undefined {
  return unconfirmed(seen, result) ?? interrupted(seen) ?? continued(seen) ?? unfinished(result) ?? brokenStream(seen);
}

function failureOf(seen: Evidence, ending: Ending): Failure {
  const error = [...seen.results].reverse().find((result) => !result.success);
  const result = successes(seen).at(-1);
  return structured(seen, error, result)
    ?? byStderr(ending, result)
    ?? interrupted(seen)
    ?? (error ? unknownError(error, seen) : undefined)
    ?? (result ? unconfirmed(seen, result) ?? badResult(seen, result, ending) : undefined)
    ?? noResult(seen, ending);
}

/** Identity that a success must show: session and model, in init and in the result. */
function unconfirmed(seen: Evidence, result: Result): Failure | undefined {
  const missing = (what: string): Failure => (
    { failure_kind: 'identity_mismatch', detail: `The CLI did not report ${what}.` }
  );
  if (!seen.init) return missing('its session and model (no init event)');
  if (asText(seen.init['session_id']) !== seen.sessionId) return missing('the requested session in init');
  if (asText(result.fields['session_id']) !== seen.sessionId) return missing('the requested session in its result');
  if (!sameModel(asText(seen.init['model']) ?? '', seen.model)) return missing('the configured model in init');
  const used = Object.keys(asObject(result.fields['modelUsage']));
  return used.some((model) => sameModel(model, seen.model)) ? undefined : missing('usage of the configured model');
}

/** By fields of the result, the CLI's own error messages and its last retry; never by the visible text. */
function structured(seen: Evidence, error: Result | undefined, success: Result | undefined): Failure | undefined {
  if (success && !error) return undefined;
  const fields = error?.fields ?? {};
  const message = seen.errors.at(-1) ?? {};
  const detail = detailOf(error, message, seen.retry);
  if (fields['subtype'] === 'error_max_budget_usd' || fields['terminal_reason'] === 'budget_exhausted') {
    return { failure_kind: 'budget_exceeded', detail };
  }
  const lost = error?.errors.some(isLostSession);
  if (lost) return { failure_kind: 'session_lost', detail };
  if (seen.upstreamIdle) return { failure_kind: 'upstream_idle', detail };
  for (const source of [fields, message, seen.retry ?? {}]) {
    const kind = kindOfError(source);
    if (kind) return { failure_kind: kind, detail };
  }
  return undefined;
}

const transient = new Set(
  ('rate_limit rate_limit_error overloaded overloaded_error server_error api_error internal_server_error timeout'
    + ' timeout_error connection_failed connection_error connection_timeout').split(' '),
);
const login = new Set(
  ('authentication_failed authentication_error invalid_api_key oauth_error permission_error'
    + ' oauth_org_not_allowed').split(' '),
);

function kindOfError(source: Json): FailureKind | undefined {
  const status = asNumber(source['api_error_status']) ?? asNumber(source['error_status']);
  if (status !== undefined) {
    if (status === 401 || status === 403) return 'authentication';
    if (status === 408 || status === 409 || status === 429 || status >= 500) return 'upstream_error';
    return 'claude_error';
  }
  const names = ['api_error', 'api_error_type', 'error'].flatMap((key) => asText(source[key]) ?? []);
  if (names.includes('max_output_tokens')) return 'claude_error';
  if (names.some((name) => login.has(name))) return 'authentication';
  if (names.some((name) => transient.has(name))) return 'upstream_error';
  // A retry that names no status is a connection that was refused or cut.
  return source['subtype'] === 'api_retry' ? 'upstream_error' : undefined;
}

function detailOf(error: Result | undefined, message: Json, retry: Json | undefined): string {
  const said = error?.errors.join(' ') || asText(message['text']);
  const status = asNumber(error?.fields['api_error_status']) ?? asNumber(retry?.['error_status']);
  const name = asText(error?.fields['api_error']) ?? asText(retry?.['error']);
  return toldWhole(said || `The API failed${status === undefined ? '' : ` with ${status}`}${name ? ` (${name})` : ''}.`);
}

const isLostSession = (text: string): boolean =>
  /No conversation found with session ID|Session ID \S+ is already in use/i.test(text);

const notLoggedIn =
  /Invalid API key|Please run \/login|OAuth token (?:has expired|revoked)|not logged in|authentication_error/i;

/** stderr decides only where no result does, and where it is unmistakable. */
function byStderr(ending: Ending, success: Result | undefined): Failure | undefined {
  if (success) return undefined;
  const text = ending.stderrTail;
  const detail = toldWhole(text);
  if (isLostSession(text)) return { failure_kind: 'session_lost', detail };
  if (notLoggedIn.test(text)) {
    return { failure_kind: 'authentication', detail };
  }
  if (/\b(?:ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|overloaded_error|rate_limit_error)\b/.test(text)) {
    return { failure_kind: 'upstream_error', detail };
  }
  return undefined;
}

/** A refusal, a full answer or window: no whole plan can come of it. */
function interrupted(seen: Evidence): Failure | undefined {
  if (seen.refused) return { failure_kind: 'refusal', detail: 'The model refused the request.' };
  if (seen.stopReason === 'max_tokens') {
    return { failure_kind: 'claude_error', detail: 'The answer reached the limit of output tokens (max_tokens).' };
  }
  if (seen.stopReason) return {
    failure_kind: 'claude_error',
    detail: "The conversation exceeded the model's context window.",
  };
  return undefined;
}

function continued(seen: Evidence): Failure | undefined {
  if (seen.continuations === 0) return undefined;
  return {
    failure_kind: 'protocol_error',
    detail: 'The CLI asked the model to go on by itself, so the answer is in pieces.',
  };
}

function unknownError(error: Result, seen: Evidence): Failure {
  const reason = asText(error.fields['terminal_reason']) ?? asText(error.fields['subtype']);
  const said = error.errors.join(' ') || asText(seen.errors.at(-1)?.['text']);
  return {
    failure_kind: 'claude_error',
    detail: toldWhole(`${said || 'The CLI reports an error'}${reason ? ` (${reason})` : ''}`),
  };
}

function unfinished({ fields }: Result): Failure | undefined {
  const reason = asText(fields['terminal_reason']);
  if (reason !== 'completed') {
    return {
      failure_kind: 'protocol_error',
      detail: `The result's terminal_reason is ${told(reason ?? 'missing')}, not completed.`,
    };
  }
  const stop = asText(fields['stop_reason']);
  if (stop === undefined || stop === 'end_turn') return undefined;
  return { failure_kind: 'protocol_error', detail: `The result's stop_reason is ${told(stop)}, not end_turn.` };
}

function brokenStream(seen: Evidence): Failure | undefined {
  const first = seen.broken[0];
  return first === undefined ? undefined : { failure_kind: 'protocol_error', detail: first };
}

function badResult(seen: Evidence, result: Result, ending: Ending): Failure {
  if (result.text.trim() === '') return {
    failure_kind: 'protocol_error',
    detail: 'The result is a success without text.',
  };
  const bad = continued(seen) ?? unfinished(result) ?? brokenStream(seen);
  if (bad) return bad;
  const plan = checkPlan(result.text);
  if (!plan.ok) {
    const said = plan.problems.slice(0, 5).map((problem) => problem.message).join(' ');
    return { failure_kind: 'protocol_error', detail: toldWhole(said) };
  }
  return {
    failure_kind: 'protocol_error',
    detail: `The result is a success, but the CLI ended with ${endOf(ending)}.`,
  };
}

function noResult(seen: Evidence, ending: Ending): Failure {
  const broken = brokenStream(seen);
  const clean = ending.exitCode === 0 && ending.signal === null;
  if (broken) return broken;
  if (clean) {
    const what = seen.events === 0 ? 'The CLI printed no event' : 'The stream ended without a result';
    return { failure_kind: 'protocol_error', detail: `${what}, yet it ended with exit code 0.` };
  }
  const said = toldWhole(ending.stderrTail);
  return {
    failure_kind: 'claude_error',
    detail: `The CLI ended with ${endOf(ending)} and no result.${said ? ` ${said}` : ''}`,
  };
}

const endOf = ({ exitCode, signal }: Ending): string => (signal ? `signal ${signal}` : `exit code ${exitCode}`);

// Why a bounded run failed: one closed union, and what may happen by itself after it (spec: bounded-claude 5).

export const failureKinds = [
  'wall_timeout',
  'idle_timeout',
  'upstream_idle',
  'upstream_error',
  'worker_lost',
  'session_lost',
  'host_unavailable',
  'budget_exceeded',
  'authentication',
  'tool_use_violation',
  'identity_mismatch',
  'refusal',
  'claude_error',
  'protocol_error',
  'output_too_large',
  'cancelled',
] as const;

export type FailureKind = (typeof failureKinds)[number];

export function isFailureKind(text: string | null | undefined): text is FailureKind {
  return failureKinds.some((kind) => kind === text);
}

/**
 * resume: in the same session, up to resume_attempts. fresh: once, as a fresh run with a new session, taking no resume
 * attempt. host: when the repository's host is back. none: only a person goes on.
 */
export type AutomaticResume = 'resume' | 'fresh' | 'host' | 'none';

/** The table's last column (spec: bounded-claude 5). */
export const automaticResume: Record<FailureKind, AutomaticResume> = {
  wall_timeout: 'resume',
  idle_timeout: 'resume',
  upstream_idle: 'resume',
  upstream_error: 'resume',
  worker_lost: 'resume',
  session_lost: 'fresh',
  host_unavailable: 'host',
  budget_exceeded: 'none',
  authentication: 'none',
  tool_use_violation: 'none',
  identity_mismatch: 'none',
  refusal: 'none',
  claude_error: 'none',
  protocol_error: 'none',
  output_too_large: 'none',
  cancelled: 'none',
};

/** What a person is told, in a sentence, whatever the detail says. */
export const failureSentences: Record<FailureKind, string> = {
  wall_timeout: 'The run took longer than its wall limit.',
  idle_timeout: 'No complete event came from the CLI within the idle limit.',
  upstream_idle: 'Events came, but none with content, for longer than the limit.',
  upstream_error: "Claude's API limited, refused or cut the request.",
  worker_lost: 'The worker that supervised the CLI was lost.',
  session_lost: 'The CLI no longer has the conversation of this session.',
  // Where the host was there and could not do its part, the detail says so instead.
  host_unavailable: "No worker of the repository's host took the run.",
  budget_exceeded: 'The budget is spent.',
  authentication: 'The CLI is not logged in, or its credentials were refused.',
  tool_use_violation: 'The model tried to use a tool, which a bounded run forbids.',
  identity_mismatch: 'Another model or session answered than was configured.',
  refusal: 'The model refused the request.',
  claude_error: 'The CLI ended with an error of its own.',
  protocol_error: 'The answer is not a valid, complete plan, or the event stream broke its own rules.',
  output_too_large: 'The answer or the event stream passed a size limit.',
  cancelled: 'The run was cancelled.',
};

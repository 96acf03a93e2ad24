// Every behaviour of a CLI and the kind of failure that comes of it (spec: bounded-claude 4, 5).

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { superviseAttempt } from '../claude/supervise.ts';
import type { AttemptFailure, AttemptLimits } from '../claude/types.ts';
import { checkPlan } from '../domain/bounded/plan.ts';
import { createBench, watch, type Bench } from './support/bounded-attempt.ts';

let bench: Bench;
beforeAll(() => void (bench = createBench()));
afterAll(() => {
  expect(bench.living()).toEqual([]);
  bench.remove();
});

const short: Partial<AttemptLimits> = { idleMs: 2_500, wallMs: 30_000, upstreamIdleMs: 3_500, settleMs: 500 };

const successes = [
  'success',
  'slow-success',
  'unknown-types',
  'burst',
  'thinking-only',
  'two-results',
  'two-results-reversed',
  'result-then-hang',
  'banner',
  'stdin-closed',
  'grandchild-success',
  'grandchild-escapes',
  'secret-split-deltas',
  'secret-split-events',
  'split-utf8',
  'big-burst',
];

const failures: Record<string, AttemptFailure> = {
  'no-session': 'session_lost',
  'session-taken': 'session_lost',
  idle: 'idle_timeout',
  'plan-without-result': 'idle_timeout',
  'partial-line': 'idle_timeout',
  trickle: 'idle_timeout',
  stopped: 'idle_timeout',
  'stdin-unread': 'idle_timeout',
  'ignores-sigterm': 'idle_timeout',
  'busy-loop': 'idle_timeout',
  'grandchild-idle': 'idle_timeout',
  'ping-only': 'upstream_idle',
  'upstream-idle': 'upstream_idle',
  'upstream-stall': 'upstream_idle',
  'json-scalars': 'protocol_error',
  'late-noise': 'protocol_error',
  'cut-utf8': 'protocol_error',
  'cut-at-64k': 'protocol_error',
  nothing: 'protocol_error',
  'empty-success': 'protocol_error',
  'malformed-plan': 'protocol_error',
  'nonzero-success': 'protocol_error',
  'long-line': 'output_too_large',
  'long-text': 'output_too_large',
  flood: 'output_too_large',
  'tool-use-init': 'tool_use_violation',
  'tool-use-block': 'tool_use_violation',
  'tool-result': 'tool_use_violation',
  'wrong-model': 'identity_mismatch',
  'wrong-session': 'identity_mismatch',
  budget: 'budget_exceeded',
  auth: 'authentication',
  overloaded: 'upstream_error',
  'rate-limit': 'upstream_error',
  refusal: 'refusal',
  'max-tokens': 'claude_error',
  'secret-in-error': 'claude_error',
};

describe('spec: bounded-claude 5.5: a CLI that ends well gives a valid plan', () => {
  test.each(successes)('%s', async (mode) => {
    const seen = watch();
    const plan = await bench.plan(mode, { limits: short });
    const outcome = await superviseAttempt(plan, seen.hooks());
    expect(outcome).toMatchObject({
      success: true,
      observed: { models: [plan.model], session_ids: [plan.session.id] },
    });
    expect(checkPlan(outcome.text).ok).toBe(true);
    expect(readFileSync(path.join(plan.runDir, 'checkpoint.md'), 'utf8')).toBe(outcome.text);
    expect(seen.shown()).toBe(outcome.text);
    expect(bench.living()).toEqual([]);
  });
});

describe.concurrent('spec: bounded-claude 4.9, 5.7: every other CLI gives one kind of failure, and leaves no process', () => {
  test.each(Object.entries(failures))('%s: %s', async (mode, kind) => {
    const plan = await bench.plan(mode, { limits: short });
    const outcome = await superviseAttempt(plan, watch().hooks());
    expect(outcome.success ? 'success' : outcome.failure).toBe(kind);
    expect(bench.living(plan.runId)).toEqual([]);
  });
});

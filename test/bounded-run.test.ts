// Run ids, output paths, limits, budget, metadata and recovery (spec: bounded-claude 1, 5, 7).

import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { automaticResume, failureKinds } from '../domain/bounded/failures.ts';
import { approvalProblem } from '../domain/bounded/free-text.ts';
import { budgetLeft, defaultLimits, readLimits, type AskedLimits } from '../domain/bounded/limits.ts';
import { metadataJsonSchema } from '../domain/bounded/metadata.ts';
import { recoveryText, resumePrompt, planPrompt, type RecoveryFacts } from '../domain/bounded/recovery.ts';
import {
  attemptName, makeRunId, parseOutputPath, planPath, readAttemptName, runIdProblem, runKey, runPath,
} from '../domain/bounded/run-id.ts';
import { randomText } from './support/bounded.ts';

describe('spec: bounded-claude 1.9: run ids', () => {
  test.each(['a', '0', 'Plan_1.2-x', 'x'.repeat(80), 'v1.r', 'a.r2b', 'x.rc1'])('accepts %s', (id) => {
    expect(runIdProblem(id)).toBeUndefined();
  });
  test.each([
    ['', 'empty'], [
      'x'.repeat(81), '81 characters',
    ], ['.a', 'begin with'], ['-a', 'begin with'], ['a/b', 'only letters'], ['a b', 'only letters'],
    ['ä1', 'begin with'], [
      'aä', 'only letters',
    ], ['a..b', '..'], ['a.', 'end in a dot'], ['a.r2', 'attempts'], ['a.R10', 'attempts'], ['a\n', 'only letters'],
  ])('rejects %j and says why', (id, why) => {
    expect(runIdProblem(id)).toContain(why);
  });
  test('are compared without case', () => {
    expect(runKey('Plan-A')).toBe(runKey('plan-a'));
  });
  test('spec: bounded-claude 7: attempts have their own names, which no run id can take', () => {
    expect([1, 2, 3].map((attempt) => attemptName('a', attempt))).toEqual(['a', 'a.r2', 'a.r3']);
    fc.assert(fc.property(fc.stringMatching(
      /^[A-Za-z0-9][A-Za-z0-9_-]{0,20}$/,
    ), fc.integer({ min: 1, max: 9 }), (id, attempt) => {
      expect(readAttemptName(attemptName(id, attempt))).toEqual({ id, attempt });
      expect(runIdProblem(attemptName(id, attempt)) === undefined).toBe(attempt === 1);
    }));
  });
  test('are made from time and chance when none is given', () => {
    expect(makeRunId('2026-11-30T12:07:55.123Z', '1a2b3c4d')).toBe('plan-20261130-120755-1a2b3c');
  });
  test('name their places', () => {
    expect(planPath('a')).toBe('.partner/plans/a.md');
    expect(runPath('a', 2)).toBe('.partner/runs/a.r2');
  });
});

describe('spec: bounded-claude 1.10: --output stays inside the repository', () => {
  test.each(
    [
      ['docs/plan.md', 'docs/plan.md'], ['./a/../plan.md', 'plan.md'], ['/r/repo/x/y.md', 'x/y.md'],
      ['.partner/plans/x.md', '.partner/plans/x.md'],
      ['.Partner/Plans/a/x.md', '.Partner/Plans/a/x.md'], ['docs/.partner/x.md', 'docs/.partner/x.md'],
      ['.github/plan.md', '.github/plan.md'], ['.partnership/x.md', '.partnership/x.md'], ['..a/b', '..a/b'],
    ],
  )(
    'accepts %s',
    (output, relative) => {
      expect(parseOutputPath(output, '/r/repo/')).toBe(relative);
    },
  );
  test.each(['', ' ', '../x', 'a/../../x', '/r/repo2/x', '/r/repo', '.',
    'docs/', 'docs/.', '/etc/passwd', '../../../../../x', 'a\0b', 'a\nb',
    '.git/config', 'x/../.GIT/x',
    'sub/.git/hooks/x', '.git', '.git./config', '.g\u200cit/config',
    '.partner/runs/a/x', '.partner/config.toml', '.PARTNER/Config.toml', 'x/../.partner/./config.toml', '.partner',
    '.partner/plans', '.Partner/handoffs/x.md', '.partner/validations/x.md', '.partner\u200b/config.toml',
    '.partner/plans/../config.toml',
    '/r/repo/.partner/config.toml', '.partner /config.toml', 'a\\b'])('refuses %j', (output) => {
    expect(() => parseOutputPath(output, '/r/repo')).toThrow(/--output is refused/);
  });
  test('whatever is accepted lies inside', () => {
    const part = fc.constantFrom('a', 'b.md', '..', '.', '', 'repo', 'r');
    fc.assert(fc.property(fc.array(part, { maxLength: 8 }), fc.boolean(), (parts, absolute) => {
      let relative: string;
      try {
        relative = parseOutputPath(`${absolute ? '/r/repo/' : ''}${parts.join('/')}`, '/r/repo');
      } catch {
        return;
      }
      const given = parts.join('/');
      const target = absolute ? `/r/repo/${given}` : given;
      expect(posix.resolve('/r/repo', target)).toBe(`/r/repo/${relative}`);
      expect(relative).not.toMatch(/^\/|(?:^|\/)\.\.?(?:\/|$)/);
    }));
  });
});

describe('spec: bounded-claude 8: an approval is kept for everybody who may read the run', () => {
  const secret = ['gh', 'o_', randomText(36)].join('');
  test.each([
    ['blank', ' \n\u200b', /is empty/], ['too long', 'x'.repeat(501), /has 501 characters; at most 500/],
    ['with a NUL', 'Ada\0', /NUL/], ['with half a surrogate pair', 'Ada \ud800', /surrogate/],
    ['with a secret', `Ada, with ${secret}`, /looks like a secret \(github-token\)/],
    ['with a hidden secret', `Ada ${secret.slice(0, 9)}\u200b${secret.slice(9)}`, /\(github-token\)/],
  ])('refuses one %s, and shows nothing of it', async (_, text, why) => {
    const problem = await approvalProblem(text);
    expect(problem).toMatch(why);
    expect(problem).not.toContain(randomText(20));
  });
  test('accepts a name and a reason of up to 500 characters', async () => {
    expect(await approvalProblem('Ada: the first one refused; ticket #12, commit 3fa94c1b')).toBeUndefined();
    expect(await approvalProblem('\u{1f600}'.repeat(500))).toBeUndefined();
  });
});

describe('spec: bounded-claude 1.8: limits may be lowered, never raised', () => {
  test('defaults', () => {
    expect(readLimits()).toEqual({ ok: true, limits: defaultLimits, budget_usd: 2, lowered: [] });
    expect(defaultLimits).toMatchObject(
      {
        wall_timeout_seconds: 600, idle_timeout_seconds: 180, upstream_idle_seconds: 300, max_input_chars: 24_000,
        resume_attempts: 1,
      },
    );
  });
  test('lowered limits are named, for metadata and event', () => {
    expect(readLimits({ wall_timeout_seconds: 60, max_budget_usd: 0.5, resume_attempts: 0 })).toMatchObject({
      ok: true, budget_usd: 0.5, lowered: ['wall_timeout_seconds', 'resume_attempts', 'budget_usd'],
    });
  });
  test.each<[AskedLimits, string]>([
    [{ wall_timeout_seconds: 601 }, '--wall-timeout'], [{ idle_timeout_seconds: 0 }, '--idle-timeout'], [
      { max_input_chars: 24_001 }, '--max-input-chars',
    ],
    [
      { max_input_chars: 1.5 }, '--max-input-chars',
    ], [{ resume_attempts: 4 }, '--resume-attempts'], [{ resume_attempts: -1 }, '--resume-attempts'],
    [
      { resume_attempts: 0.5 }, '--resume-attempts',
    ], [{ max_budget_usd: 0 }, '--max-budget-usd'], [{ max_budget_usd: 10.01 }, '--max-budget-usd'],
    [{ max_budget_usd: Number.NaN }, '--max-budget-usd'], [
      { wall_timeout_seconds: Number.POSITIVE_INFINITY }, '--wall-timeout',
    ],
  ])('refuses %j', (asked, option) => {
    const read = readLimits(asked);
    expect(read.ok ? [] : read.problems).toEqual([expect.stringContaining(option)]);
  });
  test('the budget may be set up to 10, resume attempts up to 3; all problems together', () => {
    expect(
      readLimits({ max_budget_usd: 10, resume_attempts: 3 }),
    ).toMatchObject({ ok: true, budget_usd: 10, lowered: [] });
    expect(readLimits({ max_budget_usd: 11, wall_timeout_seconds: 900 })).toMatchObject(
      { ok: false, problems: [expect.any(String), expect.any(String)] },
    );
  });
  test('spec: bounded-claude 1.11: a resume gets what is left, at least 0.05, else budget_exceeded', () => {
    expect(budgetLeft(2, 0)).toBe(2);
    expect(budgetLeft(0.01, 0)).toBe(0.01);
    expect(budgetLeft(2, 1.5)).toBe(0.5);
    expect(budgetLeft(2, 1.95)).toBe(0.05);
    expect(budgetLeft(2, 1.9501)).toBeUndefined();
    expect(budgetLeft(2, 14.5)).toBeUndefined();
    fc.assert(fc.property(fc.double({ min: 0.01, max: 10, noNaN: true }), fc.double(
      { min: 0.0001, max: 20, noNaN: true },
    ), (budget, spent) => {
      const left = budgetLeft(budget, spent);
      expect(left === undefined || (left >= 0.05 && left <= budget - spent + 1e-6)).toBe(true);
    }));
  });
});

describe('spec: bounded-claude 7.5: metadata.json', () => {
  test('its JSON Schema beside the code is the one its source makes', () => {
    const file = new URL('../domain/bounded/metadata.schema.json', import.meta.url);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(metadataJsonSchema());
  });
  test('it has the fields of the specification', () => {
    const fields = ('schema_version run_id attempt resumes status failure_kind failure_detail repo host role backend'
      + ' configured requested_session_id observed limits budget_enforced_by budget_usd total_cost_usd num_turns usage'
      + ' packet_sha256 packet_chars runner_sha256 cli_sha256 returncode signal duration_ms stderr_tail'
      + ' workflow started_at ended_at approval').split(' ');
    expect(metadataJsonSchema()['required']).toEqual(expect.arrayContaining(fields));
  });
});

describe('spec: bounded-claude 5: what may happen by itself', () => {
  test('spec: bounded-claude 5.9: every kind has its automatic resume', () => {
    expect(failureKinds.filter((kind) => automaticResume[kind] === 'resume')).toEqual(
      ['wall_timeout', 'idle_timeout', 'upstream_idle', 'upstream_error', 'worker_lost'],
    );
    expect(failureKinds.filter((kind) => automaticResume[kind] === 'none')).toHaveLength(9);
    expect([automaticResume.session_lost, automaticResume.host_unavailable]).toEqual(['fresh', 'host']);
  });
  const facts: RecoveryFacts = {
    run_id: 'a1', repo: "/home/joe's repo", host: 'codex', role: 'deep_reasoner', packet: 'p.md',
    model: 'claude-opus-4-8', effort: 'xhigh', session_id: 'U',
    failure_kind: 'idle_timeout', failure_detail: 'No event for 180 s.', attempts: 2, total_cost_usd: 0.5,
    estimated: false, budget_usd: 2, budget_left_usd: 1.5, has_checkpoint: true,
    allow_unverified: false, demo: false, finished: false,
  };
  test('spec: bounded-claude 7.6: recovery.md gives the exact resume command, what failed, what it cost, and that nothing else was used', () => {
    const text = recoveryText(facts);
    expect(text).toContain(
      "    partner plan --repo '/home/joe'\\''s repo' --host codex --role deep_reasoner --packet p.md --resume a1\n",
    );
    for (const part of [
      '`idle_timeout`', 'No event for 180 s.', '0.5000 USD', 'No other role or model was used',
      '--approve-role ROLE --approval',
    ]) expect(text).toContain(part);
  });
  test.each(failureKinds)('recovery.md for %s offers no command that cannot work', (failure_kind) => {
    const text = recoveryText({ ...facts, failure_kind }).split('## What was not')[0]!;
    const fresh = [
      'session_lost', 'budget_exceeded', 'identity_mismatch', 'refusal', 'tool_use_violation', 'claude_error',
    ].includes(failure_kind);
    expect(text.includes('--resume a1')).toBe(!fresh);
    expect(text).toContain('partner plan --repo');
    if (!fresh && failure_kind !== 'authentication') {
      expect(
        recoveryText({ ...facts, failure_kind, budget_left_usd: null }).split('## What was not')[0],
      ).not.toContain('--resume a1');
    }
  });
  test("recovery.md's fresh run is allowed what the run was allowed, and gets more where money was short", () => {
    const advice = (more: Partial<RecoveryFacts>): string =>
      recoveryText({ ...facts, ...more }).split('## What was not')[0] ?? '';
    const short = advice({ failure_kind: 'budget_exceeded', allow_unverified: true, total_cost_usd: 1.99 });
    expect(short).toContain('--packet p.md --max-budget-usd 4 --allow-unverified\n');
    expect(advice({ failure_kind: 'budget_exceeded', total_cost_usd: 14.5 })).toContain('--max-budget-usd 10\n');
    const most = advice({ failure_kind: 'budget_exceeded', budget_usd: 10, total_cost_usd: 14.5 });
    expect(most).toContain('the largest there is');
    expect(most).toContain('--max-budget-usd 10\n');
    expect(advice({ failure_kind: 'refusal', allow_unverified: true })).toContain('--packet p.md --allow-unverified\n');
    expect(advice({ failure_kind: 'refusal', demo: true })).toContain('--packet p.md --demo\n');
    expect(advice({ allow_unverified: true })).toContain('--resume a1\n');
  });
  test('spec: bounded-claude 4.5, 5.12: a prompt never begins with a slash; a resume asks for the whole plan again', () => {
    expect(planPrompt('/compact')).toMatch(/^You are planning[^]*\n\n\/compact$/);
    expect(resumePrompt(undefined)).toMatch(/cut off.*complete plan again.*# Plan Checkpoint/);
    expect(resumePrompt('THE PACKET')).toMatch(/cut off[^]*THE PACKET$/);
  });
});

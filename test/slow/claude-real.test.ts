// The real CLI against a stand-in for its API: loopback, a made-up key, a clean home (spec: bounded-claude 4, 5).

import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { cliEnvironment } from '../../claude/environment.ts';
import { findCli } from '../../claude/find-cli.ts';
import { promptFor } from '../../claude/prompt.ts';
import { superviseAttempt } from '../../claude/supervise.ts';
import type { AttemptLimits, AttemptOutcome, AttemptPlan, CliIdentity } from '../../claude/types.ts';
import { createBench, packet, until, watch, type Bench } from '../support/bounded-attempt.ts';
import { pinnedClaude, pinnedVersion } from '../support/pinned-claude.ts';
import { startStandIn, type StandIn } from '../support/stand-in-api.ts';
import { demoPlan } from '../support/demo-plan.ts';

let bench: Bench;
let api: StandIn;
let cli: CliIdentity;

beforeAll(async () => {
  cli = await findCli({
    PATH: process.env['PATH'],
    PARTNER_CLAUDE_BIN: await pinnedClaude((line) => console.log(line)),
  });
  bench = createBench();
  api = await startStandIn();
});
afterAll(async () => {
  await api?.close();
  bench?.remove();
});
afterEach(() => expect(bench.living()).toEqual([]));

const madeUpKey = ['sk', 'ant', 'api03', 'made-up-for-a-loopback-test'].join('-');

type More = Partial<Omit<AttemptPlan, 'limits'>> & { limits?: Partial<AttemptLimits> };

async function attempt(more: More = {}): Promise<AttemptPlan> {
  const plan = await bench.plan('none', { cli, ...more });
  const environment = {
    ...cliEnvironment({
      PATH: process.env['PATH'],
      HOME: bench.home,
      ANTHROPIC_API_KEY: madeUpKey,
      ANTHROPIC_BASE_URL: api.url,
    }),
    SCRIPTED_CLAUDE_BENCH: bench.root,
  };
  return { ...plan, environment };
}

const supervise = async (more: More = {}): Promise<AttemptOutcome> =>
  superviseAttempt(await attempt(more), watch().hooks());
const kindOf = (outcome: AttemptOutcome): string => (outcome.success ? 'success' : outcome.failure);

/** A run that is ended in mid-answer: by us, by a lost worker, or by a stranger's SIGKILL. */
async function endedInTheMiddle(end: 'interrupt' | 'lost' | 'SIGKILL'): Promise<AttemptPlan> {
  api.play({ do: 'stall', text: `${demoPlan.slice(0, 120)}\n` });
  const plan = await attempt();
  const control = new AbortController();
  const seen = watch();
  const running = superviseAttempt(plan, seen.hooks(control.signal));
  await until('the first text', () => seen.shown().length > 0, 60_000);
  if (end === 'SIGKILL') for (const pid of bench.living()) process.kill(pid, 'SIGKILL');
  else control.abort(end);
  await running;
  await until('the end of the group', () => bench.living().length === 0);
  return plan;
}

const again = promptFor({ kind: 'resume', held: true }, packet);
const resume = (plan: AttemptPlan, attempt: number, budgetUsd = 2): Promise<AttemptOutcome> =>
  supervise({ session: { kind: 'resume', id: plan.session.id }, runId: plan.runId, attempt, budgetUsd, prompt: again });

test('spec: bounded-claude 4: the CLI is the pinned one, its version and hash are known', () => {
  expect(cli.version).toBe(pinnedVersion);
  expect(cli.sha256).toMatch(/^[0-9a-f]{64}$/);
});

describe('spec: bounded-claude 5: outcomes of the real CLI', () => {
  test('a valid plan is a success; cost, turns and usage are known', async () => {
    api.play({ do: 'answer', text: demoPlan });
    const outcome = await supervise();
    expect(outcome).toMatchObject({ success: true, text: demoPlan, returncode: 0, numTurns: 1 });
    expect(outcome.costUsd).toBeGreaterThan(0);
    expect(outcome.observed).toMatchObject({ models: ['claude-opus-4-8'], cli_version: pinnedVersion });
  });

  test('401 ends the run at once', async () => {
    api.play({ do: 'status', status: 401, type: 'authentication_error' });
    const outcome = await supervise();
    expect(kindOf(outcome)).toBe('authentication');
    expect(outcome.durationMs).toBeLessThan(20_000);
  });

  test('529 is upstream_error', async () => {
    api.play({ do: 'status', status: 529, type: 'overloaded_error' });
    expect(kindOf(await supervise())).toBe('upstream_error');
  });

  test('429 for longer than the upstream limit is upstream_idle; the CLI itself goes on for minutes', async () => {
    api.play({ do: 'status', status: 429, type: 'rate_limit_error' });
    expect(kindOf(await supervise({ limits: { upstreamIdleMs: 8_000 } }))).toBe('upstream_idle');
  });

  test('a stream cut in mid-text is asked for again; its text counts once', async () => {
    api.play({ do: 'cut', text: demoPlan.slice(0, 100) }, { do: 'answer', text: demoPlan });
    const outcome = await supervise();
    expect(outcome).toMatchObject({ success: true, text: demoPlan });
    expect(api.requests).toHaveLength(2);
  });

  test('a stall is idle_timeout, and the text so far is kept', async () => {
    api.play({ do: 'stall', text: demoPlan.slice(0, 120) });
    const outcome = await supervise({ limits: { idleMs: 4_000 } });
    expect(kindOf(outcome)).toBe('idle_timeout');
    expect(outcome.text).toContain('# Plan Checkpoint');
  });

  test('a refusal', async () => {
    api.play({ do: 'answer', text: 'No.', stop: 'refusal' });
    expect(kindOf(await supervise())).toBe('refusal');
  });

  test('an attempt to use a tool', async () => {
    api.play({ do: 'tool' });
    expect(kindOf(await supervise())).toBe('tool_use_violation');
  });

  test('a spent budget, which the CLI checks after it was spent: the text and the cost are known', async () => {
    api.play({ do: 'answer', text: demoPlan, input: 900_000, output: 400_000 });
    const outcome = await supervise();
    expect(kindOf(outcome)).toBe('budget_exceeded');
    expect(outcome).toMatchObject({
      text: demoPlan,
      costUsd: 14.5,
      streamed: { input_tokens: 900_000, output_tokens: 400_000 },
    });
  });

  test('an answer at the limit of tokens, which the CLI continues by itself, is claude_error', async () => {
    api.play({ do: 'answer', text: 'part one', stop: 'max_tokens' }, { do: 'answer', text: demoPlan });
    expect(kindOf(await supervise())).toBe('claude_error');
  });

  test.each([400, 404])('%i is claude_error', async (status) => {
    api.play({ do: 'status', status, type: 'invalid_request_error' });
    expect(kindOf(await supervise())).toBe('claude_error');
  });
});

describe('spec: bounded-claude 5: a resume in the same session', () => {
  test.each([
    ['SIGINT', 'interrupt', true],
    ['SIGTERM', 'lost', false],
    ['SIGKILL', 'SIGKILL', false],
  ] as const)(
    'after %s: the session holds the packet; the partial answer only after SIGINT',
    async (_, end, partial) => {
      const plan = await endedInTheMiddle(end);
      api.play({ do: 'answer', text: demoPlan });
      expect(kindOf(await resume(plan, 2))).toBe('success');
      const [request = ''] = api.requests;
      expect(request).toContain('Add a health check.');
      expect(request.includes('# Plan Checkpoint\\n\\n## Goal')).toBe(partial);
    },
  );

  test('reports the cost of the whole session, while its cap counts only what it spends itself', async () => {
    api.play({ do: 'answer', text: demoPlan, input: 300_000, output: 0 });
    const plan = await attempt();
    const first = await superviseAttempt(plan, watch().hooks());
    expect(first).toMatchObject({ success: true, costUsd: 1.5 });
    api.play({ do: 'answer', text: demoPlan });
    const second = await resume(plan, 2, 0.05);
    expect(kindOf(second)).toBe('success');
    expect(second.costUsd).toBeCloseTo(1.50975, 5);
    api.play({ do: 'answer', text: demoPlan, input: 20_000 });
    expect(kindOf(await resume(plan, 3, 0.05))).toBe('budget_exceeded');
  });

  test("after a lost attempt the cost of that attempt is missing from the session's", async () => {
    const plan = await endedInTheMiddle('interrupt');
    api.play({ do: 'answer', text: demoPlan });
    expect((await resume(plan, 2)).costUsd).toBeCloseTo(0.00975, 5);
  });

  test('of an unknown session is session_lost', async () => {
    api.play({ do: 'answer', text: demoPlan });
    expect(kindOf(await supervise({ session: { kind: 'resume', id: randomUUID() } }))).toBe('session_lost');
  });
});

describe('spec: bounded-claude 4: the packet is data', () => {
  const mentioning = (secretText: string): { prompt: string; file: string } => {
    const file = path.join(bench.root, 'private.txt');
    writeFileSync(file, secretText);
    const mentions = packet.replace('No new package.', `See @${file} and @"${file}" and @../private.txt .`);
    return { prompt: promptFor({ kind: 'fresh' }, mentions), file };
  };

  test('@file: the text of the file never leaves', async () => {
    const secretText = `content-${randomUUID()}`;
    const { prompt, file } = mentioning(secretText);
    api.play({ do: 'answer', text: demoPlan });
    expect(kindOf(await supervise({ prompt }))).toBe('success');
    expect(api.requests.join('\n')).toContain(file);
    expect(api.requests.join('\n')).not.toContain(secretText);
  });

  test('@file: without the two switches in its environment the CLI would read and send it', async () => {
    const secretText = `content-${randomUUID()}`;
    const { environment, ...plan } = await attempt({ prompt: mentioning(secretText).prompt });
    const { CLAUDE_CODE_DISABLE_ATTACHMENTS: _, CLAUDE_CODE_DISABLE_FILE_MENTIONS: __, ...bare } = environment;
    api.play({ do: 'answer', text: demoPlan });
    await superviseAttempt({ ...plan, environment: bare }, watch().hooks());
    expect(api.requests.join('\n')).toContain(secretText);
  });

  test('a packet that begins with / runs no command', async () => {
    api.play({ do: 'answer', text: demoPlan });
    const outcome = await supervise({ prompt: promptFor({ kind: 'fresh' }, `/cost\n\n${packet}`) });
    expect(kindOf(outcome)).toBe('success');
    expect(api.requests[0]).toContain('/cost');
  });

  test('the key stands in no file of the run', async () => {
    api.play({ do: 'answer', text: demoPlan });
    const plan = await attempt();
    await superviseAttempt(plan, watch().hooks());
    for (const name of ['stdout.jsonl', 'events.jsonl', 'guard.json', 'exit.json', 'outcome.json']) {
      expect(readFileSync(path.join(plan.runDir, name), 'utf8')).not.toContain(madeUpKey);
    }
  });
});

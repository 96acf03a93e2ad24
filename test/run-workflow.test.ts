// Bounded runs end to end: workflow, activities, guard and scripted CLI, PostgreSQL (spec: bounded-claude 1, 5, 7).

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FailureKind } from '../domain/bounded/failures.ts';
import { metadataSchema } from '../domain/bounded/metadata.ts';
import { checkPlan } from '../domain/bounded/plan.ts';
import { model, startTestRuns, type CliStart, type TestRuns } from './support/runs.ts';
import { packet } from './support/bounded-attempt.ts';
import { randomText } from './support/bounded.ts';
import { until } from './support/planner.ts';

let runs: TestRuns;
beforeAll(async () => {
  runs = await startTestRuns();
  await runs.startHost();
});
afterAll(async () => {
  expect(runs.living()).toEqual([]);
  await runs.close();
});

const flag = (start: CliStart | undefined, name: string): string | undefined =>
  start && start.args.includes(name) ? start.args[start.args.indexOf(name) + 1] : undefined;

test('spec: bounded-claude 7.5: a run that succeeds leaves a valid plan and complete artifacts, and tells its watchers', async () => {
  runs.play('slow-success');
  const run = await runs.start({ run_id: 'first' });
  const ended = await runs.ended(run);
  const output = '.partner/plans/first.md';
  expect(ended).toMatchObject({ status: 'succeeded', attempts: 1, phase: 'ended', output, model });
  const plan = runs.file('.partner/plans/first.md');
  expect(checkPlan(plan).ok).toBe(true);
  expect(runs.file('.partner/runs/first/checkpoint.md')).toBe(plan);
  expect(await runs.shown(run, 1)).toBe(plan);
  const metadata = metadataSchema.parse(runs.metadata('first'));
  expect(metadata).toMatchObject({ status: 'succeeded', attempt: 1, run_id: 'first', returncode: 0 });
  const outputs = await runs.outputs(run);
  expect(outputs.map((output) => output.output)).toEqual(outputs.map((_, index) => index + 1));
  expect(outputs.at(-1)!.body).toEqual({ type: 'done', status: 'succeeded' });
  expect(outputs.filter((output) => output.body.type === 'status').length).toBeGreaterThan(2);
  await runs.tidied();
  expect(readdirSync(path.join(runs.repo, '.partner/plans'))).toEqual(['first.md']);
  const files = readdirSync(path.join(runs.repo, '.partner/runs/first')).sort();
  expect(files).toEqual(['checkpoint.md', 'events.jsonl', 'metadata.json']);
});

test('spec: planner 12: a run tells that it started, how each attempt ended, and how it ended', async () => {
  runs.play('auth');
  const run = await runs.start({ run_id: 'events' });
  await runs.ended(run);
  const events = await runs.planner.database.query<{ type: string; payload: unknown; actor: unknown }>(
    `SELECT type, payload, actor FROM events WHERE entity_id = $1 ORDER BY seq`,
    [run],
  );
  const types = ['bounded_run.started', 'bounded_run.attempt_ended', 'bounded_run.ended'];
  expect(events.map((event) => event.type)).toEqual(types);
  expect(events[0]!.payload).toMatchObject({ run_id: 'events', role: 'deep_reasoner', model, allow_unverified: false });
  expect(events[2]!.payload).toMatchObject({ status: 'failed', failure_kind: 'authentication' });
  expect(events[2]!.actor).toEqual({ kind: 'service', subject: `bounded_run:${run}`, acting_for: 'ada' });
});

describe('spec: bounded-claude 5.9: a failure that no retry mends ends the run at once', () => {
  const kinds: Record<string, FailureKind> = {
    auth: 'authentication',
    budget: 'budget_exceeded',
    'tool-use-block': 'tool_use_violation',
    'wrong-model': 'identity_mismatch',
    refusal: 'refusal',
    'max-tokens': 'claude_error',
    'malformed-plan': 'protocol_error',
    'long-line': 'output_too_large',
  };
  test.each(Object.entries(kinds))('%s: %s', async (mode, kind) => {
    runs.play(mode, 'success');
    const run = await runs.start({ run_id: `once-${mode}` });
    const ended = await runs.ended(run);
    expect(ended).toMatchObject({ status: 'failed', failure_kind: kind, attempts: 1 });
    expect(runs.starts().length).toBe(1);
    expect(existsSync(path.join(runs.repo, ended.output))).toBe(false);
    await runs.tidied();
    expect(metadataSchema.parse(runs.metadata(`once-${mode}`))).toMatchObject({ status: 'failed', failure_kind: kind });
    expect(runs.file(`.partner/runs/once-${mode}/recovery.md`)).toContain(`\`${kind}\``);
    expect(ended.recovery).toContain(kind);
  });
});

describe('spec: bounded-claude 4.3, 5.9: a passing failure is resumed by itself, in the same session, up to resume_attempts', () => {
  test.each(['idle', 'overloaded', 'upstream-stall'])('%s, then the plan', async (mode) => {
    runs.play(mode, 'success');
    const id = `again-${mode}`;
    const run = await runs.start({ run_id: id, idle_timeout: 1.5 });
    expect(await runs.ended(run)).toMatchObject({ status: 'succeeded', attempts: 2 });
    const [first, second] = runs.starts();
    expect(flag(second, '--resume')).toBe(flag(first, '--session-id'));
    expect(second!.cwd).toBe(first!.cwd);
    expect(readdirSync(first!.cwd)).toEqual([]);
    expect(spawnSync('git', ['-C', first!.cwd, 'rev-parse', '--git-dir']).status).not.toBe(0);
    await runs.tidied();
    expect(runs.metadata(id)).toMatchObject({ status: 'failed', attempt: 1, resumes: [`${id}.r2`] });
    expect(runs.metadata(`${id}.r2`)).toMatchObject({ status: 'succeeded', attempt: 2, resumes: [id] });
  });

  test('no more often than that', async () => {
    runs.play('overloaded');
    const run = await runs.start({ run_id: 'thrice', resume_attempts: 2 });
    expect(await runs.ended(run)).toMatchObject({ status: 'failed', failure_kind: 'upstream_error', attempts: 3 });
    expect(runs.starts().length).toBe(3);
  });

  test('never with resume_attempts 0', async () => {
    runs.play('rate-limit', 'success');
    const run = await runs.start({ run_id: 'never', resume_attempts: 0 });
    expect(await runs.ended(run)).toMatchObject({ status: 'failed', failure_kind: 'upstream_error', attempts: 1 });
  });

  test('spec: bounded-claude 5.10: a session that is lost: once as a fresh run with a new id, which takes no resume attempt', async () => {
    runs.play('idle', 'no-session', 'success');
    const run = await runs.start({ run_id: 'fresh', idle_timeout: 1.5, resume_attempts: 1 });
    expect(await runs.ended(run)).toMatchObject({ status: 'succeeded', attempts: 3 });
    const [first, second, third] = runs.starts();
    expect(flag(second, '--resume')).toBe(flag(first, '--session-id'));
    expect(flag(third, '--session-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect(flag(third, '--session-id')).not.toBe(flag(first, '--session-id'));
  });

  test('a session that is lost twice ends the run', async () => {
    runs.play('session-taken');
    const run = await runs.start({ run_id: 'twice-lost' });
    expect(await runs.ended(run)).toMatchObject({ status: 'failed', failure_kind: 'session_lost', attempts: 2 });
  });
});

describe('spec: bounded-claude 8: a failed run is resumed by a person', () => {
  test('in the same session, as the next attempt in its own directory', async () => {
    runs.play('malformed-plan', 'success');
    const run = await runs.start({ run_id: 'person' });
    expect(await runs.ended(run)).toMatchObject({ status: 'failed', failure_kind: 'protocol_error' });
    await runs.resume(run);
    expect(await runs.ended(run)).toMatchObject({ status: 'succeeded', attempts: 2 });
    const [first, second] = runs.starts();
    expect(flag(second, '--resume')).toBe(flag(first, '--session-id'));
    expect(existsSync(path.join(runs.repo, '.partner/runs/person.r2/metadata.json'))).toBe(true);
    expect((await runs.outputs(run)).filter((output) => output.body.type === 'done').length).toBe(2);
  });

  test('spec: bounded-claude 8.1: as another role only with an approval, which metadata and event keep', async () => {
    runs.play('refusal', 'success');
    const run = await runs.start({ run_id: 'other-role' });
    await runs.ended(run);
    await expect(runs.resume(run, { role: 'arbiter' })).rejects.toThrow(/--approval "who, why"/);
    const secret = ['gh', 'p_', randomText(36)].join('');
    const refused = runs.resume(run, { role: 'arbiter', approval: `Ada, with ${secret}` });
    await expect(refused).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(/^(?![^]*gh[p]_).*approval holds.*secret \(github-token\)/),
    });
    await runs.resume(run, { role: 'arbiter', approval: 'Ada, the first one refused' });
    expect(await runs.ended(run)).toMatchObject({ status: 'succeeded', role: 'arbiter', model: 'claude-fable-5' });
    expect(flag(runs.starts()[1], '--model')).toBe('claude-fable-5');
    await runs.tidied();
    expect(runs.metadata('other-role.r2')).toMatchObject({
      role: 'arbiter',
      approval: { role: 'arbiter', text: 'Ada, the first one refused', previous_run_id: 'other-role' },
    });
    const [event] = await runs.planner.database.query<{ payload: unknown }>(
      `SELECT payload FROM events WHERE entity_id = $1 AND type = 'bounded_run.started' ORDER BY seq DESC LIMIT 1`,
      [run],
    );
    for (const table of ['bounded_runs', 'bounded_attempts', 'events', 'planner_outputs']) {
      const rows = await runs.planner.database.query(`SELECT 1 FROM ${table} t WHERE strpos(t::text, $1) > 0`, [secret]);
      expect(rows, table).toEqual([]);
    }
    expect(event!.payload).toMatchObject({ approval: { role: 'arbiter', text: 'Ada, the first one refused' } });
  });

  test('not while it goes on, not once it has succeeded', async () => {
    runs.play('slow-success');
    const run = await runs.start({ run_id: 'too-early' });
    await expect(runs.resume(run)).rejects.toThrow(/under way/);
    await runs.ended(run);
    await expect(runs.resume(run)).rejects.toThrow(/has succeeded/);
  });

  test('spec: bounded-claude 1.11: not where less than 0.05 USD of the budget are left', async () => {
    runs.play('budget');
    const run = await runs.start({ run_id: 'spent' });
    expect(await runs.ended(run)).toMatchObject({ failure_kind: 'budget_exceeded', cost_usd: 2.4 });
    await expect(runs.resume(run)).rejects.toThrow(/budget_exceeded: 2.40 of 2 USD are spent/);
  });
});

test('spec: orchestration: a history is small and holds no word of packet or plan', async () => {
  runs.play('idle', 'overloaded', 'success');
  const run = await runs.start({ run_id: 'history', idle_timeout: 1.5, resume_attempts: 3 });
  const { workflow_id } = await runs.ended(run);
  const handle = runs.planner.client.workflow.getHandle(workflow_id);
  await until('the workflow to end', async () => (await handle.describe()).status.name === 'COMPLETED');
  const described = await handle.describe();
  expect(described.raw.workflowExecutionInfo?.historySizeBytes?.toNumber()).toBeLessThan(30_000);
  const text = JSON.stringify(await handle.fetchHistory(), (_, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value);
  const decoded = text + Buffer.from(text.match(/[A-Za-z0-9+/=]{40,}/g)?.join('\n') ?? '', 'base64').toString('latin1');
  const words = ['health check', 'healthz', 'Plan Checkpoint', 'server.ts', packet.slice(0, 30)];
  for (const word of words) expect(decoded).not.toContain(word);
});

test('spec: bounded-claude 6.3: a secret in a plan is redacted in plan, checkpoint and outputs alike, with a warning', async () => {
  runs.play('secret-split-deltas');
  const run = await runs.start({ run_id: 'secret' });
  await runs.ended(run);
  const token = ['gh', 'p_'].join('');
  const stored = JSON.stringify([await runs.read(run), await runs.outputs(run)]);
  for (const text of [runs.file('.partner/plans/secret.md'), runs.file('.partner/runs/secret/checkpoint.md'), stored]) {
    expect(text).toContain('[redacted: ');
    expect(text).not.toContain(token);
  }
  expect((await runs.outputs(run)).some((output) => output.body.type === 'warning')).toBe(true);
});

test('a demonstration asks no model, needs no identity, and says so', async () => {
  const run = await runs.start({ run_id: 'demo', demo: true, host: 'claude_code', role: 'fast_worker' });
  expect(await runs.ended(run)).toMatchObject({ status: 'succeeded', demo: true, cost_usd: 0, model: 'claude-demo-1' });
  expect(runs.metadata('demo')).toMatchObject({ configured: { source: 'demo' } });
  expect(runs.file('.partner/plans/demo.md')).toContain('by rule, as a demonstration');
});

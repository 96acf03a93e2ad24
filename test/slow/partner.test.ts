// Bounded runs as a user has them: the `partner` command on a stack that it starts itself (spec: bounded-claude 1, 7,
// 8).

import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { identify, kill } from '../../cli/stack/process.ts';
import { readStack } from '../../cli/stack/stack-file.ts';
import { checkPlan } from '../../domain/bounded/plan.ts';
import { packet } from '../support/bounded.ts';
import { scriptedCli } from '../support/bounded-attempt.ts';
import { createDesk, identity, whose, type Desk, type Result, type Running } from '../support/partner.ts';

let desk: Desk;

/** What the n-th CLI from now on does. */
function modes(...names: string[]): void {
  rmSync(path.join(desk.home, 'scripted-claude.log'), { force: true });
  writeFileSync(path.join(desk.home, 'scripted-claude.json'), JSON.stringify({ modes: names, heartbeat: heartbeat() }));
}
const heartbeat = (): string => path.join(desk.root, 'heartbeat');
const args = (...more: string[]): string[] => ['plan', '--repo', desk.repo, ...whose, '--packet', 'packet.md', ...more];
const plan = (...more: string[]): Promise<Result> => desk.run(args(...more));
const artifact = (run: string, name: string): string => path.join(desk.repo, '.partner/runs', run, name);
const planFile = (run: string): string => path.join(desk.repo, '.partner/plans', `${run}.md`);
const status = async (run: string): Promise<Record<string, unknown>> =>
  JSON.parse((await desk.run(['status', run, '--json'])).out) as Record<string, unknown>;

async function until(what: string, holds: () => boolean | Promise<boolean>, ms = 60_000): Promise<void> {
  const limit = Date.now() + ms;
  while (!(await holds())) {
    if (Date.now() > limit) throw new Error(`It did not come to hold in time: ${what}`);
    await sleep(100);
  }
}

/** Until the CLI of this run streams. */
const streams = (run: Running): Promise<void> => until('text has come', () => run.err().includes('writing · '));

beforeAll(() => {
  desk = createDesk({ PARTNER_CLAUDE_BIN: scriptedCli, PARTNER_IDLE_SECONDS: '120' });
  desk.write('packet.md', packet());
  desk.write('long.md', packet({ Goal: 'A goal that takes its time. '.repeat(700) }));
  desk.write('.partner/config.toml', identity());
});

const started: ChildProcess[] = [];
afterEach(() => started.splice(0).forEach((child) => child.kill('SIGKILL')));
afterAll(async () => {
  const stack = readStack(desk.dataDir);
  if (stack) kill(stack.pid, 'SIGTERM');
  await until('the stack has ended', () => !stack || identify(stack.pid) === undefined);
  desk.remove();
});

describe('partner plan --demo', () => {
  let result: Result;
  beforeAll(async () => {
    result = await plan('--demo', '--run-id', 'first');
  });

  test('spec: bounded-claude 1.1: starts a stack that stays, registers the repository and says so, and makes a valid plan: exit 0', () => {
    expect(result).toMatchObject({ code: 0 });
    expect(result.err).toContain(`starting a stack on ${desk.dataDir}`);
    expect(result.err).toContain(`registered ${desk.repo} as "repo", project WEB`);
    expect(readStack(desk.dataDir)).toMatchObject({ idle_seconds: 120 });
    expect(result.out.trimEnd().endsWith(planFile('first'))).toBe(true);
    expect(checkPlan(readFileSync(planFile('first'), 'utf8')).ok).toBe(true);
  });

  test('says everywhere that it is a demo', async () => {
    expect(result.err).toMatch(/^DEMO: a scripted CLI answers/);
    expect(result.err).toContain('DEMO: the plan was made by rule');
    expect((await desk.run(['status', 'first'])).out).toContain('first (DEMO: no model is asked)');
    expect(readFileSync(planFile('first'), 'utf8')).toContain('as a demonstration');
  });

  test('shows the visible text as it comes', () => {
    expect(result.out).toContain('# Plan Checkpoint');
    expect(result.out).toContain('## Rollback');
  });

  test('the run is visible in Temporal, under the workflow id that is told', async () => {
    const { workflow_id } = await status('first');
    expect(workflow_id).toMatch(/^bounded-claude-[0-9a-f]{8}-first$/);
    expect(result.err).toContain(workflow_id as string);
    const { temporal_ui } = readStack(desk.dataDir) ?? {};
    const answer = await fetch(`${temporal_ui}/api/v1/namespaces/default/workflows/${workflow_id}`);
    expect(await answer.json()).toMatchObject({
      workflowExecutionInfo: { status: 'WORKFLOW_EXECUTION_STATUS_COMPLETED' },
    });
  });

  test('spec: bounded-claude 1.5: artifacts lists its files and prints one', async () => {
    const list = await desk.run(['artifacts', 'first']);
    for (const name of ['metadata.json', 'checkpoint.md', 'events.jsonl'])
      expect(list.out).toContain(artifact('first', name));
    expect((await desk.run(['artifacts', 'first', 'plan.md'])).out).toBe(readFileSync(planFile('first'), 'utf8'));
    expect(statSync(artifact('first', '.')).mode & 0o777).toBe(0o700);
    const none = await desk.run(['artifacts', 'first', 'recovery.md']);
    expect(none).toMatchObject({ code: 2, err: expect.stringContaining('no recovery.md') });
  });

  test('a second run uses the running stack; the run id is taken, whatever its case: exit 2', async () => {
    const again = await plan('--demo', '--run-id', 'FIRST');
    expect(again.code).toBe(2);
    expect(again.err).not.toContain('starting a stack');
    expect(again.err).toMatch(/A run "first" .*Choose another --run-id/);
  });

  test('an output that exists is rejected: exit 2, and the run id stays free', async () => {
    const before = readFileSync(planFile('first'), 'utf8');
    const taken = await plan('--demo', '--run-id', 'second', '--output', '.partner/plans/first.md');
    expect(taken.code).toBe(2);
    expect(taken.err).toContain('a plan is never overwritten');
    expect(readFileSync(planFile('first'), 'utf8')).toBe(before);
    expect(existsSync(artifact('second', '.'))).toBe(false);
    expect((await plan('--demo', '--run-id', 'second')).code).toBe(0);
  });
});

describe('partner plan', () => {
  test('spec: bounded-claude 1.3: --detach returns at once with the run id, and the run goes on by itself', async () => {
    modes('slow-success');
    const { code, out } = await plan('--run-id', 'detached', '--detach');
    expect(code).toBe(0);
    expect(out).toBe('detached\n');
    await until('the plan is there', () => existsSync(planFile('detached')));
  });

  test('of two commands that race for one run id, or for one output, one gets it and the other is told: exit 2', async () => {
    modes('success');
    const same = await Promise.all([plan('--run-id', 'raced'), plan('--run-id', 'Raced')]);
    expect(same.map(({ code }) => code).toSorted()).toEqual([0, 2]);
    expect(same.find(({ code }) => code === 2)?.err).toContain('Choose another --run-id');
    const output = ['--output', 'docs/raced.md'];
    const beside = await Promise.all([plan('--run-id', 'left-hand', ...output), plan('--run-id', 'right-hand', ...output)]);
    expect(beside.map(({ code }) => code).toSorted()).toEqual([0, 2]);
    expect(beside.find(({ code }) => code === 2)?.err).toMatch(/docs\/raced\.md/);
  });

  test('an output that an open run claims is told with all other problems, and nothing is registered', async () => {
    modes('slow-success');
    const output = ['--output', 'docs/claimed.md'];
    const long = ['--packet', 'long.md'];
    const open = desk.start(['plan', '--repo', '.', ...whose, ...long, '--run-id', 'claimant', ...output]);
    await streams(open);
    const { code, err } = await plan('--run-id', 'late', '--wall-timeout', '900', ...output);
    expect(code).toBe(2);
    expect(err).toContain('Run "claimant" is about to write');
    expect(err).toContain('--wall-timeout');
    expect(await desk.run(['status', 'late'])).toMatchObject({ code: 2 });
    expect((await open.result).code).toBe(0);
  });

  test('spec: bounded-claude 1.2: --json is one line an event: accepted, status, text, done, ended', async () => {
    modes('success');
    const { code, out } = await plan('--run-id', 'json', '--json');
    expect(code).toBe(0);
    const events = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(events[0]).toMatchObject({ type: 'accepted', run_id: 'json', repo: 'repo', demo: false });
    const types = new Set(events.map(({ type }) => type));
    for (const type of ['status', 'text', 'done']) expect(types).toContain(type);
    expect(events.at(-1)).toMatchObject({ type: 'ended', exit_code: 0, status: 'succeeded', plan: planFile('json') });
    const numbers = events.flatMap(({ output }) => (typeof output === 'number' ? [output] : []));
    expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
  });

  test('spec: bounded-claude 1.1, 7.6: a failed run exits with 4 and names recovery.md, whose command resumes it in its session: exit 0', async () => {
    modes('auth', 'success');
    const failed = await plan('--run-id', 'failing');
    expect(failed.code).toBe(4);
    expect(failed.err).toMatch(/Run failing failed: authentication/);
    expect(failed.out).toBe('');
    expect(failed.err).toContain(`How to go on: ${artifact('failing', 'recovery.md')}`);
    expect(existsSync(planFile('failing'))).toBe(false);
    const recovery = readFileSync(artifact('failing', 'recovery.md'), 'utf8');
    const command = /^ {4}partner (plan .*--resume failing)$/m.exec(recovery)?.[1] ?? '';
    const resumed = await desk.run(command.split(' '));
    expect(resumed.code).toBe(0);
    expect(existsSync(artifact('failing.r2', 'metadata.json'))).toBe(true);
    const { attempt_list } = (await status('failing')) as {
      attempt_list: { session_id: string; session_kind: string }[];
    };
    expect(attempt_list.map(({ session_kind }) => session_kind)).toEqual(['fresh', 'resume']);
    expect(attempt_list[1]?.session_id).toBe(attempt_list[0]?.session_id);
  });

  test('a resume with another packet, another role without approval, or of a run that succeeded: exit 2', async () => {
    modes('auth');
    await plan('--run-id', 'stuck');
    const packets = await desk.run([
      ...args('--resume', 'stuck').slice(0, -4),
      '--packet',
      'long.md',
      '--resume',
      'stuck',
    ]);
    expect(packets).toMatchObject({ code: 2, err: expect.stringContaining('a resume keeps its packet') });
    desk.write('.partner/config.toml', identity() + identity().split('\n\n')[1]?.replace('deep_reasoner', 'arbiter'));
    const role = await desk.run([
      'plan',
      '--repo',
      '.',
      '--host',
      'codex',
      '--role',
      'arbiter',
      '--packet',
      'packet.md',
      '--resume',
      'stuck',
    ]);
    expect(role).toMatchObject({ code: 2, err: expect.stringContaining('--approve-role arbiter --approval') });
    const done = await plan('--resume', 'first');
    expect(done.code).toBe(2);
  });

  test('spec: bounded-claude 8.1: another role goes on with an explicit approval, which the metadata keeps', async () => {
    modes('success');
    const approved = await plan(
      '--resume',
      'stuck',
      '--approve-role',
      'arbiter',
      '--approval',
      'ada: the first one hangs',
    );
    expect(approved.code).toBe(0);
    expect(JSON.parse(readFileSync(artifact('stuck.r2', 'metadata.json'), 'utf8'))).toMatchObject({
      role: 'arbiter',
      approval: { role: 'arbiter', text: 'ada: the first one hangs' },
    });
  });
});

test('spec: bounded-claude 8: an approved role that is not verified goes on where the run was allowed that, else not', async () => {
  modes('auth', 'auth', 'success');
  const arbiter = identity('claude-fable-5', false).split('\n\n')[1]?.replace('deep_reasoner', 'arbiter');
  desk.write('.partner/config.toml', `${identity()}\n${arbiter}`);
  await plan('--run-id', 'strict');
  await plan('--run-id', 'lenient', '--allow-unverified');
  const approved = ['--approve-role', 'arbiter', '--approval', 'ada: it must go on'];
  const refused = await plan('--resume', 'strict', ...approved);
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('partner verify --host codex --role arbiter') });
  expect(refused.err).not.toContain('--allow-unverified');
  expect(await status('strict')).toMatchObject({ attempts: 1 });
  expect((await plan('--resume', 'lenient', ...approved)).code).toBe(0);
  expect(JSON.parse(readFileSync(artifact('lenient.r2', 'metadata.json'), 'utf8'))).toMatchObject({
    role: 'arbiter',
    configured: { verified: false, allow_unverified: true },
  });
});

test('spec: bounded-claude 7: where recovery.md is gone from the disk, a failed run names the one that is kept', async () => {
  modes('idle');
  const run = desk.start(args('--run-id', 'bereft', '--resume-attempts', '0'));
  await streams(run);
  // The directory is gone for good: nothing is written there again.
  rmSync(artifact('bereft', '.'), { recursive: true, force: true });
  await desk.run(['cancel', 'bereft']);
  const { err } = await run.result;
  expect(existsSync(artifact('bereft', 'recovery.md'))).toBe(false);
  expect(err).toContain('How to go on: partner artifacts bereft recovery.md');
  const kept = await desk.run(['artifacts', 'bereft', 'recovery.md']);
  expect(kept).toMatchObject({ code: 0, out: expect.stringContaining('--resume bereft') });
});

describe('whatever happens to the command', () => {
  test('spec: bounded-claude 1.3: it is killed in mid-run: the run ends well by itself', async () => {
    modes('slow-success');
    const run = desk.start(['plan', '--repo', '.', ...whose, '--packet', 'long.md', '--run-id', 'killed']);
    await streams(run);
    run.child.kill('SIGKILL');
    await run.result;
    expect(existsSync(planFile('killed'))).toBe(false);
    await until('the plan is there', () => existsSync(planFile('killed')));
    expect(await status('killed')).toMatchObject({ status: 'succeeded', attempts: 1 });
  });

  test('SIGINT without a terminal leaves the run running, says how to go on, and exits with 130', async () => {
    modes('slow-success');
    const run = desk.start(['plan', '--repo', '.', ...whose, '--packet', 'long.md', '--run-id', 'left']);
    await streams(run);
    run.child.kill('SIGINT');
    const { code, err } = await run.result;
    expect(code).toBe(130);
    expect(err).toContain('Run left goes on by itself. See it: partner status left · stop it: partner cancel left');
    await until('the plan is there', () => existsSync(planFile('left')));
  });

  test('spec: bounded-claude 1.1, 1.5: partner cancel stops a run, also a CLI that ignores SIGTERM; the waiting command exits with 130', async () => {
    modes('ignores-sigterm');
    const run = desk.start(args('--run-id', 'stopped'));
    await streams(run);
    const begun = Date.now();
    const cancelled = await desk.run(['cancel', 'stopped']);
    expect(cancelled).toMatchObject({ code: 0, out: 'Run stopped was cancelled.\n' });
    const { code, err } = await run.result;
    expect(code).toBe(130);
    expect(Date.now() - begun).toBeLessThan(15_000);
    expect(err).toContain('Run stopped was cancelled');
    const beat = statSync(heartbeat()).mtimeMs;
    await sleep(1_000);
    expect(statSync(heartbeat()).mtimeMs).toBe(beat);
    expect(await desk.run(['cancel', 'stopped'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('has ended already'),
    });
    expect(await desk.run(['cancel', 'no-such-run'])).toMatchObject({ code: 2 });
  });

  /** The command on a terminal of its own. */
  function sit(run: string): { typed(text: string): void; screen(): string; code: Promise<number | null> } {
    const partner = fileURLToPath(new URL('../../cli/partner.ts', import.meta.url));
    const command = [process.execPath, partner, ...args('--run-id', run)].map((word) => `'${word}'`).join(' ');
    const child = spawn('script', ['-qefc', command, '/dev/null'], {
      cwd: desk.repo,
      env: { ...desk.env, TERM: 'xterm' },
    });
    started.push(child);
    let screen = '';
    child.stdout.on('data', (data) => (screen += data));
    const code = new Promise<number | null>((resolve) => child.on('close', resolve));
    return { typed: (text) => void child.stdin.write(text), screen: () => screen, code };
  }

  test('Ctrl-C at a terminal asks: going on goes on, stopping stops the run', async () => {
    modes('idle');
    const person = sit('asked');
    await until('a progress line', () => /writing · 0:0\d · \d+ characters · last event/.test(person.screen()));
    person.typed('\u0003');
    await until('the question', () => person.screen().includes('Stop the run [s]'));
    person.typed('g\r');
    await sleep(500);
    expect(await status('asked')).toMatchObject({ status: 'running', cancel_requested: false });
    person.typed('\u0003');
    await until('the question again', () => person.screen().split('Stop the run [s]').length > 2);
    person.typed('s\r');
    expect(await person.code).toBe(130);
    expect(await status('asked')).toMatchObject({ status: 'cancelled' });
  });

  test('a second Ctrl-C leaves the run running', async () => {
    modes('idle');
    const person = sit('asked-twice');
    await until('a progress line', () => /writing · /.test(person.screen()));
    person.typed('\u0003');
    await until('the question', () => person.screen().includes('Stop the run [s]'));
    person.typed('\u0003');
    expect(await person.code).toBe(130);
    expect(await status('asked-twice')).toMatchObject({ status: 'running', cancel_requested: false });
    await desk.run(['cancel', 'asked-twice']);
  });

  test('the stack is killed in mid-run: the command starts it again, and the run comes to its end', async () => {
    modes('slow-success');
    const run = desk.start(['plan', '--repo', '.', ...whose, '--packet', 'long.md', '--run-id', 'survivor']);
    await streams(run);
    kill(readStack(desk.dataDir)?.pid ?? 0, 'SIGKILL');
    const { code, err } = await run.result;
    expect(err).toContain('The stack has ended; it is started again');
    expect(code).toBe(0);
    expect(existsSync(planFile('survivor'))).toBe(true);
  });
});

test('a stack that a command started stays while a run is open, and ends by itself when nobody uses it', async () => {
  const own = createDesk({ PARTNER_CLAUDE_BIN: scriptedCli, PARTNER_IDLE_SECONDS: '5' });
  own.write('packet.md', packet({ Goal: 'A goal that takes its time. '.repeat(800) }));
  own.write('.partner/config.toml', identity());
  writeFileSync(path.join(own.home, 'scripted-claude.json'), JSON.stringify({ modes: ['slow-success'] }));
  const { code } = await own.run([
    'plan',
    '--repo',
    '.',
    ...whose,
    '--packet',
    'packet.md',
    '--run-id',
    'open',
    '--detach',
  ]);
  expect(code).toBe(0);
  const stack = readStack(own.dataDir);
  await until('the plan is there', () => existsSync(path.join(own.repo, '.partner/plans/open.md')));
  await until('the stack has ended', () => identify(stack?.pid ?? 0) === undefined, 40_000);
  expect(readFileSync(path.join(own.dataDir, 'logs/stack.log'), 'utf8')).toContain(
    'nobody has used the stack for 5 s; ending',
  );
  own.remove();
});

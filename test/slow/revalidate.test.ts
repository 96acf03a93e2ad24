// `partner revalidate` as a user has it, on a stack that it starts itself; the scripted CLI answers
// (spec: bounded-claude 9).

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kill } from '../../cli/stack/process.ts';
import { readStack } from '../../cli/stack/stack-file.ts';
import { reportSchema, type Report } from '../../domain/revalidation/report.ts';
import { scriptedCli } from '../support/bounded-attempt.ts';
import { randomText } from '../support/bounded.ts';
import { createDesk, identity, whose, type Desk, type Result } from '../support/partner.ts';
import { fillRepository } from '../support/revalidation.ts';

let desk: Desk;
const modes = (...names: string[]): void => {
  rmSync(path.join(desk.home, 'scripted-claude.log'), { force: true });
  writeFileSync(path.join(desk.home, 'scripted-claude.json'), JSON.stringify({ modes: names }));
};
const revalidate = (...more: string[]): Promise<Result> => desk.run(['revalidate', ...more]);
const now = (...more: string[]): Promise<Result> => revalidate('--repo', desk.repo, ...whose, ...more);
const reportOf = (out: string): { text: string; json: Report } => {
  const file = out.trim().split('\n').at(-1)!;
  return {
    text: readFileSync(file, 'utf8'),
    json: reportSchema.parse(JSON.parse(readFileSync(file.replace(/md$/, 'json'), 'utf8'))),
  };
};

beforeAll(() => {
  desk = createDesk({ PARTNER_CLAUDE_BIN: scriptedCli, PARTNER_IDLE_SECONDS: '120' });
  fillRepository(desk.repo);
  desk.write('.partner/config.toml', identity());
});
afterAll(() => {
  const stack = existsSync(desk.dataDir) ? readStack(desk.dataDir) : undefined;
  if (stack) kill(stack.pid, 'SIGTERM');
  desk.remove();
});

describe('what is wrong is said at once: exit 2, no stack is started, nothing is paid', () => {
  test.each<[string, string[], RegExp]>([
    ['a schedule that cannot be parsed', ['--schedule', 'weekly'], /it has 1 fields.*Give five fields/],
    ['two things at once', ['--list', '--ack', 'x'], /One at a time: --list, --ack/],
    ['a budget too high', ['--max-budget-usd', '50'], /at most 10/],
    ['times that are none', ['--backfill', 'x', '--from', 'yesterday', '--to', 'now'], /--backfill needs --from and --to/],
  ])('%s', async (_, more, why) => {
    const alone = more.includes('--list') || more.includes('--backfill');
    const { code, err } = alone ? await revalidate(...more) : await now(...more);
    expect(err).toMatch(why);
    expect(err).toContain('nothing was paid');
    expect(code).toBe(2);
    expect(existsSync(desk.dataDir)).toBe(false);
  });

  test('a role that is not verified, and a repository that is gone', async () => {
    const { code, err } = await revalidate('--repo', desk.repo, '--host', 'codex', '--role', 'arbiter');
    expect([code, err]).toEqual([2, expect.stringMatching(/No identity is configured for arbiter on codex/)]);
    const gone = await revalidate('--repo', `${desk.repo}-gone`, ...whose);
    expect([gone.code, gone.err]).toEqual([2, expect.stringMatching(/does not exist/)]);
    expect(existsSync(desk.dataDir)).toBe(false);
  });

  test('packets that would hold a secret', async () => {
    const other = createDesk({ PARTNER_CLAUDE_BIN: scriptedCli });
    const secret = ['gh', 'p_'].join('') + randomText(36);
    for (let index = 0; index < 5; index++) other.write(`f${index}.ts`, `// ${secret}\n${'const x = 1;\n'.repeat(900)}`);
    other.write('.partner/config.toml', identity());
    const { code, err } = await other.run(['revalidate', '--repo', other.repo, ...whose]);
    expect(code).toBe(2);
    expect(err).toMatch(/No packet of 23,000 to 24,000 characters .* left out: f0\.ts/);
    expect(err).not.toContain(secret);
    other.remove();
  });
});

test('a whole re-validation: progress, exit 0, and a report whose claim holds', async () => {
  modes('success', 'slow-success', 'success');
  const { code, out, err } = await now();
  expect(err).toContain('3 near-limit runs, at most 6 USD in all');
  expect(err).toMatch(/attempt 2: interrupted: interrupted/);
  expect(err).toContain('The claim holds:');
  expect(code).toBe(0);
  const { text, json } = reportOf(out);
  expect(json).toMatchObject({ claim: 'holds', failures: [], status: 'completed' });
  expect(json.attempts.map(({ purpose }) => purpose)).toEqual(['fresh', 'interrupted', 'recovery', 'fresh']);
  expect(text).toContain('The claim **holds**');
});

test('one with a failure: exit 4, it says what to do; acknowledged, the report names who and what it was', async () => {
  modes('auth', 'slow-success', 'success');
  const { code, out, err } = await now();
  expect(code).toBe(4);
  const { json } = reportOf(out);
  expect(json).toMatchObject({ claim: 'pending', failures: [{ kind: 'authentication', inspected_by: null }] });
  expect(err).toContain(`partner revalidate --ack ${json.validation_id}`);
  const acked = await revalidate('--ack', json.failures[0]!.id, '--note', 'the login had expired');
  expect([acked.code, acked.out]).toEqual([0, expect.stringContaining('Recorded. The claim holds.')]);
  const shown = await revalidate('--report', json.validation_id);
  expect(shown.out).toMatch(/authentication .* the login had expired/);
  const twice = await revalidate('--ack', json.validation_id);
  expect([twice.code, twice.err]).toEqual([2, expect.stringContaining('acknowledged already')]);
});

test('a schedule: made, listed with its next times, paused, resumed, triggered, deleted', async () => {
  const made = await now('--schedule', '0 3 * * mon', '--note', 'before releases');
  expect([made.code, made.err]).toEqual([0, expect.stringMatching(/scheduled: 0 3 \* \* 1 \(UTC\); next 20/)]);
  const id = made.out.trim();
  const list = async (): Promise<string> => (await revalidate('--list')).out;
  expect(await list()).toMatch(new RegExp(`${id} +repo +deep_reasoner on codex +0 3 \\* \\* 1`));
  expect((await revalidate('--pause', id)).out).toContain('It is paused.');
  expect(await list()).toMatch(/paused/);
  expect((await revalidate('--resume', id)).out).toMatch(/^Next: 20/);
  modes('success', 'slow-success', 'success');
  expect((await revalidate('--trigger', id)).code).toBe(0);
  const limit = Date.now() + 90_000;
  for (;;) {
    const { items } = JSON.parse((await revalidate('--list', '--json')).out) as { items: Report[] };
    const own = items.find(({ schedule }) => schedule === id);
    if (own?.ended_at) {
      expect(own.claim).toBe('holds');
      break;
    }
    expect(Date.now()).toBeLessThan(limit);
  }
  const deleted = await revalidate('--delete', id);
  expect(deleted.code).toBe(0);
  expect(await list()).toContain('No schedules.');
  expect((await revalidate('--pause', id)).code).toBe(2);
});

test('--detach returns at once; it can be stopped', async () => {
  modes('idle');
  const { code, out } = await now('--detach', '--json');
  expect(code).toBe(0);
  const { validation_id: id } = JSON.parse(out) as { validation_id: string };
  expect((await revalidate('--cancel', id)).out).toContain('is being cancelled');
  const limit = Date.now() + 60_000;
  while (!/"status": "cancelled"/.test((await revalidate('--report', id, '--json')).out)) {
    expect(Date.now()).toBeLessThan(limit);
  }
});

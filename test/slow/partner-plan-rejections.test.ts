// What `partner plan` rejects before it starts anything: exit 2, what, where and how to mend it, nothing written
// (spec: bounded-claude 1, 2, 3, 8).

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { packet } from '../support/bounded.ts';
import { scriptedCli } from '../support/bounded-attempt.ts';
import { createDesk, identity, madeSecret, whose, type Desk, type Result } from '../support/partner.ts';

let desk: Desk;
beforeAll(() => {
  desk = createDesk({ PARTNER_CLAUDE_BIN: scriptedCli });
});
beforeEach(() => {
  rmSync(desk.repo, { recursive: true, force: true });
  desk.write('packet.md', packet());
  desk.write('.partner/config.toml', identity());
});
afterAll(() => desk.remove());

const plan = (...more: string[]): Promise<Result> =>
  desk.run(['plan', '--repo', desk.repo, ...whose, '--packet', 'packet.md', ...more]);

function expectNothing(): void {
  expect(existsSync(desk.dataDir)).toBe(false);
  expect(existsSync(path.join(desk.home, 'scripted-claude.log'))).toBe(false);
  expect(readdirSync(path.join(desk.repo, '.partner'))).toEqual(['config.toml']);
}

describe('a rejection exits with 2, says how to mend it, pays nothing and writes nothing', () => {
  test.each([
    ['a budget of 0', ['--max-budget-usd', '0'], 'greater than 0 and at most 10'],
    ['a budget above 10', ['--max-budget-usd', '10.01'], 'at most 10'],
    ['a raised wall limit', ['--wall-timeout', '601'], 'may be lowered, never raised'],
    ['a raised idle limit', ['--idle-timeout', '181'], '--idle-timeout'],
    ['a raised packet limit', ['--max-input-chars', '24001'], '--max-input-chars'],
    ['too many resume attempts', ['--resume-attempts', '4'], 'from 0 to 3'],
    ['a limit that is no number', ['--wall-timeout', 'long'], 'A number is needed'],
    ['a run id with a slash', ['--run-id', 'a/b'], '--run-id is refused'],
    ['a run id that names an attempt', ['--run-id', 'a.r2'], 'name the attempts'],
    ['an output outside of the repository', ['--output', '../../plan.md'], 'leads out of the repository'],
    ['an output among the artifacts', ['--output', '.partner/runs/x/plan.md'], '--output is refused'],
    ['an approval without a resume', ['--approve-role', 'arbiter', '--approval', 'ada'], 'give --resume RUN-ID too'],
    ['a resume with limits of its own', ['--resume', 'a1', '--max-budget-usd', '3'], 'leave out --max-budget-usd'],
    ['a role without an approval', ['--resume', 'a1', '--approve-role', 'arbiter'], '--approval "who, why"'],
    ['an approval that names no role', ['--resume', 'a1', '--approval', 'ada'], 'one of deep_reasoner'],
    [
      'an approved role that is not configured',
      ['--resume', 'a1', '--approve-role', 'arbiter', '--approval', 'ada'],
      'partner config set --host codex --role arbiter',
    ],
    ['an unknown option', ['--fallback-model', 'x'], 'unknown option'],
  ])('%s', async (_, more, said) => {
    const { code, err, out } = await plan(...more);
    expect(code).toBe(2);
    expect(err).toContain(said);
    expect(out).toBe('');
    expectNothing();
  });

  test.each([
    ['an identity that is not verified', identity('claude-opus-4-8', false), 'partner verify'],
    ['another backend', identity().replace('"claude"', '"codex"'), '--backend claude'],
    ['an alias', identity('opus'), 'alias'],
    ['an effort that is none', identity().replace('"high"', '"extreme"'), 'one of low, medium'],
    ['schema 1', 'schema_version = 1\n', 'To upgrade'],
    ['broken TOML', 'schema_version = = 2\n', 'config.toml:1:'],
    ['no identity', 'schema_version = 2\n', 'partner config set --host codex --role deep_reasoner --backend claude'],
  ])('%s', async (_, toml, said) => {
    desk.write('.partner/config.toml', toml);
    const { code, err } = await plan();
    expect(code).toBe(2);
    expect(err).toContain(said);
    expectNothing();
  });

  test('an output through a link that leads out', async () => {
    mkdirSync(path.join(desk.root, 'elsewhere'), { recursive: true });
    symlinkSync(path.join(desk.root, 'elsewhere'), path.join(desk.repo, 'docs'));
    const { code, err } = await plan('--output', 'docs/plan.md');
    expect(code).toBe(2);
    expect(err).toContain('leads out of the repository');
    expect(readdirSync(path.join(desk.root, 'elsewhere'))).toEqual([]);
  });

  test('an output that exists, a run id that is taken whatever its case', async () => {
    desk.write('docs/plan.md', 'mine');
    desk.write('.partner/runs/Taken/metadata.json', '{}');
    const { code, err } = await plan('--output', 'docs/plan.md', '--run-id', 'taken', '--wall-timeout', '900');
    expect(code).toBe(2);
    const told = ['docs/plan.md exists already', 'choose another --output', 'A run "Taken" is in', '--wall-timeout'];
    for (const said of told) expect(err).toContain(said);
    expect(existsSync(desk.dataDir)).toBe(false);
  });

  test.each(['.partner/runs', '.partner/plans'])('%s as a link that leads out, or as a file', async (name) => {
    mkdirSync(path.join(desk.root, 'elsewhere'), { recursive: true });
    symlinkSync(path.join(desk.root, 'elsewhere'), path.join(desk.repo, name));
    const away = await plan();
    expect(away).toMatchObject({ code: 2, err: expect.stringContaining(`${name} leads out of the repository`) });
    expect(away.err).toContain('Replace the symbolic link');
    rmSync(path.join(desk.repo, name));
    desk.write(name, '');
    const file = await plan();
    expect(file).toMatchObject({ code: 2, err: expect.stringContaining('is a file where a folder is needed') });
    expect(existsSync(desk.dataDir)).toBe(false);
    expect(readdirSync(path.join(desk.root, 'elsewhere'))).toEqual([]);
  });

  test('`.partner` is a file, or the output lies below one', async () => {
    desk.write('file', '');
    const below = await plan('--output', 'file/plan.md');
    expect(below).toMatchObject({ code: 2, err: expect.stringContaining(`${desk.repo}/file is a file where`) });
    rmSync(path.join(desk.repo, '.partner'), { recursive: true });
    desk.write('.partner', '');
    const { code, err } = await plan();
    expect(code).toBe(2);
    expect(err).toContain(`${desk.repo}/.partner is a file where a folder is needed. Move that file away.`);
    expect(err).not.toContain('ENOTDIR');
    expect(existsSync(desk.dataDir)).toBe(false);
  });

  test('a packet that is a pipe, which check does not wait for either', async () => {
    const pipe = path.join(desk.root, 'pipe');
    if (!existsSync(pipe)) execFileSync('mkfifo', [pipe]);
    const planned = await desk.run(['plan', '--repo', '.', ...whose, '--packet', pipe]);
    const checked = await desk.run(['check', pipe]);
    for (const { code, err } of [planned, checked]) {
      expect(code).toBe(2);
      expect(err).toContain('is no file but a pipe or a device. Save it as a file');
    }
    expectNothing();
  });

  test('another role that is not verified for a resume, which takes no --allow-unverified', async () => {
    const unverified = identity('claude-opus-4-8', false).split('\n').slice(2).join('\n');
    const arbiter = unverified.replace('deep_reasoner', 'arbiter');
    desk.write('.partner/config.toml', `${identity()}\n${arbiter}`);
    const { code, err } = await plan('--resume', 'a1', '--approve-role', 'arbiter', '--approval', 'ada');
    expect(code).toBe(2);
    expect(err).toContain('partner verify --host codex --role arbiter');
    expect(err).not.toContain('--allow-unverified');
    expectNothing();
  });

  test('a folder inside of .partner as repository', async () => {
    mkdirSync(path.join(desk.repo, '.partner', 'runs', 'a'), { recursive: true });
    const { code, err } = await desk.run(['plan', '--repo', '.partner/runs/a', ...whose, '--packet', 'packet.md']);
    expect(code).toBe(2);
    expect(err).toContain(`lies in a .partner folder, which holds runs' own files. Give --repo ${desk.repo}.`);
    expect(existsSync(desk.dataDir)).toBe(false);
  });

  test('a repository that is not there, a packet that is not there', async () => {
    const nowhere = await desk.run(['plan', '--repo', 'no-such', ...whose, '--packet', 'packet.md']);
    expect(nowhere).toMatchObject({ code: 2, err: expect.stringContaining('does not exist') });
    const unread = await desk.run(['plan', '--repo', '.', ...whose, '--packet', 'no.md']);
    expect(unread).toMatchObject({ code: 2, err: expect.stringContaining('partner packet init') });
    expectNothing();
  });

  test('spec: bounded-claude 1: a resume without its packet, which names the command that has all of it', async () => {
    const { code, err } = await desk.run(['plan', '--repo', '.', ...whose, '--resume', "it's"]);
    expect(code).toBe(2);
    expect(err).toContain('--packet FILE is missing; a resume needs it too: the packet that the run began with.');
    expect(err).toContain(`partner artifacts 'it'\\''s' recovery.md`);
    expect(err).not.toContain('packet init');
    expectNothing();
  });

  test('required options that are missing are named', async () => {
    expect(await desk.run(['plan', '--repo', '.'])).toMatchObject({ code: 2, err: expect.stringContaining('--host') });
  });

  test('a CLI that is not there, with how to name one', async () => {
    const { code, err } = await desk.run(['plan', '--repo', '.', ...whose, '--packet', 'packet.md'], {
      env: { PARTNER_CLAUDE_BIN: '/no/such/claude' },
    });
    expect(code).toBe(2);
    expect(err).toContain('PARTNER_CLAUDE_BIN names /no/such/claude, which does not exist');
    expectNothing();
  });

  test('all problems are told together, with file and line, and never a secret', async () => {
    const secret = madeSecret();
    desk.write('packet.md', packet({ Goal: secret, Truncation: 'present:' }));
    desk.write('.partner/config.toml', identity('opus'));
    const { code, err, out } = await plan('--wall-timeout', '900', '--run-id', '..', '--output', '/etc/plan.md');
    expect(code).toBe(2);
    for (const said of ['packet.md:4:', '`present:` alone', 'alias', '--wall-timeout', '--run-id', 'leads out']) {
      expect(err).toContain(said);
    }
    expect(err + out).not.toContain(secret);
    expectNothing();
  });

  test('a wrong repository and wrong options hide no other problem, and --json tells them too', async () => {
    desk.write('packet.md', packet({ Truncation: 'present:' }));
    const wrong = ['--repo', 'no-such', '--host', 'codx', '--role', 'arbitr', '--max-budget-usd', 'abc'];
    const unknown = ['--fallback-model', 'x', '--outputs=y'];
    const more = ['--wall-timeout', '900', '--run-id', '..', ...unknown, '--packet', 'packet.md'];
    const told = ['no-such does not exist', 'Did you mean codex?', 'Did you mean arbiter?', '--max-budget-usd'];
    const others = ['--wall-timeout', '--run-id', '"--fallback-model"', 'Did you mean --output?', '`present:` alone'];
    const { code, err } = await desk.run(['plan', ...wrong, ...more]);
    expect(code).toBe(2);
    expect(err).toContain('rejected, nothing was paid');
    for (const said of [...told, ...others]) expect(err).toContain(said);
    const { out } = await desk.run(['plan', ...wrong, ...more, '--json']);
    const { type, problems } = JSON.parse(out) as { type: string; problems: { message: string }[] };
    expect(type).toBe('rejected');
    expect(problems).toHaveLength(told.length + others.length);
    expectNothing();
  });

  test('without --repo it is the repository around the working folder', async () => {
    desk.write('.partner/config.toml', identity('opus'));
    const cwd = path.join(desk.repo, 'deep', 'er');
    mkdirSync(cwd, { recursive: true });
    const { code, err } = await desk.run(['plan', ...whose, '--packet', '../../../packet.md'], { cwd });
    expect(code).toBe(2);
    expect(err).toContain('alias');
    expect(err).not.toContain('--repo');
  });

  test('a stack that can not be started: exit 2, and what it said', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const dataDir = path.join(desk.root, 'other-data');
    const env = { PLANNER_PORT: String(port), PLANNER_DATA_DIR: dataDir };
    const { code, err } = await desk.run(['plan', '--repo', '.', ...whose, '--packet', 'packet.md'], { env });
    expect(code).toBe(2);
    expect(err).toContain(`Port ${port} of 127.0.0.1 is in use`);
    expect(existsSync(path.join(dataDir, 'stack.lock'))).toBe(false);
    other.close();
  });

  test('a planner that does not answer, or an address that is none', async () => {
    const run = (address: string): Promise<Result> =>
      desk.run(['plan', '--repo', '.', ...whose, '--packet', 'packet.md'], {
        env: { PLANNER_ADDRESS: address, PLANNER_TOKEN: 'x' },
      });
    const away = await run('http://127.0.0.1:9');
    expect(away).toMatchObject({ code: 2, err: expect.stringContaining('cannot be reached') });
    expect(await run('not an address')).toMatchObject({ code: 2, err: expect.stringContaining('must look like') });
    expectNothing();
  });

  test('--json tells the same in one line', async () => {
    const { code, out } = await plan('--json', '--wall-timeout', '900');
    expect(code).toBe(2);
    expect(out.trim().split('\n')).toHaveLength(1);
    expect(JSON.parse(out)).toEqual({
      type: 'rejected',
      problems: [{ code: 'limit', message: expect.stringContaining('--wall-timeout') }],
    });
  });
});

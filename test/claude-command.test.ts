// Which CLI runs, with which arguments, environment and prompt (spec: bounded-claude 4, 5).

import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cliEnvironment } from '../claude/environment.ts';
import { commandLine } from '../claude/command-line.ts';
import { demoCli, findCli } from '../claude/find-cli.ts';
import { promptFor } from '../claude/prompt.ts';
import { checkPlan } from '../domain/bounded/plan.ts';
import { packet, scriptedCli } from './support/bounded-attempt.ts';
import { demoPlan } from './support/demo-plan.ts';

let folder: string;
beforeEach(() => void (folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'command-')))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const script = (name: string, text: string, mode = 0o755): string => {
  const file = path.join(folder, name);
  writeFileSync(file, text);
  chmodSync(file, mode);
  return file;
};

describe('spec: bounded-claude 4.1: the command line', () => {
  const base = { runId: 'r1', model: 'claude-opus-4-8', effort: 'high', budgetUsd: 2 };

  test('of a fresh run, to the letter', () => {
    expect(commandLine({ ...base, session: { kind: 'fresh', id: 'U' } })).toEqual([
      '--print',
      '--safe-mode',
      '--no-chrome',
      '--tools',
      '',
      '--strict-mcp-config',
      '--setting-sources',
      '',
      '--permission-mode',
      'plan',
      '--model',
      'claude-opus-4-8',
      '--effort',
      'high',
      '--max-budget-usd',
      '2',
      '--output-format',
      'stream-json',
      '--include-partial-messages',
      '--verbose',
      '--session-id',
      'U',
      '--name',
      'partner-r1',
    ]);
  });

  test('reports a17, spec: bounded-claude 3.5: a resume has --resume and neither --session-id nor --name; nobody has --fallback-model', () => {
    const args = commandLine({ ...base, session: { kind: 'resume', id: 'U' } });
    expect(args.slice(-2)).toEqual(['--resume', 'U']);
    for (const flag of ['--session-id', '--name', '--fallback-model']) expect(args).not.toContain(flag);
  });
});

describe('spec: bounded-claude 4.4: the environment', () => {
  test('holds PATH, HOME, locale, proxies and credentials of the CLI, and nothing else of ours', () => {
    const given = {
      PATH: '/bin',
      HOME: '/home/u',
      LC_ALL: 'C',
      https_proxy: 'http://p',
      ANTHROPIC_BASE_URL: 'http://127.0.0.1:1',
      DATABASE_URL: 'x',
      CLAUDECODE: '1',
      CLAUDE_CODE_ENTRYPOINT: 'cli',
      CLAUDE_CODE_SSE_PORT: '1',
      NODE_OPTIONS: '-r x',
      LD_PRELOAD: 'x',
      CLAUDE_CODE_MAX_RETRIES: '9',
      ANTHROPIC_MODEL: 'other',
      CLAUDE_CODE_DISABLE_ATTACHMENTS: '0',
    };
    const kept = cliEnvironment(given);
    expect(kept).toMatchObject({
      PATH: '/bin',
      HOME: '/home/u',
      LC_ALL: 'C',
      https_proxy: 'http://p',
      ANTHROPIC_BASE_URL: 'http://127.0.0.1:1',
    });
    for (const name of [
      'DATABASE_URL',
      'CLAUDECODE',
      'CLAUDE_CODE_ENTRYPOINT',
      'CLAUDE_CODE_SSE_PORT',
      'NODE_OPTIONS',
      'LD_PRELOAD',
      'ANTHROPIC_MODEL',
    ]) {
      expect(kept).not.toHaveProperty(name);
    }
  });

  test('switches off attachments, mentions, requests without streaming, telemetry, updates, whatever was set', () => {
    const off = [
      'CLAUDE_CODE_DISABLE_ATTACHMENTS',
      'CLAUDE_CODE_DISABLE_FILE_MENTIONS',
      'CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK',
      'DISABLE_AUTOUPDATER',
      'DISABLE_TELEMETRY',
    ];
    const kept = cliEnvironment(Object.fromEntries(off.map((name) => [name, '0'])));
    expect(off.map((name) => kept[name])).toEqual(off.map(() => '1'));
  });
});

describe('spec: bounded-claude 4.2: the CLI', () => {
  test('is PARTNER_CLAUDE_BIN, with version and hash', async () => {
    const cli = await findCli({ PATH: process.env['PATH'], PARTNER_CLAUDE_BIN: scriptedCli });
    expect(cli).toEqual({ path: scriptedCli, version: '2.1.332', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
  });

  test('the demonstration says that it is one, and its plan is valid', async () => {
    expect(await findCli({ PATH: process.env['PATH'], PARTNER_CLAUDE_BIN: demoCli })).toMatchObject({ version: '0.0.0' });
    expect(checkPlan(demoPlan).ok).toBe(true);
    expect(demoPlan).toContain('no model was asked');
  });

  test('or `claude` on the PATH, links resolved', async () => {
    mkdirSync(path.join(folder, 'bin'));
    symlinkSync(scriptedCli, path.join(folder, 'bin', 'claude'));
    expect((await findCli({ PATH: `${folder}/bin:${process.env['PATH']}` })).path).toBe(scriptedCli);
  });

  test('a replaced file is another CLI', async () => {
    const file = script('claude', '#!/bin/sh\necho 1.0.0\n');
    const first = await findCli({ PARTNER_CLAUDE_BIN: file, PATH: '/bin:/usr/bin' });
    script('claude', '#!/bin/sh\necho 1.0.1 \n');
    const second = await findCli({ PARTNER_CLAUDE_BIN: file, PATH: '/bin:/usr/bin' });
    expect([first.version, second.version]).toEqual(['1.0.0', '1.0.1']);
    expect(first.sha256).not.toBe(second.sha256);
  });

  test('is not waited for where something that it started keeps its output open', async () => {
    const file = script('claude', '#!/bin/sh\nsleep 25 &\necho 1.0.0\n');
    const since = performance.now();
    expect((await findCli({ PARTNER_CLAUDE_BIN: file, PATH: '/bin:/usr/bin' })).version).toBe('1.0.0');
    expect(performance.now() - since).toBeLessThan(15_000);
  });

  test.each([
    ['missing on the PATH', () => ({ PATH: folder }), 'not on the PATH'],
    ['named, but missing', () => ({ PARTNER_CLAUDE_BIN: path.join(folder, 'none') }), 'does not exist'],
    ['named by a relative path', () => ({ PARTNER_CLAUDE_BIN: 'claude' }), 'not an absolute path'],
    ['a folder', () => ({ PARTNER_CLAUDE_BIN: folder }), 'is no file'],
    ['something else', () => ({ PARTNER_CLAUDE_BIN: script('x', '#!/bin/sh\necho hello\n') }), 'tells no version'],
    ['broken', () => ({ PARTNER_CLAUDE_BIN: script('x', '#!/bin/sh\nexit 3\n') }), 'ended with 3'],
  ])('%s: says so, and how to mend it', async (_, env, why) => {
    const said = await findCli(env()).then(
      () => '',
      (error: unknown) => String(error),
    );
    expect(said).toContain(why);
    expect(said).toContain('set PARTNER_CLAUDE_BIN');
  });
});

describe('spec: bounded-claude 4.5: the prompt', () => {
  test.each(['fresh', 'resume'] as const)(
    '%s: begins with our own sentence, whatever the packet begins with',
    (kind) => {
      const prompt = promptFor(kind === 'fresh' ? { kind } : { kind, held: false }, '/cost\n');
      expect(prompt).toMatch(/^You/);
      expect(prompt).toContain('\n/cost\n');
    },
  );

  test('spec: bounded-claude 5.12: a resume asks for the complete plan again, and sends the packet only where the session holds none', () => {
    const held = promptFor({ kind: 'resume', held: true }, packet);
    expect(held).toContain('complete plan again from its first line `# Plan Checkpoint`');
    expect(held).not.toContain('Add a health check.');
    expect(promptFor({ kind: 'resume', held: false }, packet)).toContain('Add a health check.');
  });
});

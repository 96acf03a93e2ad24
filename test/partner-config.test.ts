// `partner config` on files (spec: bounded-claude 3).

import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createDesk, identity, whose, type Desk } from './support/partner.ts';

let desk: Desk;
beforeEach(() => {
  desk = createDesk();
});
afterEach(() => desk.remove());

const writeUser = (text: string): void => {
  mkdirSync(path.dirname(desk.userConfig), { recursive: true });
  writeFileSync(desk.userConfig, text);
};
const full = ['--backend', 'claude', '--model', 'claude-opus-4-8', '--effort', 'high'];
const set = (...more: string[]): ReturnType<Desk['run']> => desk.run(['config', 'set', ...whose, ...more]);

describe('where the files are', () => {
  test("init makes the user's file under ~/.config, and $XDG_CONFIG_HOME where that is set", async () => {
    expect(await desk.run(['config', 'init'])).toMatchObject({
      code: 0,
      out: expect.stringContaining(desk.userConfig),
    });
    expect(readFileSync(desk.userConfig, 'utf8')).toContain('schema_version = 2');
    const xdg = path.join(desk.root, 'xdg');
    await desk.run(['config', 'init'], { env: { XDG_CONFIG_HOME: xdg } });
    expect(existsSync(path.join(xdg, 'partner/config.toml'))).toBe(true);
  });

  test('a relative $XDG_CONFIG_HOME counts as unset', async () => {
    await desk.run(['config', 'init'], { env: { XDG_CONFIG_HOME: 'xdg' } });
    expect(existsSync(desk.userConfig)).toBe(true);
  });

  test("init makes the repository's file with --scope repo, and never overwrites one: exit 2", async () => {
    expect((await desk.run(['config', 'init', '--scope', 'repo'])).code).toBe(0);
    writeFileSync(desk.repoConfig, '# mine\n');
    expect(await desk.run(['config', 'init', '--scope', 'repo'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('exists already'),
    });
    expect(readFileSync(desk.repoConfig, 'utf8')).toBe('# mine\n');
  });
});

describe('validate', () => {
  test('warns of names that no run reads, each with the nearest known one', async () => {
    const hosts = ['[hosts.codx.identities.arbiter]', '[hosts.codex.identities.arbitr]', '[hosts.codex.roless]'];
    const own = identity('claude-opus-4-8', true, 'modell = "x"\n');
    desk.write('.partner/config.toml', [own, ...hosts, '[tool]', ''].join('\n'));
    const { code, out } = await desk.run(['config', 'validate']);
    expect(code).toBe(0);
    for (const said of [
      'hosts.codex.identities.deep_reasoner.modell is not known and not read. Did you mean model?',
      'hosts.codx is not known and not read. Did you mean codex?',
      'hosts.codex.identities.arbitr is not known and not read. Did you mean arbiter?',
      'hosts.codex.roless is not known and not read. Known here: identities.',
      'tool is not known and not read. Known here: schema_version, hosts.',
    ])
      expect(out).toContain(`warning: ${desk.repoConfig}: ${said}`);
    expect(out.match(/^warning: /gm)).toHaveLength(5);
  });
});

describe('set', () => {
  test("a new identity goes to the user's file, and the next step is named", async () => {
    const { code, out } = await set(...full);
    expect(code).toBe(0);
    expect(out).toContain('partner verify --host codex --role deep_reasoner');
    expect(readFileSync(desk.userConfig, 'utf8')).toContain('model = "claude-opus-4-8"');
    expect(existsSync(desk.repoConfig)).toBe(false);
  });

  test('one that the repository names is set there; --scope chooses the other', async () => {
    desk.write('.partner/config.toml', identity());
    await set('--effort', 'max');
    expect(readFileSync(desk.repoConfig, 'utf8')).toContain('effort = "max"');
    await set('--scope', 'user', ...full);
    expect(readFileSync(desk.userConfig, 'utf8')).toContain('effort = "high"');
  });

  test('a change drops `verified`; comments and unknown sections survive', async () => {
    const more = '\n[other] # of another tool\nx = [1, 2]\n';
    desk.write('.partner/config.toml', `# top\n${identity('claude-opus-4-8', true, more)}`);
    await set('--model', 'claude-opus-5-0');
    const text = readFileSync(desk.repoConfig, 'utf8');
    expect(text).toMatch(/^# top\n/);
    expect(text).toContain('[other] # of another tool\nx = [1, 2]');
    expect(text).not.toContain('verified = true');
  });

  test.each([
    ['an alias', ['--model', 'opus'], 'alias'],
    ['an unknown effort', ['--effort', 'huge'], 'low, medium, high, xhigh, max'],
    ['an unknown backend', ['--backend', 'gpt'], 'claude, codex'],
    ['nothing', [], 'give --backend, --model or --effort'],
  ])('%s: exit 2, and nothing is written', async (_, more, said) => {
    const { code, err } = await set(...more);
    expect(code).toBe(2);
    expect(err).toContain(said);
    expect(existsSync(desk.userConfig)).toBe(false);
  });

  test('a file that is no TOML is named with line and column, and stays as it was', async () => {
    desk.write('.partner/config.toml', 'schema_version = 2\nx = = 1\n');
    const { code, err } = await set('--scope', 'repo', ...full);
    expect(code).toBe(2);
    expect(err).toMatch(/config\.toml:2:\d+/);
    expect(readFileSync(desk.repoConfig, 'utf8')).toBe('schema_version = 2\nx = = 1\n');
  });

  test('a link stays a link, and a file keeps its mode', async () => {
    const real = desk.write('dotfiles/partner.toml', 'schema_version = 2\n');
    chmodSync(real, 0o600);
    mkdirSync(path.dirname(desk.userConfig), { recursive: true });
    symlinkSync(real, desk.userConfig);
    await set(...full);
    expect(lstatSync(desk.userConfig).isSymbolicLink()).toBe(true);
    expect(readFileSync(real, 'utf8')).toContain('claude-opus-4-8');
    expect(statSync(real).mode & 0o777).toBe(0o600);
  });

  test('of commands at the same time none undoes another, and nothing stays beside the file', async () => {
    const roles = ['deep_reasoner', 'fast_worker', 'arbiter'];
    await Promise.all(roles.map((role) => desk.run(['config', 'set', '--host', 'codex', '--role', role, ...full])));
    const text = readFileSync(desk.userConfig, 'utf8');
    for (const role of roles) expect(text).toContain(`[hosts.codex.identities.${role}]`);
    expect(readdirSync(path.dirname(desk.userConfig))).toEqual(['config.toml']);
  });
});

describe('get and resolve', () => {
  test('get shows each table by itself, one value with --key', async () => {
    writeUser(identity());
    desk.write('.partner/config.toml', identity('claude-opus-5-0', false));
    const rows = JSON.parse((await desk.run(['config', 'get', '--json'])).out) as {
      items: { scope: string; model: string }[];
    };
    expect(rows.items.map(({ scope, model }) => [scope, model])).toEqual([
      ['repo', 'claude-opus-5-0'],
      ['user', 'claude-opus-4-8'],
    ]);
    expect((await desk.run(['config', 'get', ...whose, '--key', 'model'])).out).toBe('claude-opus-5-0\n');
    expect((await desk.run(['config', 'get', ...whose, '--key', 'model', '--scope', 'user'])).out).toBe(
      'claude-opus-4-8\n',
    );
  });

  test('a value that nobody set: exit 2, and the command that sets it', async () => {
    const { code, err } = await desk.run(['config', 'get', ...whose, '--key', 'effort']);
    expect(code).toBe(2);
    expect(err).toContain('partner config set');
  });

  test('resolve gives what a run would use, with its source', async () => {
    writeUser(identity());
    expect(JSON.parse((await desk.run(['config', 'resolve', ...whose, '--json'])).out)).toMatchObject({
      model: 'claude-opus-4-8',
      verified: true,
      source: 'user',
    });
  });

  test('what a run would reject: exit 2, the command that mends it, for the repository where it is another', async () => {
    desk.write('.partner/config.toml', identity('claude-opus-4-8', false));
    const inside = await desk.run(['config', 'resolve', ...whose]);
    expect(inside).toMatchObject({ code: 2, err: expect.stringContaining('partner verify --host codex') });
    const outside = await desk.run(['config', 'resolve', ...whose, '--repo', desk.repo], { cwd: desk.root });
    expect(outside.err).toContain(`partner verify --repo ${desk.repo} --host codex`);
    expect((await desk.run(['config', 'resolve', ...whose, '--allow-unverified'])).code).toBe(0);
  });

  test.each([
    ['a repository that is not there', 'no-such-folder', 'does not exist'],
    ['a file as repository', 'file.txt', 'is no folder'],
  ])('%s: exit 2', async (_, named, said) => {
    desk.write('file.txt', '');
    const { code, err } = await desk.run(['config', 'resolve', ...whose, '--repo', named]);
    expect(code).toBe(2);
    expect(err).toContain(said);
  });
});

describe('validate', () => {
  test('tells all problems of both files together, exit 2; a schema 1 file with how to upgrade', async () => {
    writeUser('schema_version = 1\n');
    desk.write('.partner/config.toml', identity().replace('"high"', '"huge"'));
    const { code, err } = await desk.run(['config', 'validate']);
    expect(code).toBe(2);
    expect(err).toContain('To upgrade: set schema_version = 2');
    expect(err).toMatch(/\.partner\/config\.toml:6: .*effort must be one of/);
  });

  test('tells which roles a run would serve', async () => {
    writeUser(identity());
    desk.write('.partner/config.toml', 'schema_version = 2\n[hosts.codex.identities.arbiter]\nbackend = "codex"\n');
    const { code, out } = await desk.run(['config', 'validate']);
    expect(code).toBe(0);
    expect(out).toContain('deep_reasoner on codex: claude-opus-4-8, high');
    expect(out).toMatch(/arbiter on codex: a run would be rejected\. .*lacks model, effort/);
  });
});

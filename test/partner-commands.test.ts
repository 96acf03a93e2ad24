// `partner check`, `packet init`, `doctor` and `verify` as processes of their own (spec: bounded-claude 1 and 2).

import { existsSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packetTemplate } from '../domain/bounded/packet-template.ts';
import { fixture, packet } from './support/bounded.ts';
import { scriptedCli } from './support/bounded-attempt.ts';
import { createDesk, identity, madeSecret, whose, type Desk } from './support/partner.ts';

let desk: Desk;
beforeAll(() => {
  desk = createDesk();
});
afterAll(() => desk.remove());

describe('partner check (spec: bounded-claude 1)', () => {
  test('spec: bounded-claude 1.4: a valid packet: exit 0, its characters and what is left', async () => {
    const file = desk.write('good.md', packet());
    const { code, out } = await desk.run(['check', file]);
    expect(code).toBe(0);
    expect(out).toContain(`${packet().length} characters, ${24_000 - packet().length} left`);
  });

  test('an invalid one: exit 2, all problems together, each with file and line, a secret is never shown', async () => {
    const secret = madeSecret();
    const text = packet({ Goal: '<!-- later -->', Truncation: 'present:' }).replace(
      'Text of Constraints.',
      `token ${secret}`,
    );
    const { code, out, err } = await desk.run(['check', desk.write('bad.md', text)]);
    expect(code).toBe(2);
    expect(err).toMatch(/bad\.md:3: Section `Goal` is empty/);
    expect(err).toMatch(/bad\.md:\d+: `present:` alone/);
    expect(err).toMatch(/bad\.md:13: There is text that looks like a secret/);
    expect(out + err).not.toContain(secret);
  });

  test('--json tells the same for programs', async () => {
    const good = await desk.run(['check', '--json', desk.write('good.md', packet())]);
    expect(JSON.parse(good.out)).toMatchObject({ ok: true, characters: packet().length });
    const bad = await desk.run(['check', '--json', desk.write('empty.md', '')]);
    expect(bad.code).toBe(2);
    expect(JSON.parse(bad.out)).toMatchObject({
      type: 'rejected',
      problems: expect.arrayContaining([expect.objectContaining({ code: 'title' })]),
    });
  });

  test.each([
    ['a file that is not there', 'no-such.md', 'does not exist'],
    ['a folder', '.', 'is a folder'],
  ])('%s: exit 2 and what to do', async (_, file, said) => {
    const { code, err } = await desk.run(['check', file]);
    expect(code).toBe(2);
    expect(err).toContain(said);
  });

  test('a file far too long is not read to its end', async () => {
    const long = desk.write('long.md', '');
    truncateSync(long, 2 ** 40); // a terabyte of nothing on disk
    const { code, err } = await desk.run(['check', long]);
    expect(code).toBe(2);
    expect(err).toContain('more than 24000 characters');
  });

  test('bytes that are not UTF-8 are named with their line', async () => {
    const { code, err } = await desk.run([
      'check',
      desk.write('latin.md', fixture('packets/extra/19-invalid-utf8.md')),
    ]);
    expect(code).toBe(2);
    expect(err).toMatch(/latin\.md:\d+: .*not UTF-8/);
  });

  test('the limit may be lowered, never raised', async () => {
    const file = desk.write('good.md', packet());
    const lower = await desk.run(['check', file, '--max-input-chars', '100']);
    expect(lower).toMatchObject({ code: 2, err: expect.stringContaining('at most 100 are allowed') });
    const long = desk.write('long.md', packet({ Goal: 'x'.repeat(24_000) }));
    const higher = await desk.run(['check', long, '--max-input-chars', '99999']);
    expect(higher).toMatchObject({ code: 2, err: expect.stringContaining('at most 24000 are allowed') });
  });
});

describe('partner packet init (spec: bounded-claude 1)', () => {
  test('writes the template into .partner/handoffs/ of the repository around the working folder', async () => {
    const inner = path.join(desk.repo, 'src/deep');
    mkdirSync(inner, { recursive: true });
    const { code, out } = await desk.run(['packet', 'init'], { cwd: inner });
    expect(code).toBe(0);
    const [name = ''] = readdirSync(path.join(desk.repo, '.partner/handoffs'));
    expect(out).toContain(path.join(desk.repo, '.partner/handoffs', name));
    expect(readFileSync(path.join(desk.repo, '.partner/handoffs', name), 'utf8')).toBe(packetTemplate());
  });

  test('never overwrites: exit 2, the file as it was', async () => {
    const file = desk.write('mine.md', 'mine');
    const { code, err } = await desk.run(['packet', 'init', file]);
    expect(code).toBe(2);
    expect(err).toContain('exists already');
    expect(readFileSync(file, 'utf8')).toBe('mine');
  });

  test('spec: bounded-claude 1.4: a template that nobody filled is rejected by check', async () => {
    await desk.run(['packet', 'init', 'fresh.md']);
    const { code, err } = await desk.run(['check', 'fresh.md']);
    expect(code).toBe(2);
    expect(err.match(/is empty/g)).toHaveLength(7);
  });
});

describe('partner doctor (spec: bounded-claude 1)', () => {
  test('spec: bounded-claude 1.6: nothing there: exit 1, each line says how to mend it, and nothing is written', async () => {
    const bare = createDesk({ PATH: path.dirname(process.execPath) });
    const { code, out } = await bare.run(['doctor']);
    expect(code).toBe(1);
    expect(out).toMatch(/^fail +claude .*PARTNER_CLAUDE_BIN/m);
    expect(out).toMatch(/^fail +login .*\/login/m);
    expect(out).toMatch(/^ok +stack .*"partner plan" starts one/m);
    expect(existsSync(bare.dataDir)).toBe(false);
    bare.remove();
  });

  test('a login is found without being shown', async () => {
    const secret = madeSecret();
    const env = { PARTNER_CLAUDE_BIN: scriptedCli, ANTHROPIC_API_KEY: secret, PLANNER_PORT: '0' };
    const { code, out, err } = await desk.run(['doctor'], { env });
    expect(out).toMatch(/^ok +claude .*2\.1\.332/m);
    expect(out).toMatch(/^ok +login +ANTHROPIC_API_KEY is set/m);
    expect(out + err).not.toContain(secret);
    expect(code).toBe(0);
    writeFileSync(path.join(desk.home, 'creds'), '');
    mkdirSync(path.join(desk.home, '.claude'), { recursive: true });
    writeFileSync(path.join(desk.home, '.claude/.credentials.json'), secret);
    const stored = await desk.run(['doctor', '--json'], { env: { PARTNER_CLAUDE_BIN: scriptedCli } });
    const { items } = JSON.parse(stored.out) as { items: { what: string; mark: string }[] };
    expect(items.find(({ what }) => what === 'login')).toMatchObject({ mark: 'ok' });
    expect(stored.out).not.toContain(secret);
  });

  test('an engine and a database that do not answer are named, the password is not', async () => {
    const env = { TEMPORAL_ADDRESS: '127.0.0.1:9', DATABASE_URL: 'postgres://me:hidden@127.0.0.1:9/none' };
    const { code, out } = await desk.run(['doctor'], { env });
    expect(code).toBe(1);
    expect(out).toMatch(/^fail +engine .*127\.0\.0\.1:9/m);
    expect(out).toMatch(/^fail +database .*127\.0\.0\.1:9/m);
    expect(out).not.toContain('hidden');
  });
});

describe('partner verify (spec: bounded-claude 3)', () => {
  let own: Desk;
  const modes = (mode: string): NodeJS.ProcessEnv => {
    writeFileSync(path.join(own.home, 'scripted-claude.json'), JSON.stringify({ modes: [mode] }));
    return { PARTNER_CLAUDE_BIN: scriptedCli };
  };
  const starts = (): boolean => existsSync(path.join(own.home, 'scripted-claude.log'));
  beforeAll(() => {
    own = createDesk();
    own.write('.partner/config.toml', `# ours\n${identity('claude-opus-4-8', false)}`);
  });
  afterAll(() => own.remove());

  test('says that it is paid; where nobody can agree it asks nothing, exit 2', async () => {
    const { code, err } = await own.run(['verify', ...whose], { env: modes('success') });
    expect(code).toBe(2);
    expect(err).toMatch(/It is paid: at most about 0\.5 USD[^]*--yes/);
    expect(starts()).toBe(false);
  });

  test.each([
    [
      'a role that is not configured',
      ['verify', '--host', 'codex', '--role', 'arbiter', '--yes'],
      'partner config set --host codex --role arbiter',
    ],
    ['a role that is not known', ['verify', '--host', 'codex', '--role', 'boss', '--yes'], 'Allowed choices are'],
  ])('%s: exit 2, and the command that mends it', async (_, args, said) => {
    const { code, err } = await own.run(args, { env: modes('success') });
    expect(code).toBe(2);
    expect(err).toContain(said);
    expect(starts()).toBe(false);
  });

  test('the demo CLI verifies nothing', async () => {
    const demo = fileURLToPath(new URL('../claude/demo-cli.mjs', import.meta.url));
    const { code, err } = await own.run(['verify', ...whose, '--yes'], { env: { PARTNER_CLAUDE_BIN: demo } });
    expect(code).toBe(2);
    expect(err).toContain('demo');
    expect(readFileSync(own.repoConfig, 'utf8')).toContain('verified = false');
  });

  test('another model answers: exit 4, the kind, and the file stays as it was', async () => {
    const before = readFileSync(own.repoConfig, 'utf8');
    const { code, out } = await own.run(['verify', ...whose, '--yes'], { env: modes('wrong-model') });
    expect(code).toBe(4);
    expect(out).toContain('identity_mismatch');
    expect(readFileSync(own.repoConfig, 'utf8')).toBe(before);
  });

  test('spec: bounded-claude 3.7: the configured one answers: exit 0, verified and when in the file that names it, comments kept', async () => {
    const { code, out } = await own.run(['verify', ...whose, '--yes'], { env: modes('success') });
    expect(code).toBe(0);
    expect(out).toContain('Verified: deep_reasoner on codex is claude-opus-4-8, high');
    expect(readFileSync(own.repoConfig, 'utf8')).toMatch(/^# ours\n[^]*verified = true\nverified_at = "\d{4}-/);
    expect((await own.run(['config', 'resolve', ...whose])).code).toBe(0);
  });
});

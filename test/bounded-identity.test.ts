// Identities from two layers of TOML (spec: bounded-claude 3).

import { describe, expect, test } from 'vitest';
import { setIdentity } from '../domain/bounded/identity-file.ts';
import {
  efforts,
  parseIdentities,
  resolveIdentity,
  type IdentityFields,
  type IdentityProblem,
} from '../domain/bounded/identity.ts';

const toml = (fields: Record<string, string | boolean | undefined>, host = 'codex', role = 'deep_reasoner'): string =>
  `schema_version = 2\nrevision = 0\n\n[hosts.${host}.identities.${role}]\n`
  + Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`)
    .join('');

const whole = { backend: 'claude', model: 'claude-opus-4-8', effort: 'xhigh' };
const verified = { ...whole, verified: true, verified_at: '2026-11-30T10:00:00Z' };
const repoPath = '.partner/config.toml';
const userPath = '~/.config/partner/config.toml';

function resolve(layers: { repo?: string; user?: string }, allowUnverified = false) {
  const files = {
    ...(layers.repo === undefined ? {} : { repo: { path: repoPath, text: layers.repo } }),
    ...(layers.user === undefined ? {} : { user: { path: userPath, text: layers.user } }),
  };
  return resolveIdentity(files, 'codex', 'deep_reasoner', { allowUnverified });
}

function problems(layers: { repo?: string; user?: string }, allowUnverified = false): IdentityProblem[] {
  const resolved = resolve(layers, allowUnverified);
  return resolved.ok ? [] : resolved.problems;
}

const problemsOf = (text: string): IdentityProblem[] => {
  const parsed = parseIdentities({ path: repoPath, text });
  return parsed.ok ? [] : parsed.problems;
};

describe('spec: bounded-claude 3.1: layers', () => {
  test('one file is enough, and the source is said', () => {
    const identity = {
      backend: 'claude', model: 'claude-opus-4-8', effort: 'xhigh', verified: true, verified_at: '2026-11-30T10:00:00Z',
    };
    expect(resolve({ user: toml(verified) })).toEqual({ ok: true, identity: { ...identity, source: 'user' } });
    expect(resolve({ repo: toml(verified) })).toEqual({ ok: true, identity: { ...identity, source: 'repo' } });
  });
  test('the repository lies over the user, field by field', () => {
    const resolved = resolve({ user: toml(verified), repo: toml({ effort: 'low' }) }, true);
    expect(resolved).toMatchObject(
      { ok: true, identity: { model: 'claude-opus-4-8', effort: 'low', source: 'repo over user' } },
    );
  });
  test.each(
    [
      { effort: 'low' }, { model: 'claude-opus-5' }, { effort: 'low', verified: true },
      { model: 'claude-opus-5', effort: 'low', verified: true },
    ],
  )(
    'spec: bounded-claude 3.2: a layer that changes the identity drops the verification it inherits, and its own counts only with all three: %j',
    (repo) => {
      expect(problems({ user: toml(verified), repo: toml(repo) })).toMatchObject([{ code: 'unverified' }]);
    },
  );
  test('a layer that repeats the identity, or names nothing, keeps it', () => {
    for (const repo of [whole, { effort: 'xhigh' }, {}]) {
      expect(
        resolve({ user: toml(verified), repo: toml(repo) }),
      ).toMatchObject({ ok: true, identity: { verified: true } });
    }
  });
  test('its own verification counts where it names backend, model and effort itself', () => {
    const repo = toml({ ...whole, effort: 'low', verified: true, verified_at: '2026-12-01' });
    expect(resolve({ user: toml(verified), repo })).toMatchObject(
      { ok: true, identity: { verified: true, verified_at: '2026-12-01' } },
    );
  });
  test('`verified = true` of one incomplete file does not count', () => {
    expect(
      problems(
        { user: toml({ backend: 'claude', verified: true }), repo: toml({ model: 'claude-opus-4-8', effort: 'low' }) },
      ),
    )
      .toMatchObject([{ code: 'unverified' }]);
  });
  test('`verified = false` withdraws', () => {
    expect(problems({ user: toml(verified), repo: toml({ verified: false }) })).toMatchObject([{ code: 'unverified' }]);
  });
  test('another host and another role are other identities', () => {
    expect(problems({ repo: toml(verified, 'claude_code') })).toMatchObject([{ code: 'missing' }]);
    expect(problems({ repo: toml(verified, 'codex', 'arbiter') })).toMatchObject([{ code: 'missing' }]);
  });
});

describe('spec: bounded-claude 3.3: rejections name the command that mends them', () => {
  test.each([
    [
      'missing', {},
      'partner config set --host codex --role deep_reasoner --backend claude --model MODEL --effort EFFORT',
    ],
    [
      'incomplete', { repo: toml({ backend: 'claude', model: 'claude-opus-4-8' }) },
      'partner config set --host codex --role deep_reasoner --effort EFFORT',
    ],
    ['backend', { repo: toml({ ...whole, backend: 'codex' }) }, 'partner config set --host codex'],
    ['unverified', { repo: toml(whole) }, 'partner verify --host codex --role deep_reasoner'],
  ])('%s', (code, layers, command) => {
    const found = problems(layers);
    expect(found).toMatchObject([{ code }]);
    expect(found[0]?.message).toContain(command);
  });
  test('unverified is allowed only when asked for, and stays said', () => {
    expect(resolve({ repo: toml(whole) }, true)).toMatchObject(
      { ok: true, identity: { verified: false, verified_at: null } },
    );
  });
  test.each(
    [
      'opus', 'sonnet', 'haiku', 'default', 'opusplan', 'opus[1m]', 'claude-opus-latest', 'claude-3-5-sonnet-latest',
      'claude-opus',
    ],
  )(
    'spec: bounded-claude 3.6: alias %s: a full name is asked for',
    (model) => {
      expect(problems({ repo: toml({ ...verified, model }) })).toMatchObject([{ code: 'alias' }]);
    },
  );
  test.each(
    ['claude-opus-4-8', 'claude-opus-4-8[1m]', 'claude-haiku-4-5-20251001', 'us.anthropic.claude-opus-4-8-v1:0'],
  )('full name %s', (model) => {
    expect(resolve({ repo: toml({ ...verified, model }) })).toMatchObject({ ok: true, identity: { model } });
  });
  test('spec: bounded-claude 3.6: effort is one of five; the CLI would only warn', () => {
    for (const effort of efforts) expect(problemsOf(toml({ ...whole, effort }))).toEqual([]);
    expect(problemsOf(toml({ ...whole, effort: 'ultra' }))).toMatchObject([
      { code: 'value', line: 7, message: expect.stringContaining('one of low, medium, high, xhigh, max') },
    ]);
  });
  test('all wrong values are told together, with file and line', () => {
    const text = toml({ backend: 'gpt', model: '', effort: 'x', verified: 'yes' });
    expect(problemsOf(text).map(({ line }) => line)).toEqual([8, 5, 6, 7]);
    expect(problemsOf(text)[0]?.message).toContain(`${repoPath}:8`);
  });
  test('spec: bounded-claude 3.8: a parse error names line and column', () => {
    expect(problemsOf('schema_version = 2\n[hosts\nx = 1')).toMatchObject(
      [{ code: 'toml', line: 2, column: expect.any(Number) }],
    );
    expect(problemsOf('a = 1\nb = "x')[0]?.message).toMatch(/config\.toml:2:\d+ is no valid TOML/);
  });
  test('spec: bounded-claude 3.4: schema 1 is rejected with how to upgrade, also by its tables alone', () => {
    for (const text of [
      'schema_version = 1\n', 'schema_version = 2\n[hosts.codex.roles.deep_reasoner]\nmodel = "x"\n',
    ]) {
      expect(problemsOf(text)).toMatchObject(
        [{ code: 'schema', message: expect.stringContaining('To upgrade: set schema_version = 2') }],
      );
    }
  });
  test('no schema and an unknown one are rejected; an empty file is none', () => {
    expect(problemsOf('[routing]\nx = 1\n')).toMatchObject([{ code: 'schema' }]);
    expect(problemsOf('schema_version = 3\n')).toMatchObject([{ code: 'schema', line: 1 }]);
    expect(problemsOf('')).toEqual([]);
  });
  test('a broken file is told even when the other would do', () => {
    expect(problems({ repo: 'x', user: toml(verified) })).toMatchObject([{ code: 'toml', path: repoPath }]);
  });
});

describe('spec: bounded-claude 3.9: a rewrite', () => {
  const set = (text: string, change: IdentityFields): string =>
    setIdentity({ path: repoPath, text }, 'codex', 'deep_reasoner', change);

  test('makes a file out of nothing', () => {
    expect(set('', { backend: 'claude', model: 'claude-opus-4-8', effort: 'xhigh' })).toBe(toml(whole));
  });
  test('spec: bounded-claude 3.7: drops `verified` when the identity changes, keeps it when it does not', () => {
    expect(set(toml(verified), { effort: 'low' })).toBe(toml({ ...whole, effort: 'low' }));
    expect(set(toml(verified), { effort: 'xhigh' })).toBe(toml(verified));
    expect(set(toml(whole), { verified: true, verified_at: '2026-11-30T10:00:00Z' })).toBe(toml(verified));
  });
  test('spec: bounded-claude 3.9: leaves unknown sections, keys, comments, order and line ends alone', () => {
    const text = ['# ours', 'schema_version = 2', '', '[routing]', 'always_on_host_rules = false # keep', '',
      '[ hosts . codex . "identities" . deep_reasoner ] # main', 'permission_mode = "default"',
      "model = 'claude-opus-4-8' # why",
      'effort = "low"', '# end', '', '[[plugins]]', 'name = "x"', ''].join('\r\n');
    const result = set(text, { backend: 'claude', model: 'claude-opus-5-1' });
    expect(result).toBe(text.replace("'claude-opus-4-8' # why", '"claude-opus-5-1" # why')
      .replace('effort = "low"', 'effort = "low"\r\nbackend = "claude"'));
  });
  test('refuses an alias, a broken file, schema 1, and forms it cannot rewrite safely', () => {
    expect(() => set(toml(whole), { model: 'opus' })).toThrow(/alias/);
    expect(() => set('x', { effort: 'low' })).toThrow(/TOML/);
    expect(() => set('schema_version = 1', { effort: 'low' })).toThrow(/upgrade/);
    const inline = 'schema_version = 2\nhosts = { codex = { identities = { deep_reasoner = { effort = "low" } } } }\n';
    expect(() => set(inline, { effort: 'high' })).toThrow(/Write it as a table/);
  });
  test('what was set is what is resolved', () => {
    const text = set(set('', { backend: 'claude', model: 'claude-opus-4-8', effort: 'max' }), { verified: true });
    expect(resolve({ repo: text })).toMatchObject({ ok: true, identity: { effort: 'max', verified: true } });
  });
});

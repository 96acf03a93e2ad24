// Configuration: planner.toml, the environment, sources, refusals (spec: planner 13).

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { configEnvironment, describeConfig, loadConfig } from '../config/index.ts';
import { settings, type Setting } from '../config/settings.ts';

describe('spec: planner 13: configuration', () => {
  let home = '';
  const load = (file: string, env: Record<string, string> = {}) => {
    writeFileSync(path.join(home, 'planner.toml'), file);
    return loadConfig({ PLANNER_DATA_DIR: home, ...env });
  };
  const row = (config: ReturnType<typeof loadConfig>, key: string) =>
    describeConfig(config).find((entry) => entry.key === key);

  beforeEach(() => {
    home = mkdtempSync(path.join(tmpdir(), 'planner-config-'));
  });
  afterEach(() => rmSync(home, { recursive: true }));

  test('spec: planner 13.2: without a file and without variables, the defaults of the specification hold', () => {
    const config = loadConfig({ PLANNER_DATA_DIR: home });
    expect(config.planner).toEqual({
      maxTokens: 8192,
      maxRounds: 20,
      skill: 'planner',
      compactAtTokens: 100_000,
      maxToolOutputChars: 60_000,
    });
    expect(config.limits).toMatchObject({ callTimeoutMs: 600_000, silentStreamMs: 120_000 });
    expect(config.server.port).toBe(8787);
    expect(config.model).toEqual({ baseUrl: '', apiKey: '', name: 'demo-planner', demo: true });
    expect(loadConfig({}).dataDir).toBe(path.resolve('.planner'));
  });

  test('spec: planner 13.1: the file sets values, the environment overrides them, and each value names its source', () => {
    const config = load('[planner]\nmax_rounds = 3\nmax_tokens = 100\n', { PLANNER_MAX_ROUNDS: '5' });
    expect(config.planner).toMatchObject({ maxRounds: 5, maxTokens: 100 });
    expect(row(config, 'planner.max_rounds')).toMatchObject({ value: '5', source: 'PLANNER_MAX_ROUNDS' });
    expect(row(config, 'planner.max_tokens')).toMatchObject({ value: '100', source: path.join(home, 'planner.toml') });
    expect(row(config, 'server.port')).toMatchObject({ value: '8787', source: 'default' });
  });

  test('spec: planner 13.5: an unknown key is an error that names the nearest known one', () => {
    expect(() => load('[planner]\nmax_round = 3\n')).toThrow(/planner\.max_round .*did you mean planner\.max_rounds\?/);
    expect(() => load('[sever]\nport = 3\n')).toThrow(/\[sever\].*did you mean \[server\]\?/);
    expect(() => load('port = 3\n')).toThrow(/did you mean server\.port\?/);
    const key = () => load('[model]\napi_kei = "sk-very-secret"\n');
    expect(key).toThrow(/model\.api_kei .*did you mean PLANNER_MODEL_API_KEY in the environment\?/);
    expect(key).not.toThrow(/very-secret/);
    expect(() => load('[budgets]\nmoney = 3\n')).toThrow(/budgets\.money .*known are budgets\.daily_tokens/);
    expect(() => load('[something]\nelse = 3\n')).toThrow(/\[something\] .*known are .*\[planner\]/);
  });

  test('the README names every setting that may stand in the file', () => {
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
    const names = settings.filter((setting: Setting) => !setting.environmentOnly).map(({ key }) => key.split('.')[1]!);
    expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(readme))).toEqual([]);
  });

  test('several problems are reported together, each with its source', () => {
    const wrong = () => load('[server]\nport = "x"\n[planner]\nskil = "a"\n', { PLANNER_MAX_ROUNDS: '-1' });
    expect(wrong).toThrow(/server\.port \(from .*planner\.toml\) must be a whole number from 0 to 65535, not "x"/);
    expect(wrong).toThrow(/did you mean planner\.skill\?/);
    expect(wrong).toThrow(/planner\.max_rounds \(from PLANNER_MAX_ROUNDS\) must be a whole number.*not "-1"/);
  });

  test('a file that is no TOML is refused with the line', () => {
    expect(() => load('[server]\nport = = 1\n')).toThrow(/planner\.toml can't be read at line 2/);
  });

  test('spec: planner 13.2: api_key in the file is refused without being printed', () => {
    const wrong = () => load('[model]\napi_key = "sk-very-secret"\n');
    expect(wrong).toThrow(/model\.api_key may not stand in .*PLANNER_MODEL_API_KEY/);
    expect(wrong).not.toThrow(/very-secret/);
    const broken = () => load('', { PLANNER_MODEL: 'm', PLANNER_MODEL_API_KEY: 'sk very-secret' });
    expect(broken).toThrow(/model\.api_key \(from PLANNER_MODEL_API_KEY\) must be a key without spaces/);
    expect(broken).not.toThrow(/very-secret/);
  });

  test('the key is shown only as a fingerprint, a database password not at all', () => {
    const config = load('', {
      PLANNER_MODEL: 'm',
      PLANNER_MODEL_API_KEY: 'sk-very-secret',
      PLANNER_MODEL_BASE_URL: 'https://host/v1?api-key=hidden-too',
      DATABASE_URL: 'postgres://me:hidden@127.0.0.1:1/x?sslmode=require&password=hidden',
    });
    const shown = JSON.stringify(describeConfig(config));
    expect(shown).not.toContain('very-secret');
    expect(shown).not.toContain('hidden');
    expect(shown).toContain('sslmode=require');
    expect(row(config, 'model.api_key')?.value).toMatch(/^sha256:[0-9a-f]{8}$/);
  });

  test('a key without an address means the public endpoint; an endpoint without a model is refused', () => {
    expect(load('', { PLANNER_MODEL: 'm', PLANNER_MODEL_API_KEY: 'k' }).model).toEqual({
      baseUrl: 'https://api.openai.com/v1',
      apiKey: 'k',
      name: 'm',
      demo: false,
    });
    expect(() => load('', { PLANNER_MODEL_BASE_URL: 'http://127.0.0.1:1/v1' })).toThrow(/PLANNER_MODEL\b.*missing/);
    expect(() => load('', { PLANNER_MODEL: 'm' })).toThrow(/PLANNER_MODEL_BASE_URL/);
  });

  test('a child process that gets the settings as environment has the same ones without the file', () => {
    const config = load('[planner]\nmax_rounds = 3\nmodel = "m"\n[model]\nbase_url = "http://127.0.0.1:1/v1"\n');
    rmSync(path.join(home, 'planner.toml'));
    const child = loadConfig(configEnvironment(config));
    expect({ ...child, settled: 0 }).toEqual({ ...config, settled: 0 });
  });

  describe('[models.<name>] and [budgets]', () => {
    const file = [
      '[budgets]', 'daily_tokens = 1000', '[models."gpt-4.1"]', 'window = 1000000',
      'prices = { input = 2, output = 8.5, cache_read = 0.5 }', '[models.small]', 'window = 8000',
    ].join('\n');

    test('spec: planner 13.3: windows and prices by names that the operator chooses, shown with their source', () => {
      const config = load(file);
      expect(config.dailyTokens).toBe(1_000);
      expect(Object.fromEntries(config.models)).toEqual({
        'gpt-4.1': { window: 1_000_000, prices: { input: 2, output: 8.5, cache_read: 0.5 } },
        small: { window: 8_000 },
      });
      const source = path.join(home, 'planner.toml');
      expect(row(config, 'models.gpt-4.1.prices.output')).toEqual({ key: 'models.gpt-4.1.prices.output', value: '8.5', source });
      expect(row(config, 'models.small.window')).toMatchObject({ value: '8000', source });
    });

    test('PLANNER_MODELS overrides those that it names, and a child process gets all of them', () => {
      const config = load(file, { PLANNER_MODELS: '{"small": {"window": 9000}}', PLANNER_DAILY_TOKENS: '7' });
      expect(config.models.get('small')).toEqual({ window: 9_000 });
      expect(row(config, 'models.small.window')).toMatchObject({ value: '9000', source: 'PLANNER_MODELS' });
      expect(config.dailyTokens).toBe(7);
      rmSync(path.join(home, 'planner.toml'));
      const child = loadConfig(configEnvironment(config));
      expect(child.models).toEqual(config.models);
    });

    test.each([
      ['[models.m]\nwindows = 1\n', /models\.m\.windows .*did you mean models\.m\.window\?/],
      ['[models.m]\nwindow = -1\n', /models\.m\.window .*must be a whole number of tokens, at least 1; not -1/],
      ['[models.m]\nprices = { input = 1 }\n', /models\.m\.prices\.output .*must be USD per million.*it is missing/],
      ['[models.m]\nprices = { input = 1, output = "x" }\n', /models\.m\.prices\.output .*not "x"/],
      ['[models.gpt-4.1]\nwindow = 1\n', /models\.gpt-4\.1 .*A name with dots stands in quotes/],
      ['models = 3\n', /models .*must be a table of models/],
      ['[modles.m]\nwindow = 1\n', /\[modles\].*did you mean \[models\]\?/],
    ])('%j is refused', (wrong, complaint) => {
      expect(() => load(wrong)).toThrow(complaint);
    });

    test('PLANNER_MODELS that is no JSON is refused', () => {
      expect(() => load('', { PLANNER_MODELS: 'window=1' })).toThrow(/PLANNER_MODELS must be a JSON object/);
    });
  });

  test('sealing keys come from the environment alone, are shown as fingerprints, and a broken one is not printed', () => {
    const [one, two] = ['a', 'b'].map((letter) => Buffer.alloc(32, letter).toString('base64')) as [string, string];
    const config = load('', { PLANNER_SECRET_KEY: one, PLANNER_SECRET_KEYS_OLD: `${two},${two}` });
    expect(config.secretKeys).toEqual([one, two, two]);
    expect(JSON.stringify(describeConfig(config))).not.toContain(one);
    expect(row(config, 'secrets.key')?.value).toMatch(/^sha256:/);
    expect(() => load(`[secrets]\nkey = "${one}"\n`)).toThrow(/secrets\.key|\[secrets\]/);
    const broken = () => load('', { PLANNER_SECRET_KEY: 'not-32-bytes' });
    expect(broken).toThrow(/secrets\.key \(from PLANNER_SECRET_KEY\) must be base64 of 32 random bytes/);
    expect(broken).not.toThrow(/not-32-bytes/);
    expect(() => load('', { PLANNER_SECRET_KEYS_OLD: two })).toThrow(/PLANNER_SECRET_KEY\) is missing/);
  });

  test.each([
    ['PLANNER_MAX_ROUND', 'PLANNER_MAX_ROUNDS'],
    ['PLANNER_MODEL_URL', 'PLANNER_MODEL_BASE_URL'],
    ['PLANNER_API_KEY', 'PLANNER_MODEL_API_KEY'],
    ['PLANNER_MODEL_NAME', 'PLANNER_MODEL'],
    ['PLANNER_DATABASE_URL', 'DATABASE_URL'],
    ['PLANNER_TOOL_DIR', 'PLANNER_TOOLS_DIR'],
  ])('the mistyped variable %s is an error that names %s', (given, meant) => {
    expect(() => load('', { [given]: '4' })).toThrow(`${given} is not known; did you mean ${meant}?`);
  });

  test('variables that are read elsewhere are known; one that is like no known one is a warning', () => {
    const elsewhere = { PLANNER_TOOLS_DIR: 'x', PLANNER_ADDRESS: 'x', PLANNER_TOKEN: 'x', PLANNER_MACHINE: 'x' };
    expect(load('', { ...elsewhere, PLANNER_MODEL_DEMO: '1' }).warnings).toEqual([]);
    for (const name of ['PLANNER_HOME', 'PLANNER_FAVOURITE', 'PLANNER_X', 'PLANNER_']) {
      expect(load('', { [name]: '4' }).warnings).toEqual([`${name} is not known and is not used`]);
    }
  });

  test('with a key alone both the missing model and the missing endpoint are named', () => {
    const wrong = () => load('', { PLANNER_MODEL_API_KEY: 'k' });
    expect(wrong).toThrow(/PLANNER_MODEL\) is missing/);
    expect(wrong).toThrow(/PLANNER_MODEL_BASE_URL\) is missing/);
  });

  test('a data folder that is a file is refused', () => {
    writeFileSync(path.join(home, 'file'), '');
    const wrong = () => loadConfig({ PLANNER_DATA_DIR: path.join(home, 'file') });
    expect(wrong).toThrow(/server\.data_dir \(from PLANNER_DATA_DIR\) must be a folder; .*file is a file/);
  });

  test('an identity provider needs its issuer and our audience, both at safe addresses; the rest has defaults', () => {
    expect(load('').oidc).toBeUndefined();
    const config = load('[oidc]\nissuer = "https://id.example"\naudience = "planner"\nservice = "gty=a=b"\n');
    expect(config.oidc).toEqual({
      issuer: 'https://id.example',
      audience: 'planner',
      jwksUri: undefined,
      subjectClaim: 'sub',
      service: { claim: 'gty', value: 'a=b' },
    });
    expect(() => load('[oidc]\nissuer = "https://id.example"\n')).toThrow(/PLANNER_OIDC_AUDIENCE\) is missing/);
    expect(() => load('[oidc]\naudience = "planner"\n')).toThrow(/PLANNER_OIDC_ISSUER\) is missing/);
    for (const issuer of ['http://id.example', 'id.example', 'file:///x']) {
      expect(() => load('', { PLANNER_OIDC_ISSUER: issuer, PLANNER_OIDC_AUDIENCE: 'planner' })).toThrow(
        /oidc\.issuer .*must be an address that begins with https/,
      );
    }
    const local = { PLANNER_OIDC_ISSUER: 'http://127.0.0.1:9', PLANNER_OIDC_AUDIENCE: 'planner' };
    expect(load('', local).oidc?.issuer).toBe('http://127.0.0.1:9');
  });

  test('an empty variable counts as unset', () => {
    expect(load('', { PLANNER_PORT: '' }).server.port).toBe(8787);
  });
});

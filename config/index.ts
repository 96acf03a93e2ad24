// The configuration: planner.toml beside the data, overridden by the environment, each value with its source
// (spec: planner 13).

import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { invalid } from '../domain/errors.ts';
import { fingerprint } from '../domain/fingerprint.ts';
import type { ModelCatalog } from '../domain/models.ts';
import type { Level } from '../telemetry/log.ts';
import { addModels, addModelsText, modelRows, modelsVariable, type KnownModel } from './models.ts';
import { nearest } from './nearest.ts';
import { settings, type Key, type Setting, type Value } from './settings.ts';
import { toolsFolder } from './tools-folder.ts';
import { judgeVariables } from './variables.ts';

export interface Config {
  /** Absolute. */
  dataDir: string;
  model: {
    /** Empty for the demo model until the stack has started it. */
    baseUrl: string;
    /** Empty: the endpoint wants none. */
    apiKey: string;
    name: string;
    /** The built-in demo model answers. */
    demo: boolean;
  };
  server: { host: string; port: number; publicUrl: string | undefined };
  planner: {
    maxTokens: number;
    maxRounds: number;
    skill: string;
    compactAtTokens: number;
    maxToolOutputChars: number;
  };
  /** Milliseconds; per subject and minute, 0: no limit. */
  limits: { callTimeoutMs: number; silentStreamMs: number; sendsPerMinute: number; requestsPerMinute: number };
  /** The identity provider whose access tokens count; none: only the planner's own tokens. */
  oidc: OidcConfig | undefined;
  /** Base64; the first seals stored credentials, the others only open them. Empty: none can be stored. */
  secretKeys: readonly string[];
  /** Windows and prices, by the model's name. */
  models: ModelCatalog;
  /** Tokens a UTC day of an organization that sets none itself; 0: no limit. */
  dailyTokens: number;
  /** Where a worker serves its metrics; port 0: nowhere. */
  workerMetrics: { port: number; host: string };
  /** The endpoint that embeds texts for search; none: the local sentence model in the tools folder. */
  embeddings: { endpoint: { baseUrl: string; model: string; apiKey: string } | undefined; toolsDir: string };
  /** Of what processes log, the least level that is written. */
  logLevel: Level;
  databaseUrl: string | undefined;
  /** Of the parts that `npm start` starts itself; 0: a free one, kept from start to start. */
  embeddedPorts: { database: number; temporal: number; temporalUi: number };
  /** `versioning`: workers run under worker versioning; `planner deploy current` makes their version the one to use. */
  temporal: { address: string | undefined; namespace: string; ui: string | undefined; versioning: boolean };
  /** Variables of the environment that nothing reads; for the start to show. */
  warnings: readonly string[];
  settled: ReadonlyMap<Key, Settled>;
  knownModels: ReadonlyMap<string, KnownModel>;
}

export interface OidcConfig {
  issuer: string;
  audience: string;
  jwksUri: string | undefined;
  subjectClaim: string;
  service: { claim: string; value: string } | undefined;
}

export interface Settled {
  value: Value;
  source: Source;
}

/** `default`, the name of a variable, or the path of the file. */
export type Source = string;

type Environment = Readonly<Record<string, string | undefined>>;

export const demoModel = 'demo-planner';
const openai = 'https://api.openai.com/v1';
const file = 'planner.toml';

/**
 * Reads `planner.toml` of the data folder and the environment (an empty variable counts as unset). All problems are
 * reported together.
 * `folder`: the data folder where the environment names none.
 * @throws DomainError invalid_argument: names each wrong key and how to mend it; never a secret's value
 */
export function loadConfig(env: Environment = process.env, folder = '.planner'): Config {
  const variables = judgeVariables(env);
  const problems = [...variables.mistyped];
  const home = path.resolve(env['PLANNER_DATA_DIR'] || folder);
  if (statSync(home, { throwIfNoEntry: false })?.isDirectory() === false) {
    problems.push(`server.data_dir (from PLANNER_DATA_DIR) must be a folder; ${home} is a file`);
  }
  const found = path.join(home, file);
  const knownModels = new Map<string, KnownModel>();
  const fromFile = existsSync(found) ? readFile(found, knownModels, problems) : new Map<Key, unknown>();
  if (env[modelsVariable]) addModelsText(env[modelsVariable], knownModels, problems);
  const settled = new Map<Key, Settled>();
  for (const setting of settings) settled.set(setting.key, settle(setting, env, fromFile, found, problems));
  const config = assemble(settled, env, home, problems);
  if (settled.get('secrets.old_keys')?.value !== undefined && settled.get('secrets.key')?.value === undefined) {
    problems.push(
      'secrets.key (PLANNER_SECRET_KEY) is missing beside secrets.old_keys: name the key that seals from now on',
    );
  }
  const models = new Map([...knownModels].map(([name, { facts }]) => [name, facts]));
  if (problems.length > 0) throw invalid(['The configuration is wrong.', ...problems].join('\n- '));
  return { ...config, models, warnings: variables.unread, settled, knownModels };
}

/**
 * For commands that read only a few variables. Returns warnings: variables that nothing reads.
 * @throws DomainError invalid_argument: names each mistyped variable and the one that was meant
 */
export function checkVariables(env: Environment): readonly string[] {
  const { mistyped, unread } = judgeVariables(env);
  if (mistyped.length > 0) throw invalid(mistyped.join('\n'));
  return unread;
}

/** Rows for `planner config`. Secrets are shown as fingerprints, URLs without passwords; unset values as ''. */
export function describeConfig(config: Config): { key: string; value: string; source: Source }[] {
  const rows = settings.map((setting: Setting) => {
    const key = setting.key as Key;
    const { value, source } = config.settled.get(key) ?? { value: undefined, source: 'default' };
    return { key, value: show(setting, value), source };
  });
  return [...rows, ...modelRows(config.knownModels)];
}

/** The settings as environment variables, for child processes: they then need no file. Unset ones are left out. */
export function configEnvironment(config: Config): Record<string, string> {
  const env: Record<string, string> = {};
  for (const { key, variable } of settings) {
    const value = key === 'server.data_dir' ? config.dataDir : config.settled.get(key)?.value;
    if (value !== undefined) env[variable] = value === true ? '1' : value === false ? '0' : String(value);
  }
  if (config.models.size > 0) env[modelsVariable] = JSON.stringify(Object.fromEntries(config.models));
  return env;
}

function readFile(found: string, models: Map<string, KnownModel>, problems: string[]): Map<Key, unknown> {
  const values = new Map<Key, unknown>();
  let document: Record<string, unknown>;
  try {
    document = parse(readFileSync(found, 'utf8'));
  } catch (error) {
    const line = error instanceof TomlError ? ` at line ${error.line}` : '';
    problems.push(`${found} can't be read${line}: ${reason(error)}`);
    return values;
  }
  const inFile = settings.filter((setting: Setting) => !setting.environmentOnly);
  const known = new Map<string, Key>(inFile.map(({ key }) => [key, key]));
  for (const [section, content] of Object.entries(document)) {
    if (section === 'models') {
      addModels(content, found, models, problems);
      continue;
    }
    const table = isTable(content) ? content : undefined;
    if (table && ![...known.keys()].some((key) => key.startsWith(`${section}.`))) {
      const sections = new Set(['models', ...[...known.keys()].map((key) => key.split('.')[0] ?? '')]);
      problems.push(`[${section}] in ${found} is not known${meant(section, sections, (name) => `[${name}]`)}`);
      continue;
    }
    for (const name of table ? Object.keys(table) : []) {
      const key = known.get(`${section}.${name}`);
      if (key) values.set(key, table?.[name]);
      else problems.push(unknownKey(`${section}.${name}`, found));
    }
    if (!table) problems.push(unknownKey(section, found));
  }
  return values;
}

function unknownKey(key: string, found: string): string {
  const only = settings.find((setting) => setting.key === key);
  if (only) return `${key} may not stand in ${found}: remove it there and set ${only.variable} in the environment`;
  const names = settings.map((setting): string => setting.key);
  const last = key.split('.').at(-1);
  const sameName = names.find((name) => name.split('.')[1] === last);
  const inSection = names.filter((name) => name.startsWith(`${key.split('.')[0]}.`));
  const near = sameName ?? nearest(key, names);
  const candidates = near ? [near] : inSection.length > 0 ? inSection : names;
  return `${key} in ${found} is not known${meant(near ?? key, candidates, inWords)}`;
}

/** Where a setting is set. */
function inWords(key: string): string {
  const { variable, environmentOnly }: Setting = settings.find((setting) => setting.key === key)!;
  return environmentOnly ? `${variable} in the environment` : key;
}

/** The nearest of the known names; all of them where none is near. */
function meant(name: string, known: Iterable<string>, form: (name: string) => string): string {
  const names = [...known];
  const near = nearest(name, names);
  return near ? `; did you mean ${form(near)}?` : `; known are ${names.map(form).join(', ')}`;
}

function settle(
  setting: Setting,
  env: Environment,
  fromFile: ReadonlyMap<string, unknown>,
  found: string,
  problems: string[],
): Settled {
  const variable = env[setting.variable];
  const named = variable !== undefined && variable !== '';
  if (!named && !fromFile.has(setting.key)) return { value: setting.fallback, source: 'default' };
  const source = named ? setting.variable : found;
  const given = named ? fromText(setting, variable) : fromFile.get(setting.key);
  const parsed = setting.rule.safeParse(given);
  if (parsed.success) return { value: parsed.data, source };
  const but = setting.shown ? '' : `, not ${JSON.stringify(given)?.slice(0, 80)}`;
  problems.push(`${setting.key} (from ${source}) must be ${setting.wanted}${but}`);
  return { value: setting.fallback, source };
}

function fromText(setting: Setting, given: string): Value {
  const value = given.trim();
  if (setting.rule.def.type === 'number') return /^\d+$/.test(value) ? Number(value) : value;
  if (setting.rule.def.type === 'boolean') return value === '1' ? true : value === '0' ? false : value;
  return value;
}

function assemble(
  settled: Map<Key, Settled>,
  env: Environment,
  home: string,
  problems: string[],
): Omit<Config, 'models' | 'warnings' | 'settled' | 'knownModels'> {
  const text = (key: Key): string | undefined => settled.get(key)?.value as string | undefined;
  const number = (key: Key): number => Number(settled.get(key)?.value);
  const dataDir = settled.get('server.data_dir');
  return {
    dataDir: dataDir?.source.endsWith(file) ? path.resolve(home, String(dataDir.value)) : home,
    model: chooseModel(settled, problems),
    server: {
      host: text('server.host') ?? '',
      port: number('server.port'),
      publicUrl: text('server.public_url'),
    },
    planner: {
      maxTokens: number('planner.max_tokens'),
      maxRounds: number('planner.max_rounds'),
      skill: text('planner.skill') ?? '',
      compactAtTokens: number('planner.compact_at_tokens'),
      maxToolOutputChars: number('planner.max_tool_output_chars'),
    },
    limits: {
      callTimeoutMs: number('limits.call_timeout') * 1_000,
      silentStreamMs: number('limits.silent_stream') * 1_000,
      sendsPerMinute: number('limits.sends_per_minute'),
      requestsPerMinute: number('limits.requests_per_minute'),
    },
    oidc: chooseProvider(text, problems),
    secretKeys: [text('secrets.key'), text('secrets.old_keys')].flatMap((keys) => keys?.split(',') ?? []),
    dailyTokens: number('budgets.daily_tokens'),
    workerMetrics: { port: number('worker.metrics_port'), host: text('worker.metrics_host') ?? '' },
    embeddings: { endpoint: chooseEmbeddings(text, problems), toolsDir: toolsFolder(env) },
    logLevel: text('log.level') as Level,
    databaseUrl: text('database.url'),
    embeddedPorts: {
      database: number('database.port'),
      temporal: number('temporal.port'),
      temporalUi: number('temporal.ui_port'),
    },
    temporal: {
      address: text('temporal.address'),
      namespace: text('temporal.namespace') ?? '',
      ui: text('temporal.ui'),
      versioning: settled.get('temporal.versioning')?.value === true,
    },
  };
}

function chooseEmbeddings(
  text: (key: Key) => string | undefined,
  problems: string[],
): Config['embeddings']['endpoint'] {
  const [baseUrl, model, apiKey] = [text('embeddings.base_url'), text('embeddings.model'), text('embeddings.api_key')];
  if (!baseUrl && !model && !apiKey) return undefined;
  if (!model) problems.push('embeddings.model (PLANNER_EMBEDDINGS_MODEL) is missing: name the model that embeds texts');
  if (!baseUrl && !apiKey) {
    problems.push(
      'An endpoint for embeddings is missing: set PLANNER_EMBEDDINGS_BASE_URL, and PLANNER_EMBEDDINGS_API_KEY if it' +
        ' wants a key; or unset PLANNER_EMBEDDINGS_MODEL to use the local model',
    );
  }
  return { baseUrl: baseUrl || openai, model: model ?? '', apiKey: apiKey ?? '' };
}

function chooseProvider(text: (key: Key) => string | undefined, problems: string[]): OidcConfig | undefined {
  const [issuer, audience] = [text('oidc.issuer'), text('oidc.audience')];
  if (!issuer && !audience) return undefined;
  if (!issuer) problems.push('oidc.issuer (PLANNER_OIDC_ISSUER) is missing: name the identity provider');
  if (!audience) {
    problems.push(
      'oidc.audience (PLANNER_OIDC_AUDIENCE) is missing: name this API as tokens of the identity provider do, so that' +
        ' tokens for others do not count',
    );
  }
  const [claim = '', ...value] = text('oidc.service')?.split('=') ?? [];
  return {
    issuer: issuer ?? '',
    audience: audience ?? '',
    jwksUri: text('oidc.jwks_uri'),
    subjectClaim: text('oidc.subject_claim') ?? 'sub',
    service: claim ? { claim, value: value.join('=') } : undefined,
  };
}

/** Nothing about a model is set: the demo model. A key without an address means OpenAI's own endpoint. */
function chooseModel(settled: Map<Key, Settled>, problems: string[]): Config['model'] {
  const text = (key: Key): string => String(settled.get(key)?.value ?? '');
  const [baseUrl, apiKey, name] = [text('model.base_url'), text('model.api_key'), text('planner.model')];
  const demo = settled.get('model.demo')?.value;
  if (demo === true || (demo === undefined && !baseUrl && !apiKey && !name)) {
    return { baseUrl: demo ? baseUrl : '', apiKey: '', name: demoModel, demo: true };
  }
  if (!name) problems.push('planner.model (PLANNER_MODEL) is missing: name the model that the endpoint shall use');
  if (!name && !baseUrl) {
    problems.push(`model.base_url (PLANNER_MODEL_BASE_URL) is missing: name the endpoint, unless it is ${openai}`);
  }
  if (!baseUrl && !apiKey) {
    problems.push(
      'An endpoint is missing: set PLANNER_MODEL_BASE_URL, and PLANNER_MODEL_API_KEY if it wants a key; or unset' +
        ' PLANNER_MODEL to use the demo model',
    );
  }
  return { baseUrl: baseUrl || openai, apiKey, name, demo: false };
}

function show(setting: Setting, value: Value): string {
  if (value === undefined) return '';
  if (setting.shown === 'secret') return fingerprint(String(value));
  return setting.shown === 'url' ? withoutPassword(String(value)) : String(value);
}

/** A URL fit to be shown. */
export function withoutPassword(address: string): string {
  if (!URL.canParse(address)) return '(not a URL)';
  const url = new URL(address);
  if (url.password) url.password = '***';
  for (const name of [...url.searchParams.keys()]) {
    if (/key|token|secret|password|sig/i.test(name)) url.searchParams.set(name, '***');
  }
  return url.href;
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function reason(error: unknown): string {
  return error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
}

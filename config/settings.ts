// Every setting: its key in planner.toml, its environment variable, its rule and its default (spec: planner 13).

import { z } from 'zod';
import { isSafeAddress } from '../domain/address.ts';
import { levels } from '../telemetry/log.ts';

export type Value = string | number | boolean | undefined;

export interface Setting {
  /** `section.name` as in planner.toml; for settings of the environment alone it only names the row. */
  key: string;
  variable: string;
  rule: z.ZodType<Value>;
  /** What the rule wants, for messages: "must be ...". */
  wanted: string;
  fallback: Value;
  environmentOnly?: boolean;
  /** secret: shown as a fingerprint; url: shown without its password. */
  shown?: 'secret' | 'url';
}

const whole = (least: number, most: number): Pick<Setting, 'rule' | 'wanted'> => ({
  rule: z.int().min(least).max(most),
  wanted: `a whole number from ${least} to ${most}`,
});

const text = (pattern: RegExp, wanted: string): Pick<Setting, 'rule' | 'wanted'> => ({
  rule: z.string().max(2_000).regex(pattern),
  wanted,
});

/** Of a part that `npm start` starts itself; 0: a free one, kept from start to start. */
const embeddedPort = <const K extends string, const V extends string>(key: K, variable: V) =>
  ({ key, variable, ...whole(0, 65_535), fallback: 0, environmentOnly: true }) satisfies Setting;

const secretKey = /^[A-Za-z0-9+/]{43}=$/;
const secretKeys = /^[A-Za-z0-9+/]{43}=(?:,[A-Za-z0-9+/]{43}=)*$/;

const webAddress = { rule: z.url({ protocol: /^https?$/ }), wanted: 'an address that begins with http:// or https://' };

const safeAddress = {
  rule: z.string().max(2_000).refine(isSafeAddress),
  wanted: 'an address that begins with https:// (or http:// on this computer)',
};

export const settings = [
  { key: 'server.data_dir', variable: 'PLANNER_DATA_DIR', ...text(/\S/, 'a folder'), fallback: '.planner' },
  { key: 'server.port', variable: 'PLANNER_PORT', ...whole(0, 65_535), fallback: 8787 },
  {
    key: 'server.host',
    variable: 'PLANNER_HOST',
    ...text(/^[0-9A-Za-z.:-]+$/, 'an address to listen on, such as 127.0.0.1'),
    fallback: '127.0.0.1',
  },
  { key: 'server.public_url', variable: 'PLANNER_PUBLIC_URL', ...webAddress, fallback: undefined },
  { key: 'model.base_url', variable: 'PLANNER_MODEL_BASE_URL', ...webAddress, fallback: undefined, shown: 'url' },
  {
    key: 'model.api_key',
    variable: 'PLANNER_MODEL_API_KEY',
    ...text(/^[\x21-\x7e]+$/, 'a key without spaces or line breaks'),
    fallback: undefined,
    environmentOnly: true,
    shown: 'secret',
  },
  {
    key: 'secrets.key',
    variable: 'PLANNER_SECRET_KEY',
    ...text(secretKey, 'base64 of 32 random bytes, such as `openssl rand -base64 32` prints'),
    fallback: undefined,
    environmentOnly: true,
    shown: 'secret',
  },
  {
    key: 'secrets.old_keys',
    variable: 'PLANNER_SECRET_KEYS_OLD',
    ...text(secretKeys, 'former values of PLANNER_SECRET_KEY, with commas between'),
    fallback: undefined,
    environmentOnly: true,
    shown: 'secret',
  },
  {
    key: 'model.demo',
    variable: 'PLANNER_MODEL_DEMO',
    rule: z.boolean(),
    wanted: '1 or 0',
    fallback: undefined,
    environmentOnly: true,
  },
  { key: 'planner.model', variable: 'PLANNER_MODEL', ...text(/\S/, 'the name of a model'), fallback: undefined },
  { key: 'planner.max_tokens', variable: 'PLANNER_MAX_TOKENS', ...whole(1, 1_000_000), fallback: 8192 },
  { key: 'planner.max_rounds', variable: 'PLANNER_MAX_ROUNDS', ...whole(1, 200), fallback: 20 },
  {
    key: 'planner.skill',
    variable: 'PLANNER_SKILL',
    ...text(/^[a-z][a-z0-9-]{1,63}$/, '2-64 of a-z, 0-9 and -, starting with a letter'),
    fallback: 'planner',
  },
  {
    key: 'planner.compact_at_tokens',
    variable: 'PLANNER_COMPACT_AT_TOKENS',
    ...whole(0, 100_000_000),
    fallback: 100_000,
  },
  {
    key: 'planner.max_tool_output_chars',
    variable: 'PLANNER_MAX_TOOL_OUTPUT_CHARS',
    ...whole(200, 10_000_000),
    fallback: 60_000,
  },
  {
    key: 'embeddings.base_url',
    variable: 'PLANNER_EMBEDDINGS_BASE_URL',
    ...webAddress,
    fallback: undefined,
    shown: 'url',
  },
  {
    key: 'embeddings.model',
    variable: 'PLANNER_EMBEDDINGS_MODEL',
    ...text(/\S/, 'the name of an embedding model'),
    fallback: undefined,
  },
  {
    key: 'embeddings.api_key',
    variable: 'PLANNER_EMBEDDINGS_API_KEY',
    ...text(/^[\x21-\x7e]+$/, 'a key without spaces or line breaks'),
    fallback: undefined,
    environmentOnly: true,
    shown: 'secret',
  },
  { key: 'budgets.daily_tokens', variable: 'PLANNER_DAILY_TOKENS', ...whole(0, 1_000_000_000_000), fallback: 0 },
  { key: 'worker.metrics_port', variable: 'PLANNER_METRICS_PORT', ...whole(0, 65_535), fallback: 0 },
  {
    key: 'worker.metrics_host',
    variable: 'PLANNER_METRICS_HOST',
    ...text(/^[0-9A-Za-z.:-]+$/, 'an address to listen on, such as 127.0.0.1'),
    fallback: '127.0.0.1',
  },
  {
    key: 'log.level',
    variable: 'PLANNER_LOG_LEVEL',
    rule: z.enum(levels),
    wanted: `one of ${levels.join(', ')}`,
    fallback: 'info',
  },
  { key: 'limits.call_timeout', variable: 'PLANNER_CALL_TIMEOUT', ...whole(1, 600), fallback: 600 },
  { key: 'limits.silent_stream', variable: 'PLANNER_SILENT_STREAM', ...whole(1, 3_600), fallback: 120 },
  { key: 'limits.sends_per_minute', variable: 'PLANNER_SENDS_PER_MINUTE', ...whole(0, 1_000_000), fallback: 60 },
  {
    key: 'limits.requests_per_minute',
    variable: 'PLANNER_REQUESTS_PER_MINUTE',
    ...whole(0, 10_000_000),
    fallback: 1_200,
  },
  { key: 'oidc.issuer', variable: 'PLANNER_OIDC_ISSUER', ...safeAddress, fallback: undefined },
  {
    key: 'oidc.audience',
    variable: 'PLANNER_OIDC_AUDIENCE',
    ...text(/\S/, 'the name of this API at the identity provider'),
    fallback: undefined,
  },
  { key: 'oidc.jwks_uri', variable: 'PLANNER_OIDC_JWKS_URI', ...safeAddress, fallback: undefined },
  {
    key: 'oidc.subject_claim',
    variable: 'PLANNER_OIDC_SUBJECT_CLAIM',
    ...text(/\S/, 'the name of a claim'),
    fallback: 'sub',
  },
  {
    key: 'oidc.service',
    variable: 'PLANNER_OIDC_SERVICE',
    ...text(/^[^=\s]+=\S/, 'claim=value, such as gty=client-credentials'),
    fallback: undefined,
  },
  {
    key: 'database.url',
    variable: 'DATABASE_URL',
    ...text(/^postgres(ql)?:\/\//, 'an address that begins with postgres://'),
    fallback: undefined,
    environmentOnly: true,
    shown: 'url',
  },
  embeddedPort('database.port', 'PLANNER_DATABASE_PORT'),
  embeddedPort('temporal.port', 'PLANNER_TEMPORAL_PORT'),
  embeddedPort('temporal.ui_port', 'PLANNER_TEMPORAL_UI_PORT'),
  {
    key: 'temporal.address',
    variable: 'TEMPORAL_ADDRESS',
    ...text(/^[^\s/]+:\d{1,5}$/, 'host:port'),
    fallback: undefined,
    environmentOnly: true,
  },
  {
    key: 'temporal.namespace',
    variable: 'TEMPORAL_NAMESPACE',
    ...text(/^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/, 'the name of a namespace'),
    fallback: 'default',
    environmentOnly: true,
  },
  {
    key: 'temporal.versioning',
    variable: 'PLANNER_WORKER_VERSIONING',
    rule: z.boolean(),
    wanted: '1 or 0',
    fallback: false,
    environmentOnly: true,
  },
  {
    key: 'temporal.ui',
    variable: 'PLANNER_TEMPORAL_UI',
    ...webAddress,
    fallback: undefined,
    environmentOnly: true,
  },
] as const satisfies readonly Setting[];

export type Key = (typeof settings)[number]['key'];

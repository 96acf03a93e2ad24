// Settings, credentials and usage of organizations and projects (spec: planner 9, 10, 13).

import { z } from 'zod';
import { formed, problem, text } from '../../domain/input.ts';
import { isOneLine } from '../../domain/text.ts';
import { limitTo, time, usage } from './common.ts';
import { organization, project } from './identity.ts';

const provider = formed(/^[a-z][a-z0-9-]{1,31}$/, '2-32 of a-z, 0-9 and -, a letter first');
const skillName = formed(/^[a-z][a-z0-9-]{1,63}$/, '2-64 of a-z, 0-9 and -, a letter first');
const modelName = text(200, 1).check((context) => {
  if (!isOneLine(context.value)) problem(context, 'has more than one line');
});
const dailyTokens = z.int().min(0).max(1_000_000_000_000);

const settingsMeta = {
  model: 'The model, as the provider names it',
  provider: 'Whose credential is used',
  skill: 'The planner skill',
  daily_tokens: 'Input, output and cache-write tokens a UTC day; 0: no limit of its own',
};

/** What is absent is inherited: project, organization, installation. */
const ownSettings = z
  .strictObject({
    model: z.string().meta({ description: settingsMeta.model }).optional(),
    provider: z.string().meta({ description: settingsMeta.provider }).optional(),
    skill: z.string().meta({ description: settingsMeta.skill }).optional(),
    daily_tokens: dailyTokens.meta({ description: settingsMeta.daily_tokens }).optional(),
  })
  .meta({ id: 'Settings' });

/** null: inherit again. */
const settingsPatch = z
  .strictObject({
    model: modelName.nullable().optional(),
    provider: provider.nullable().optional(),
    skill: skillName.nullable().optional(),
    daily_tokens: dailyTokens.nullable().optional(),
  })
  .meta({ id: 'SettingsPatch' });
export type SettingsPatchBody = z.infer<typeof settingsPatch>;

const from = z.enum(['project', 'organization', 'installation']);

/** GET, PATCH /projects/{p}: with its own settings, and what holds. */
export const projectView = project
  .extend({
    settings: ownSettings,
    effective: z.strictObject({
      model: z.string(),
      model_from: from,
      provider: z.string(),
      provider_from: from,
      skill: z.string(),
      daily_tokens: dailyTokens,
      organization_daily_tokens: dailyTokens,
    }),
  })
  .meta({ id: 'ProjectView' });
export type ProjectViewBody = z.infer<typeof projectView>;

/** PATCH /projects/{p} */
export const projectPatch = z
  .strictObject({
    name: z.string().optional(),
    description: z.string().optional(),
    settings: settingsPatch.optional(),
  })
  .meta({ id: 'ProjectPatch' });
export type ProjectPatchBody = z.infer<typeof projectPatch>;

/** GET, PATCH /organizations/{o} */
export const organizationView = organization.extend({ settings: ownSettings }).meta({ id: 'OrganizationView' });
export type OrganizationViewBody = z.infer<typeof organizationView>;

/** PATCH /organizations/{o} */
export const organizationPatch = z
  .strictObject({ name: z.string().optional(), settings: settingsPatch.optional() })
  .meta({ id: 'OrganizationPatch' });
export type OrganizationPatchBody = z.infer<typeof organizationPatch>;

export const credential = z
  .strictObject({
    provider: z.string(),
    /** The endpoint that the key is for; absent: the installation's. */
    base_url: z.string().optional(),
    /** All that is ever shown of the key. */
    fingerprint: z.string(),
    created_by: z.string(),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'Credential' });
export type CredentialBody = z.infer<typeof credential>;

const maxUrl = 2_000;

/** Errors never repeat what was given: it may be a key, or hold one. */
const silent = (test: (value: string) => boolean, complaint: string) =>
  z.string().check((context) => {
    if (!test(context.value)) problem(context, complaint);
  });

/** PUT .../credentials/{provider} */
export const newCredential = z
  .strictObject({
    api_key: silent(
      (key) => /^[\x21-\x7e]{1,500}$/.test(key),
      'must be 1-500 visible characters of ASCII, without blanks or line ends',
    ).meta({ minLength: 1, maxLength: 500, writeOnly: true }),
    base_url: silent(isEndpoint, 'must be an http(s) address without credentials, query or fragment')
      .meta({ maxLength: maxUrl, description: 'The endpoint that the key is for, such as https://host/v1' })
      .optional(),
  })
  .meta({ id: 'NewCredential' });
export type NewCredentialBody = z.infer<typeof newCredential>;

export const providerName = provider;

function isEndpoint(address: string): boolean {
  if (address.length > maxUrl || !URL.canParse(address)) return false;
  const { protocol, username, password, search, hash } = new URL(address);
  return /^https?:$/.test(protocol) && username + password + search + hash === '';
}

const date = formed(/^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/, 'a day such as 2026-01-31');

/** GET /projects/{p}/usage. Days are UTC, both included; by default the last 30. */
export const usageQuery = z.strictObject({
  by: z.enum(['session', 'model', 'day']).default('day'),
  from: date.optional(),
  to: date.optional(),
  limit: limitTo(500).default(50),
  after: z.string().min(1).max(200).optional(),
});
export type UsageQuery = z.input<typeof usageQuery>;

const count = z.int().min(0);

/** Tokens and calls, retries and failed ones included: what a provider charges for. */
const usageSum = usage.extend({
  calls: count,
  /** Calls that brought no answer: failed, cancelled or lost. */
  unanswered: count,
  /** Of the tokens: how many are estimated, as no provider reported them. */
  estimated_tokens: count,
  /** USD, of the calls whose model has a price; absent: no price is known. */
  cost_usd: z.number().min(0).optional(),
  /** Calls whose model has no price. */
  unpriced_calls: count,
});
export const usageTotals = usageSum.meta({ id: 'UsageTotals' });
export type UsageTotalsBody = z.infer<typeof usageTotals>;

const usageRow = usageSum
  .extend({
    /** A session's id, a model's name, or a day. */
    key: z.string(),
    /** Of the session. */
    title: z.string().optional(),
  })
  .meta({ id: 'UsageRow' });
export type UsageRowBody = z.infer<typeof usageRow>;

/** Budgets of today (UTC); limits of 0: none. */
const budget = z.strictObject({
  daily_tokens: count,
  used: count,
  organization_daily_tokens: count,
  organization_used_up: z.boolean(),
  resets_at: time,
});

export const projectUsage = z
  .strictObject({
    from: z.string(),
    to: z.string(),
    items: z.array(usageRow),
    next: z.string().optional(),
    /** Of all rows, not of this page alone. */
    total: usageTotals,
    budget,
  })
  .meta({ id: 'ProjectUsage' });
export type ProjectUsageBody = z.infer<typeof projectUsage>;

/** Part of GET /planner/sessions/{id}: what the session has used, and how full the model's window is. */
export const sessionMeter = z
  .strictObject({
    usage: usageTotals,
    /** Tokens that the next model call takes, about. */
    context_tokens: count,
    /** The model of the next call, and its window where known. */
    model: z.string(),
    window: count.optional(),
    /** The size above which the conversation is compacted; 0: never. */
    compact_at_tokens: count,
  })
  .meta({ id: 'SessionMeter' });
export type SessionMeterBody = z.infer<typeof sessionMeter>;

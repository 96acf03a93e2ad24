// A model call that is paid for: endpoint resolved, budget checked, usage counted once (spec: planner 9).

import { estimateTokens, messageTokens, overheadTokens } from '../domain/compaction.ts';
import type { ModelCatalog } from '../domain/models.ts';
import type { ModelMessage, Usage } from '../domain/transcript.ts';
import {
  ModelError,
  streamAnswer,
  type ModelAnswer,
  type ModelRequest,
  type ModelSettings,
  type ToolSchema,
} from '../models/gateway.ts';
import type { Database, Queryable, Tx } from '../store/database.ts';
import type { Project } from '../store/projects.ts';
import { settingsOf, type ResolvedSettings } from '../store/settings.ts';
import type { TurnRow } from '../store/turns.ts';
import { closeUsage, openUsage, tokensToday, type UsageEnd, type UsagePurpose } from '../store/usage.ts';
import { rounded } from '../telemetry/fact.ts';
import { logInfo } from '../telemetry/log.ts';
import { endpointOf, type CallRefused, type Endpoints } from './endpoint.ts';

export type { CallRefused } from './endpoint.ts';

/** What the installation brings to every model call. */
export interface Gateway extends Endpoints {
  models: ModelCatalog;
  meter: Meter;
}

/** Hears of each usage row that is closed. */
export interface Meter {
  /** `timing`: of a call whose process closed it. */
  closed(
    call: { organization: string; project: string; model: string; status: UsageEnd },
    usage: Usage,
    timing?: CallTiming,
  ): void;
}

/** Seconds from the request on. */
export interface CallTiming {
  seconds: number;
  firstText: number | undefined;
}

/** What is sent to a model; its size is what a usage row holds until the provider has reported. */
export interface CallContent {
  system: string;
  messages: readonly ModelMessage[];
  tools: readonly ToolSchema[];
}

/** A call that may be made: its row is open. */
export interface MeteredCall {
  /** Id of the usage row. */
  usage: string;
  content: CallContent;
  /** With the key: never logged, told or stored. */
  settings: ModelSettings;
  /** Tokens that fit into one request and its answer, where known. */
  window: number | undefined;
  names: { organization: string; project: string; model: string };
  /** Tokens of the request, estimated. */
  estimate: number;
  /** What has come back so far. */
  seen: { answered: boolean; text: string; usage: Usage | undefined };
  /** Absent: it was never sent. */
  timing?: CallTiming;
}

/** Tokens of a request, estimated. */
function estimateContent(content: CallContent): number {
  return content.messages.reduce((sum, message) => sum + messageTokens(message), overheadTokens(content));
}

/**
 * Opens a call in the caller's transaction, which holds the turn's lock: endpoint, key and model as they hold now, then
 * the budgets, then the usage row. Refused where nothing usable is configured (`not_configured`) or a budget is used up
 * (`budget`); then nothing was written. The caller streams it (`streamMetered`) after its commit and settles it.
 */
export async function openMetered(
  tx: Tx,
  gateway: Gateway,
  turn: Pick<TurnRow, 'id' | 'session_id' | 'round' | 'call_attempt'>,
  project: Project,
  purpose: UsagePurpose,
  content: CallContent,
): Promise<MeteredCall | CallRefused> {
  const resolved = await settingsOf(tx, project, gateway.installation);
  const settings = await endpointOf(tx, gateway, project, resolved);
  if ('failure' in settings) return settings;
  const refused = await overBudget(tx, project, resolved);
  if (refused) return refused;
  const estimate = estimateContent(content);
  const usage = await openUsage(tx, {
    organization_id: project.organization_id,
    project_id: project.id,
    session_id: turn.session_id,
    turn_id: turn.id,
    round: turn.round,
    attempt: turn.call_attempt,
    purpose,
    provider: resolved.provider,
    model: settings.model,
    input: estimate,
  });
  return {
    usage,
    content,
    settings,
    window: gateway.models.get(settings.model)?.window,
    names: { organization: project.organization_key, project: project.key, model: settings.model },
    estimate,
    seen: { answered: false, text: '', usage: undefined },
  };
}

/** Streams an open call. Rejects as `streamAnswer` does; whatever happens, the caller settles it. */
export async function streamMetered(
  call: MeteredCall,
  listeners: Pick<ModelRequest, 'signal' | 'onText' | 'onProgress'>,
): Promise<ModelAnswer> {
  const { seen } = call;
  const begun = performance.now();
  const since = (): number => (performance.now() - begun) / 1_000;
  let firstText: number | undefined;
  return streamAnswer(call.settings, {
    ...call.content,
    signal: listeners.signal,
    onText(delta) {
      firstText ??= since();
      seen.text += delta;
      listeners.onText(delta);
    },
    onProgress() {
      seen.answered = true;
      listeners.onProgress?.();
    },
    onUsage(usage) {
      seen.usage = usage;
    },
  }).finally(() => (call.timing = { seconds: since(), firstText }));
}

/**
 * Closes a call's row, once: with what the provider reported, else with an estimate that is marked as such. In the
 * transaction that stores the answer, so that both are there or neither; without one, on the database itself.
 * `error`: why a call failed that was not answered. Call the returned function after the commit.
 */
export async function settleMetered(
  q: Queryable,
  gateway: Gateway,
  call: MeteredCall,
  status: UsageEnd,
  error?: unknown,
): Promise<() => void> {
  const { seen } = call;
  const paid = status !== 'error' || seen.answered || mayHaveCost(error);
  const estimate: Usage = {
    input: paid ? call.estimate : 0,
    output: estimateTokens(seen.text),
    cache_read: 0,
    cache_write: 0,
  };
  const usage = seen.usage ?? estimate;
  const closed = await closeUsage(q, call.usage, { status, usage, estimated: seen.usage === undefined && paid });
  return () => {
    if (!closed) return;
    gateway.meter.closed({ ...call.names, status }, usage, call.timing);
    const { input, output } = usage;
    const seconds = rounded(call.timing?.seconds ?? 0);
    logInfo('model call ended', { model: call.names.model, status, seconds, input, output });
  };
}

/** As `settleMetered` for a call that stores nothing. A row that can't be closed now is closed by the workers' sweep. */
export async function settleFailed(
  database: Database,
  gateway: Gateway,
  call: MeteredCall,
  status: UsageEnd,
  error?: unknown,
): Promise<void> {
  const tell = await settleMetered(database, gateway, call, status, error).catch(() => undefined);
  tell?.();
}

/** The provider had the whole request and fell silent: it may charge for it. */
function mayHaveCost(error: unknown): boolean {
  return error instanceof ModelError && (error.class === 'timeout' || error.class === 'silent_stream');
}

/** Budgets are checked before each call; one that is under way may exceed them. */
async function overBudget(
  q: Queryable,
  project: Project,
  resolved: ResolvedSettings,
): Promise<CallRefused | undefined> {
  const { daily_tokens: own, organization_daily_tokens: above } = resolved;
  if (own > 0 && (await tokensToday(q, { project_id: project.id })) >= own) {
    return usedUp(`project ${project.key}`, own, `PATCH /api/v1/projects/${project.key} with settings.daily_tokens`);
  }
  if (above > 0 && (await tokensToday(q, { organization_id: project.organization_id })) >= above) {
    const { organization_key: key } = project;
    const patch = `PATCH /api/v1/organizations/${key} with settings.daily_tokens`;
    return usedUp(`organization ${key}`, above, `${patch}; the installation's default is PLANNER_DAILY_TOKENS`);
  }
  return undefined;
}

function usedUp(whose: string, limit: number, where: string): CallRefused {
  const day = 86_400_000;
  const resets = new Date((Math.floor(Date.now() / day) + 1) * day).toISOString().slice(0, 16);
  const text =
    `Today's budget of ${limit.toLocaleString('en')} tokens of ${whose} is used up. It is full again at ${resets}Z; ` +
    `an administrator can raise it (${where}). Then send the message again.`;
  return { failure: 'budget', text };
}

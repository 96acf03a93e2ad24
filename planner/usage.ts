// What a project and a session have used, as people are shown it: tokens, calls, costs, budgets (spec: planner 9, 10).

import type { Principal } from '../domain/actor.ts';
import { contextTokens, overheadTokens } from '../domain/compaction.ts';
import { invalid } from '../domain/errors.ts';
import { badCursor } from '../domain/input.ts';
import { costOf, type ModelCatalog } from '../domain/models.ts';
import { addUsage, noUsage, type Usage } from '../domain/transcript.ts';
import type { Database, Queryable } from '../store/database.ts';
import { projectById, visibleProject, type Project } from '../store/projects.ts';
import { settingsOf, type Installation } from '../store/settings.ts';
import {
  tokensToday,
  usageBy,
  usageOfSession,
  usageOfTurns,
  usageTotal,
  type Days,
  type UsageBy,
  type UsageSum,
} from '../store/usage.ts';
import { readMessages } from './conversation.ts';
import { shownPlannerSkill } from './planner-skill.ts';
import { systemPrompt } from './prompt.ts';
import { toolSchemas } from './tools/index.ts';

/** What the installation knows of models, and what it presets. */
export interface UsageRoom {
  database: Database;
  installation: Installation;
  models: ModelCatalog;
}

export interface UsageTotals extends Usage {
  calls: number;
  unanswered: number;
  estimated_tokens: number;
  cost_usd?: number;
  unpriced_calls: number;
}

export interface ProjectUsage {
  from: string;
  to: string;
  items: (UsageTotals & { key: string; title?: string })[];
  next?: string;
  total: UsageTotals;
  budget: {
    daily_tokens: number;
    used: number;
    organization_daily_tokens: number;
    organization_used_up: boolean;
    resets_at: string;
  };
}

const dayMs = 86_400_000;
const defaultDays = 30;
const maxDays = 366;

/** The next midnight, UTC. */
export const nextDay = (now = Date.now()): Date => new Date((Math.floor(now / dayMs) + 1) * dayMs);

/**
 * A project's usage by session, model or day (UTC); needs tracker.read. By default the last 30 days, at most 366;
 * `from` alone goes to today, `to` alone has the 30 days that end with it.
 * Errors: not_found, forbidden, invalid_argument.
 */
export async function projectUsage(
  room: UsageRoom,
  principal: Principal,
  projectKey: string,
  query: { by: UsageBy; from?: string | undefined; to?: string | undefined; limit: number; after?: string | undefined },
): Promise<ProjectUsage> {
  const { database } = room;
  const project = await visibleProject(database, principal, projectKey, 'tracker.read');
  const days = daysOf(query);
  const after = cursor(query);
  const sums = await usageBy(database, project.id, query.by, days, { limit: query.limit + 1, after });
  const groups = [...Map.groupBy(sums, ({ key }) => key)];
  const shown = groups.slice(0, query.limit);
  const titles = await titlesOf(database, query.by === 'session' ? shown.map(([key]) => key) : []);
  const settings = await settingsOf(database, project, room.installation);
  const { daily_tokens, organization_daily_tokens: above } = settings;
  return {
    ...days,
    items: shown.map(([key, of]) => {
      const title = titles.get(key);
      return { key, ...(title === undefined ? {} : { title }), ...totalsOf(of, room.models) };
    }),
    ...(groups.length > shown.length ? { next: shown.at(-1)![0] } : {}),
    total: totalsOf(await usageTotal(database, project.id, days), room.models),
    budget: {
      daily_tokens,
      used: await tokensToday(database, { project_id: project.id }),
      organization_daily_tokens: above,
      // How much the organization has used tells of projects that the reader may not see.
      organization_used_up: above > 0 && (await tokensToday(database, project)) >= above,
      resets_at: nextDay().toISOString(),
    },
  };
}

export interface SessionMeter {
  usage: UsageTotals;
  context_tokens: number;
  model: string;
  window?: number;
}

/** What a session has used, and how much of the model's window its next call takes. Asks for no rights. */
export async function sessionMeter(room: UsageRoom, session: string): Promise<SessionMeter> {
  const { database } = room;
  const [row] = await database.query<{ project_id: string; summary: string; up_to: number; at: number; known: number }>(
    `SELECT s.project_id, s.summary, s.summary_up_to AS up_to, s.summary_at AS at,
            coalesce((SELECT max(m.seq) FROM planner_messages m
                      WHERE m.session_id = s.id AND m.seq > greatest(s.summary_at, s.summary_up_to)
                        -- As contextTokens counts it.
                        AND (m.usage ->> 'input')::bigint + (m.usage ->> 'cache_read')::bigint
                            + (m.usage ->> 'cache_write')::bigint > 0), 0) AS known
     FROM planner_sessions s WHERE s.id = $1`,
    [session],
  );
  const { project_id, summary, up_to, at, known } = row!;
  const project = await projectById(database, project_id);
  const { model, skill } = await settingsOf(database, project, room.installation);
  const window = room.models.get(model)?.window;
  const messages = await readMessages(database, session, known > 0 ? known - 1 : up_to);
  const overhead = known > 0 ? 0 : await overheadOf(database, project, skill);
  return {
    usage: totalsOf(await usageOfSession(database, session), room.models),
    context_tokens: contextTokens({ summary, summaryAt: at, messages }, overhead),
    model,
    ...(window === undefined ? {} : { window }),
  };
}

/** Tokens of the system prompt, the planner skill in it, and of the tools. */
async function overheadOf(q: Queryable, project: Project, skill: string): Promise<number> {
  const system = systemPrompt(project, await shownPlannerSkill(q, project, skill));
  return overheadTokens({ system, tools: toolSchemas() });
}

/** What each of these turns has used, by its id; zeros where no model was called. Asks for no rights. */
export async function turnUsage(
  { database, models }: Pick<UsageRoom, 'database' | 'models'>,
  turns: readonly string[],
): Promise<(turn: string) => UsageTotals> {
  const sums = Map.groupBy(await usageOfTurns(database, turns), ({ key }) => key);
  return (turn) => totalsOf(sums.get(turn) ?? [], models);
}

function totalsOf(sums: readonly UsageSum[], models: ModelCatalog): UsageTotals {
  const costs = sums.map((sum) => costOf(sum, models.get(sum.model)?.prices));
  const known = costs.filter((cost) => cost !== undefined);
  const add = (of: (sum: UsageSum) => number): number => sums.reduce((total, sum) => total + of(sum), 0);
  return {
    ...sums.reduce<Usage>(addUsage, noUsage),
    calls: add(({ calls }) => calls),
    unanswered: add(({ unanswered }) => unanswered),
    estimated_tokens: add(({ estimated_tokens }) => estimated_tokens),
    ...(known.length > 0 ? { cost_usd: rounded(known.reduce((total, cost) => total + cost, 0)) } : {}),
    unpriced_calls: sums.reduce((total, { calls }, index) => total + (costs[index] === undefined ? calls : 0), 0),
  };
}

/** To a millionth of a dollar. */
const rounded = (usd: number): number => Math.round(usd * 1e6) / 1e6;

async function titlesOf(q: Queryable, sessions: readonly string[]): Promise<Map<string, string>> {
  const rows = await q.query<{ id: string; title: string }>(
    'SELECT id, title FROM planner_sessions WHERE id = ANY ($1::uuid[])',
    [sessions],
  );
  return new Map(rows.map(({ id, title }) => [id, title]));
}

function daysOf({ from, to }: { from?: string | undefined; to?: string | undefined }): Days {
  const last = to ?? dayOf(Date.now());
  const first = from ?? dayOf(timeOf('to', last) - (defaultDays - 1) * dayMs);
  const count = (timeOf('to', last) - timeOf('from', first)) / dayMs + 1;
  if (count < 1) throw invalid(`from (${first}) lies after to (${last}).`);
  if (count > maxDays) throw invalid(`from and to are ${count} days apart; at most ${maxDays} are shown at once.`);
  return { from: first, to: last };
}

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

function timeOf(name: string, day: string): number {
  const time = Date.parse(`${day}T00:00:00Z`);
  if (Number.isNaN(time) || dayOf(time) !== day) throw invalid(`${name} is no day of the calendar: ${day}.`);
  return time;
}

function cursor({ by, after }: { by: UsageBy; after?: string | undefined }): string | undefined {
  const forms = { session: /^[0-9a-f-]{36}$/, day: /^\d{4}-\d\d-\d\d$/, model: /^/ };
  if (after !== undefined && !forms[by].test(after)) throw badCursor(after);
  return after;
}

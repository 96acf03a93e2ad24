// What projects and sessions have used, as people are shown it; settings of projects and organizations
// (spec: planner 9, 10, 13).

import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemActor } from '../domain/actor.ts';
import { costOf } from '../domain/models.ts';
import { createSession, sendMessage } from '../planner/conversation.ts';
import { transaction } from '../store/database.ts';
import type { Project } from '../store/projects.ts';
import { bindRole } from '../store/role-bindings.ts';
import { createSkill, publishSkill } from '../store/skills.ts';
import { createSubject } from '../store/tokens.ts';
import { startTestApi, type TestApi } from './support/api.ts';

let planner: TestApi;
let token: string;
const sessions: string[] = [];

const models = new Map([
  ['priced', { window: 200_000, prices: { input: 2, output: 10, cache_read: 0.5 } }],
  ['windowed', { window: 8_000 }],
]);

/** A finished call. */
async function used(
  project: Project,
  session: string,
  row: { day: string; model?: string; input?: number; output?: number; cache_read?: number; status?: string; estimated?: boolean },
): Promise<void> {
  const { day, model = 'priced', input = 0, output = 0, cache_read = 0, status = 'ok', estimated = false } = row;
  await planner.database.query(
    `INSERT INTO llm_usage (id, organization_id, project_id, session_id, turn_id, round, attempt, purpose, provider, model,
                            status, input, output, cache_read, estimated, opened_at, closed_at)
     SELECT $1, $2, $3, $4, t.id, 0, 1, 'answer', 'openai', $5, $6, $7, $8, $9, $10, $11::timestamptz, $11::timestamptz
     FROM planner_turns t WHERE t.session_id = $4`,
    [uuidv7(), project.organization_id, project.id, session, model, status, input, output, cache_read, estimated, `${day}Z`],
  );
}

beforeAll(async () => {
  planner = await startTestApi({
    gateway: {
      models,
      installation: { model: 'priced', skill: 'planner', daily_tokens: 5_000 },
      compactAtTokens: 100_000,
    },
    checkAnswers: true,
  });
  token = planner.tokens.viewer;
  const { database, web, ops } = planner;
  const principal = { subject: 'engineer', kind: 'human' as const };
  await transaction(database, async (tx) => {
    await bindRole(tx, systemActor, { subject: 'engineer', role: 'engineer', project_id: ops.id });
  });
  for (const [key, text] of [['WEB', 'first'], ['WEB', 'second'], ['OPS', 'elsewhere']] as const) {
    const { id } = await transaction(database, (tx) => createSession(tx, principal, { project: key }));
    await sendMessage(database, principal, { session: id, text });
    sessions.push(id);
  }
  const [first, second, elsewhere] = sessions as [string, string, string];
  await used(web, first, { day: '2026-01-01T00:00:00', input: 1_000, output: 100, cache_read: 500 });
  await used(web, first, { day: '2026-01-01T23:59:59', input: 500, status: 'error', estimated: true });
  await used(web, second, { day: '2026-01-02T00:00:00', model: 'windowed', input: 10, output: 1 });
  await used(web, second, { day: '2026-01-31T12:00:00', input: 7, status: 'lost', estimated: true });
  await used(ops, elsewhere, { day: '2026-01-01T12:00:00', input: 9_999 });
});
afterAll(() => planner.close());

const usage = (query: string, as = token) => planner.rest(as, 'GET', `/api/v1/projects/WEB/usage?${query}`);
const january = 'from=2026-01-01&to=2026-01-31';

test('a turn tells what its calls used, failed ones included, and what they cost', async () => {
  const path = `/api/v1/planner/sessions/${sessions[0]}/turns`;
  const { body } = await planner.rest(token, 'GET', path);
  expect(body.items).toMatchObject([
    { metered: { calls: 2, unanswered: 1, input: 1_500, output: 100, cache_read: 500, estimated_tokens: 500 } },
  ]);
  const [{ metered }] = body.items as unknown as [{ metered: { cost_usd: number } }];
  expect(metered.cost_usd).toBeCloseTo(0.00425, 9);
});

describe('GET /projects/{p}/usage', () => {
  test('spec: planner 9.9: by day, newest first, days are UTC; cost where a price is known', async () => {
    const { status, body } = await usage(`by=day&${january}`);
    expect(status).toBe(200);
    expect(body.items).toMatchObject([
      { key: '2026-01-31', calls: 1, unanswered: 1, input: 7, estimated_tokens: 7 },
      { key: '2026-01-02', calls: 1, unanswered: 0, input: 10, output: 1, unpriced_calls: 1 },
      { key: '2026-01-01', calls: 2, unanswered: 1, input: 1_500, output: 100, cache_read: 500, estimated_tokens: 500 },
    ]);
    expect(body.items![1]).not.toHaveProperty('cost_usd');
    // 1,500 at 2, 100 at 10, 500 at 0.5 USD a million.
    expect(body.items![2]!['cost_usd']).toBeCloseTo(0.00425, 9);
    expect(body['total']).toMatchObject({ calls: 4, input: 1_517, output: 101, unpriced_calls: 1 });
  });

  test('by session with its title, by model by name; another project\'s calls are not in it', async () => {
    const bySession = await usage(`by=session&${january}`);
    expect(bySession.body.items).toMatchObject([
      { key: sessions[1], title: 'second', calls: 2, unpriced_calls: 1 },
      { key: sessions[0], title: 'first', calls: 2 },
    ]);
    const byModel = await usage(`by=model&${january}`);
    expect(byModel.body.items).toMatchObject([{ key: 'priced', calls: 3 }, { key: 'windowed', calls: 1 }]);
    expect(JSON.stringify([bySession.body, byModel.body])).not.toContain('9999');
  });

  test('page by page, each key once', async () => {
    for (const by of ['day', 'session', 'model']) {
      const whole = (await usage(`by=${by}&${january}`)).body.items;
      const paged: unknown[] = [];
      for (let after = ''; ; ) {
        const { body } = await usage(`by=${by}&${january}&limit=1${after}`);
        paged.push(...body.items!);
        if (body['next'] === undefined) break;
        after = `&after=${body['next']}`;
      }
      expect(paged).toEqual(whole);
    }
  });

  test('days are included at both ends', async () => {
    const { body } = await usage('by=day&from=2026-01-02&to=2026-01-02');
    expect(body.items).toMatchObject([{ key: '2026-01-02', calls: 1 }]);
    expect(body).toMatchObject({ from: '2026-01-02', to: '2026-01-02' });
  });

  test('from alone goes to today, to alone has the 30 days that end with it', async () => {
    const day = (daysAgo: number) => new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10);
    expect((await usage(`from=${day(5)}`)).body).toMatchObject({ from: day(5), to: day(0) });
    expect((await usage('to=2026-01-30')).body).toMatchObject({ from: '2026-01-01', to: '2026-01-30' });
  });

  test('by default the last 30 days; budgets say what is used today and when they are full again', async () => {
    await used(planner.web, sessions[0]!, { day: new Date().toISOString().slice(0, 19), input: 40, output: 2 });
    const { body } = await usage('');
    expect(body.items).toMatchObject([{ key: new Date().toISOString().slice(0, 10), input: 40 }]);
    expect(body['budget']).toMatchObject({
      daily_tokens: 0, used: 42, organization_daily_tokens: 5_000, organization_used_up: false,
    });
    const { resets_at } = body['budget'] as { resets_at: string };
    expect(resets_at).toMatch(/T00:00:00\.000Z$/);
    expect(Date.parse(resets_at) - Date.now()).toBeLessThanOrEqual(86_400_000);
  });

  test.each([
    ['by=week', /by must be one of session, model, day/],
    ['from=2026-02-30', /from is no day of the calendar: 2026-02-30/],
    ['from=2026-02-30&to=2026-03-01', /from is no day of the calendar: 2026-02-30/],
    ['from=2026-02-02&to=2026-02-01', /from \(2026-02-02\) lies after to/],
    ['from=2020-01-01&to=2026-02-01', /at most 366/],
    ['from=yesterday', /from must be a day such as 2026-01-31/],
    ['by=session&after=x', /after must be/],
    ['by=day&after=x', /after must be/],
  ])('%s is refused with what is wrong', async (query, complaint) => {
    const { status, body } = await usage(query);
    expect(status).toBe(400);
    expect(body['message']).toMatch(complaint);
  });

  test('spec: planner 5: a stranger learns nothing, not even that the project is there', async () => {
    const there = await usage('', planner.tokens.stranger);
    expect(there.status).toBe(404);
    const nowhere = await planner.rest(planner.tokens.stranger, 'GET', '/api/v1/projects/NOPE/usage');
    expect(JSON.stringify(there.body).replace('WEB', 'NOPE')).toBe(JSON.stringify(nowhere.body));
  });
});

describe('prices', () => {
  const all = { input: 1e6, output: 1e6, cache_read: 1e6, cache_write: 1e6 };
  test('what has no price of its own costs what input costs', () => {
    expect(costOf(all, { input: 1, output: 2 })).toBe(5);
    expect(costOf(all, { input: 1, output: 2, cache_read: 0, cache_write: 4 })).toBe(7);
    expect(costOf(all, undefined)).toBeUndefined();
  });
});

describe('GET /planner/sessions/{id}', () => {
  const meter = async (session: string) =>
    (await planner.rest(planner.tokens.engineer, 'GET', `/api/v1/planner/sessions/${session}`)).body['meter'];

  test('tells what the session has used, and how full the window is', async () => {
    expect(await meter(sessions[2]!)).toMatchObject({
      usage: { calls: 1, input: 9_999, cost_usd: 0.019998 },
      model: 'priced',
      window: 200_000,
      compact_at_tokens: 100_000,
    });
    const { context_tokens } = (await meter(sessions[2]!)) as { context_tokens: number };
    // System prompt and tools: nothing was reported yet.
    expect(context_tokens).toBeGreaterThan(500);
  });

  test('the context is what the provider reported for the newest answer, and what came since', async () => {
    const [session] = sessions as [string];
    await planner.database.query(
      `INSERT INTO planner_messages (session_id, seq, role, blocks, turn_id, round, stop_reason, usage)
       SELECT session_id, 2, 'assistant', '[{"type":"text","text":"ok"}]', id, 0, 'end_turn',
              '{"input":7000,"output":50,"cache_read":200,"cache_write":0}' FROM planner_turns WHERE session_id = $1`,
      [session],
    );
    expect(await meter(session)).toMatchObject({ context_tokens: 7_250 });
  });

  test('spec: planner 8.1: zeros of a newer answer are no report: the older one and what came since', async () => {
    const [session] = sessions as [string];
    const text = 'word '.repeat(2_000);
    await planner.database.query(
      `INSERT INTO planner_messages (session_id, seq, role, blocks, turn_id, round, stop_reason, usage)
       SELECT session_id, 3, 'assistant', $2::jsonb, id, 1, 'end_turn',
              '{"input":0,"output":0,"cache_read":0,"cache_write":0}' FROM planner_turns WHERE session_id = $1`,
      [session, JSON.stringify([{ type: 'text', text }])],
    );
    const { context_tokens } = (await meter(session)) as { context_tokens: number };
    expect(context_tokens).toBeGreaterThan(7_250 + 1_500);
  });

  test('spec: planner 8.2: where nothing was reported the planner skill counts as part of the system prompt', async () => {
    const tokens = async () => ((await meter(sessions[1]!)) as { context_tokens: number }).context_tokens;
    const before = await tokens();
    const root = { subject: 'root', kind: 'human' as const };
    await transaction(planner.database, async (tx) => {
      await createSubject(tx, { subject: root.subject, kind: 'human', name: 'Root' });
      await bindRole(tx, systemActor, { subject: root.subject, role: 'platform-admin' });
      const body = 'Slice thin. '.repeat(1_000);
      const { id } = await createSkill(tx, root, { scope: 'platform', name: 'planner', description: 'How.', body });
      await publishSkill(tx, root, id, { version: 1 });
    });
    expect(await tokens()).toBeGreaterThan(before + 2_000);
  });
});

describe('settings', () => {
  const patch = (path: string, body: object, as = planner.tokens.admin) => planner.rest(as, 'PATCH', `/api/v1${path}`, body);
  const events = () =>
    planner.database.query<{ type: string; entity_key: string; payload: object }>(
      `SELECT type, entity_key, payload FROM events
       WHERE type IN ('project.updated', 'organization.updated', 'budget.set') ORDER BY occurred_at, seq`,
    );

  test('spec: planner 13.4: a project\'s own, its organization\'s and the installation\'s, each with its source', async () => {
    expect((await planner.rest(token, 'GET', '/api/v1/projects/WEB')).body).toMatchObject({
      settings: {},
      effective: { model: 'priced', model_from: 'installation', provider: 'openai', skill: 'planner', daily_tokens: 0, organization_daily_tokens: 5_000 },
    });
    await patch('/organizations/acme', { settings: { model: 'theirs', skill: 'their-planner', daily_tokens: 9_000 } });
    const { status, body } = await patch('/projects/WEB', { name: 'Shop', settings: { model: 'ours', daily_tokens: 100 } });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      key: 'WEB', name: 'Shop', description: '', organization: 'acme',
      settings: { model: 'ours', daily_tokens: 100 },
      effective: { model: 'ours', model_from: 'project', skill: 'their-planner', daily_tokens: 100, organization_daily_tokens: 9_000 },
    });
    const back = await patch('/projects/WEB', { settings: { model: null } });
    expect(back.body).toMatchObject({ settings: { daily_tokens: 100 }, effective: { model: 'theirs', model_from: 'organization' } });
    expect((await planner.rest(token, 'GET', '/api/v1/organizations/acme')).body).toMatchObject({
      key: 'acme', settings: { model: 'theirs', skill: 'their-planner', daily_tokens: 9_000 },
    });
    expect(await events()).toEqual([
      { type: 'organization.updated', entity_key: 'acme', payload: { settings: { model: 'theirs', skill: 'their-planner' } } },
      { type: 'budget.set', entity_key: 'acme', payload: { daily_tokens: 9_000 } },
      { type: 'project.updated', entity_key: 'WEB', payload: { name: 'Shop', settings: { model: 'ours' } } },
      { type: 'budget.set', entity_key: 'WEB', payload: { daily_tokens: 100 } },
      { type: 'project.updated', entity_key: 'WEB', payload: { settings: { model: null } } },
    ]);
  });

  test('spec: planner 12.3: what changes nothing is no event', async () => {
    const before = (await events()).length;
    expect((await patch('/projects/WEB', { name: 'Shop', settings: { daily_tokens: 100, provider: null } })).status).toBe(200);
    expect((await events()).length).toBe(before);
  });

  test.each([
    ['/projects/WEB', {}, /Nothing to change/],
    ['/projects/WEB', { name: ' ' }, /A name has 1-200 characters/],
    ['/projects/WEB', { settings: { daily_tokens: -1 } }, /settings\.daily_tokens must be at least 0/],
    ['/projects/WEB', { settings: { daily_tokens: 1.5 } }, /settings\.daily_tokens/],
    ['/projects/WEB', { settings: { provider: 'Open AI' } }, /settings\.provider must be 2-32 of a-z/],
    ['/projects/WEB', { settings: { model: 'a\nb' } }, /settings\.model has more than one line/],
    ['/projects/WEB', { settings: { window: 5 } }, /unknown field "window"/],
    ['/organizations/acme', { description: 'x' }, /unknown field "description"/],
  ])('%s %j is refused', async (path, body, complaint) => {
    const answer = await patch(path, body);
    expect(answer.status).toBe(400);
    expect(answer.body['message']).toMatch(complaint);
  });

  test('spec: planner 5: they need project.update and organization.update', async () => {
    const { engineer, stranger } = planner.tokens;
    expect((await patch('/projects/WEB', { name: 'x' }, engineer)).status).toBe(403);
    expect((await patch('/organizations/acme', { name: 'x' }, engineer)).status).toBe(403);
    expect((await patch('/projects/WEB', { name: 'x' }, stranger)).status).toBe(404);
    expect((await patch('/organizations/acme', { name: 'x' }, stranger)).status).toBe(404);
    expect((await planner.rest(stranger, 'GET', '/api/v1/organizations/acme')).status).toBe(404);
  });
});

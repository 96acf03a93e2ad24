// Model calls that are paid for, on real parts: whose credential and model, what is counted, when a budget stops them
// (spec: planner 9).

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Principal } from '../domain/actor.ts';
import { systemActor } from '../domain/actor.ts';
import { setCredential } from '../store/credentials.ts';
import { transaction } from '../store/database.ts';
import { projectByKey, type Project } from '../store/projects.ts';
import { bindRole } from '../store/role-bindings.ts';
import { keyring, newSecretKey } from '../store/sealing.ts';
import { updateOrganization, updateProject, type SettingsChange } from '../store/settings.ts';
import { createSubject } from '../store/tokens.ts';
import { createWorkerMetrics } from '../worker/metrics.ts';
import { sweepUsage } from '../worker/usage-sweep.ts';
import { brief, startTestPlanner, until, type TestPlanner } from './support/planner.ts';
import { fails, says, startScriptedModel, type ScriptedModel } from './support/scripted-model.ts';

const admin: Principal = { subject: 'admin', kind: 'human' };
const keys = keyring([newSecretKey()]);
const metrics = createWorkerMetrics();

let planner: TestPlanner;
/** Another provider than the installation's. */
let own: ScriptedModel;
let web: Project;
let session: string;

beforeAll(async () => {
  planner = await startTestPlanner();
  own = await startScriptedModel();
  await transaction(planner.database, async (tx) => {
    await createSubject(tx, { subject: admin.subject, kind: 'human', name: 'Admin' });
    await bindRole(tx, systemActor, { subject: admin.subject, role: 'platform-admin' });
  });
  web = await projectByKey(planner.database, 'WEB');
  await planner.startWorker({
    gateway: { keys, meter: metrics.meter },
    // The sweep is called by the tests.
    intervals: { sweep: 3_600_000 },
  });
});
afterAll(async () => {
  await own.close();
  await planner.close();
});
beforeEach(async () => {
  await planner.database.query('DELETE FROM credentials');
  await planner.database.query(`UPDATE projects SET settings = '{}'`);
  await planner.database.query(`UPDATE organizations SET settings = '{}'`);
  await planner.database.query('DELETE FROM llm_usage');
  session = await planner.session();
  planner.model.play(() => says('Hello.'));
  own.play(() => says('Hello from mine.'));
});

const settings = (change: SettingsChange) =>
  transaction(planner.database, (tx) => updateProject(tx, admin, 'WEB', { settings: change }));
const organizationSettings = (change: SettingsChange) =>
  transaction(planner.database, (tx) => updateOrganization(tx, admin, 'acme', { settings: change }));
const store = (at: 'project' | 'organization', provider: string, api_key: string, base_url?: string) =>
  transaction(planner.database, (tx) =>
    setCredential(
      tx,
      admin,
      keys,
      { organization_id: web.organization_id, ...(at === 'project' ? { project_id: web.id } : {}) },
      { provider, api_key, base_url },
    ),
  );

async function turn(text = 'go') {
  return planner.ended(await planner.send(session, text));
}
const sentTo = (model: ScriptedModel) => model.requests.map(({ headers, body }) => [headers['authorization'], body.model]);
const rows = () => planner.database.query<Record<string, unknown>>('SELECT * FROM llm_usage ORDER BY opened_at');

describe('whose credential and model', () => {
  test('spec: planner 9.2: the project\'s, else the organization\'s, else the installation\'s', async () => {
    await turn();
    expect(sentTo(planner.model).at(-1)).toEqual(['Bearer test', 'scripted']);
    await store('organization', 'openai', 'organization-key', own.baseUrl);
    await organizationSettings({ model: 'theirs' });
    await turn();
    expect(sentTo(own).at(-1)).toEqual(['Bearer organization-key', 'theirs']);
    await store('project', 'openai', 'project-key', own.baseUrl);
    await settings({ model: 'ours' });
    await turn();
    expect(sentTo(own).at(-1)).toEqual(['Bearer project-key', 'ours']);
    expect((await rows()).map(({ model, provider, status }) => [model, provider, status])).toEqual([
      ['scripted', 'openai', 'ok'],
      ['theirs', 'openai', 'ok'],
      ['ours', 'openai', 'ok'],
    ]);
  });

  test('the installation\'s key only ever goes to the installation\'s endpoint', async () => {
    await store('project', 'other', 'project-key', own.baseUrl);
    await settings({ provider: 'other' });
    await turn();
    await settings({ provider: null });
    await turn();
    expect(sentTo(own).filter(([key]) => key === 'Bearer test')).toEqual([]);
    expect(sentTo(planner.model).at(-1)).toEqual(['Bearer test', 'scripted']);
  });

  test('a stored key without an endpoint of its own goes to the installation\'s', async () => {
    await store('project', 'openai', 'project-key');
    await turn();
    expect(sentTo(planner.model).at(-1)).toEqual(['Bearer project-key', 'scripted']);
  });

  test('spec: planner 9.2: a provider without credential ends the turn with an error that names where to set it', async () => {
    await settings({ provider: 'other' });
    expect(await turn()).toMatchObject({ reason: 'error' });
    expect(brief(await planner.outputs(session))[1]).toMatch(
      /^error No credential is stored for the model provider other.*PUT \/api\/v1\/projects\/WEB\/credentials\/other/,
    );
    expect(await rows()).toEqual([]);
  });

  test('a refused key is said to be the project\'s, and neither it nor its seal is told', async () => {
    await store('project', 'openai', 'sk-project-0123456789', own.baseUrl);
    own.play(() => fails(401, 'bad key sk-project-0123456789'));
    expect(await turn()).toMatchObject({ reason: 'error' });
    const [, error] = brief(await planner.outputs(session));
    expect(error).toContain('PUT /api/v1/projects/WEB/credentials/openai');
    expect(error).not.toContain('PLANNER_MODEL_API_KEY');
    const everything = await planner.database.query(
      `SELECT to_jsonb(o)::text AS row FROM planner_outputs o UNION ALL SELECT to_jsonb(e)::text FROM events e
       UNION ALL SELECT to_jsonb(t)::text FROM planner_turns t UNION ALL SELECT to_jsonb(u)::text FROM llm_usage u`,
    );
    expect(JSON.stringify(everything)).not.toContain('sk-project-0123456789');
  });

  test('a credential whose sealing key is gone ends the turn and says so', async () => {
    await store('project', 'openai', 'project-key', own.baseUrl);
    await planner.database.query(`UPDATE credentials SET key_id = 'gone'`);
    expect(await turn()).toMatchObject({ reason: 'error' });
    expect(brief(await planner.outputs(session))[1]).toMatch(/^error .*no longer has the key.*PLANNER_SECRET_KEYS_OLD/);
  });
});

describe('usage', () => {
  test('spec: planner 9.7: one row a call, closed with what the provider reported, cached tokens apart', async () => {
    planner.model.play(() => [{ usage: { input: 50, output: 7, cached: 20 } }, { text: 'Hi.' }]);
    const { id } = await turn();
    expect(await rows()).toMatchObject([
      {
        turn_id: id, session_id: session, round: 0, attempt: 1, purpose: 'answer', status: 'ok',
        input: 30, output: 7, cache_read: 20, cache_write: 0, estimated: false,
      },
    ]);
    expect((await rows())[0]!['closed_at']).not.toBeNull();
  });

  test('spec: planner 9.7, 9.10: a provider that reports no usage ends no turn; the estimate is marked as such', async () => {
    const delta = (content: object, reason: string | null = null) =>
      ({ chunk: { choices: [{ index: 0, delta: content, finish_reason: reason }] } });
    planner.model.play(() => [delta({ content: 'word '.repeat(100) }), delta({}, 'stop'), { raw: 'data: [DONE]\n\n' }, { end: true }]);
    expect(await turn('word '.repeat(1_000))).toMatchObject({ reason: 'end_turn' });
    const [row] = await rows();
    expect(row).toMatchObject({ status: 'ok', estimated: true });
    expect(row!['input']).toBeGreaterThan(1_000);
    expect(row!['output']).toBeGreaterThan(50);
    expect(row!['output']).toBeLessThan(200);
  });

  test('spec: planner 9.7: a call that is paid twice has two rows, and its answer counts once', async () => {
    const n = planner.model.requests.length;
    planner.model.play((_, at) => (at === n ? [{ text: 'half an answer' }, { wait: 60 }, { cut: true }] : says('whole')));
    const { usage } = await turn();
    expect(await rows()).toMatchObject([
      { attempt: 1, status: 'error', estimated: true },
      { attempt: 2, status: 'ok', estimated: false, input: 100, output: 10 },
    ]);
    expect((await rows())[0]!['input']).toBeGreaterThan(100);
    expect(usage).toMatchObject({ input: 100, output: 10 });
  });

  test('what was reported before a cut counts as reported', async () => {
    const n = planner.model.requests.length;
    const usage = { prompt_tokens: 77, completion_tokens: 3 };
    planner.model.play((_, at) =>
      at === n
        ? [{ chunk: { choices: [{ index: 0, delta: { content: 'half' } }], usage } }, { wait: 60 }, { cut: true }]
        : says('whole'),
    );
    await turn();
    expect((await rows())[0]).toMatchObject({ status: 'error', input: 77, output: 3, estimated: false });
  });

  test('a request that the provider refused cost nothing', async () => {
    planner.model.play(() => fails(400, 'no'));
    await turn();
    expect(await rows()).toMatchObject([{ status: 'error', input: 0, output: 0, estimated: false }]);
  });

  test('a cancelled call is closed as such, with an estimate of what was streamed', async () => {
    planner.model.play(() => [{ text: 'one two three four five six' }, { hang: true }]);
    const id = await planner.send(session, 'go');
    await planner.seen(session, (outputs) => outputs.some(({ body }) => body.type === 'text'));
    await planner.cancel(session);
    await planner.ended(id);
    const [row] = await rows();
    expect(row).toMatchObject({ status: 'cancelled', estimated: true });
    expect(row!['output']).toBeGreaterThan(0);
  });

  test('spec: planner 9.7: a row that its process left open is closed as lost by the sweep, once; a running call\'s is not', async () => {
    await turn();
    await planner.database.query(`UPDATE llm_usage SET status = 'open', estimated = true, input = 42, closed_at = NULL`);
    const told: unknown[] = [];
    const meter = { closed: (call: object, usage: object) => void told.push({ ...call, ...usage }) };
    await sweepUsage(planner.database, meter);
    await sweepUsage(planner.database, meter);
    expect(await rows()).toMatchObject([{ status: 'lost', input: 42, output: 2, estimated: true }]);
    expect(told).toMatchObject([{ organization: 'acme', project: 'WEB', model: 'scripted', status: 'lost', input: 42 }]);

    planner.model.play(() => [{ text: 'wait' }, { hang: true }]);
    const id = await planner.send(session, 'go');
    await until('the call', async () => (await rows()).some(({ status }) => status === 'open'));
    await sweepUsage(planner.database, meter);
    expect((await rows()).at(-1)).toMatchObject({ status: 'open' });
    await planner.cancel(session);
    await planner.ended(id);
  });

  test('spec: planner 9.6: metrics count calls and tokens by the configured model, not by what a provider names itself', async () => {
    planner.model.play(() => [
      { chunk: { model: 'surprise-9', choices: [{ index: 0, delta: { content: 'x' }, finish_reason: null }] } },
      { usage: { input: 11, output: 2 } },
    ]);
    await settings({ model: 'counted' });
    await turn();
    const labels = 'organization="acme",project="WEB",model="counted"';
    // The counters follow the commit.
    const text = await until('the counters', async () => {
      const now = await metrics.registry.metrics();
      return now.includes(labels) && now;
    });
    expect(text).toContain(`ballet_llm_requests_total{${labels},status="ok"} 1`);
    expect(text).toContain(`ballet_llm_tokens_total{${labels},token_type="input"} 11`);
    expect(text).toContain(`ballet_llm_tokens_total{${labels},token_type="output"} 2`);
    expect(text).not.toContain('surprise-9');
  });

  test('labels are bounded: beyond 200 models they are other', async () => {
    const { meter, registry } = createWorkerMetrics();
    const usage = { input: 1, output: 1, cache_read: 0, cache_write: 0 };
    for (let i = 0; i < 300; i++) {
      meter.closed({ organization: 'acme', project: 'WEB', model: `m${i}`, status: 'ok' }, usage);
    }
    const text = await registry.metrics();
    expect(text.match(/^ballet_llm_requests_total\{/gm)).toHaveLength(201);
    expect(text).toContain('model="other",status="ok"} 100');
  });
});

describe('budgets', () => {
  test('spec: planner 9.8: a project\'s is checked before each call; used up, the turn ends and says until when and where', async () => {
    await settings({ daily_tokens: 100 });
    planner.model.play(() => [{ usage: { input: 90, output: 10 } }, { text: 'Hi.' }]);
    expect(await turn()).toMatchObject({ reason: 'end_turn' });
    const requests = planner.model.requests.length;
    expect(await turn()).toMatchObject({ reason: 'error' });
    expect(planner.model.requests.length).toBe(requests);
    expect(brief(await planner.outputs(session)).at(-2)).toMatch(
      /^error Today's budget of 100 tokens of project WEB is used up. It is full again at \d{4}-\d\d-\d\dT00:00Z.*PATCH \/api\/v1\/projects\/WEB/,
    );
    await settings({ daily_tokens: 1_000 });
    expect(await turn()).toMatchObject({ reason: 'end_turn' });
  });

  test('it is not retried, and only its class enters the history', async () => {
    await settings({ daily_tokens: 1 });
    await turn();
    const { id } = await turn();
    const history = JSON.stringify(await planner.client.workflow.getHandle(`planner-turn-${id}`).fetchHistory());
    expect(history).toContain('"type":"budget"');
    expect(history).not.toContain('used up');
    expect(brief(await planner.outputs(session)).filter((line) => line.startsWith('retrying'))).toEqual([]);
  });

  test('within a turn of several calls it stops the next one, and open calls are answered', async () => {
    await settings({ daily_tokens: 50 });
    const n = planner.model.requests.length;
    planner.model.play((_, at) => (at === n ? [{ call: { name: 'list_items', input: {} } }] : says('done')));
    expect(await turn()).toMatchObject({ reason: 'error', rounds: 1 });
    const [, , results] = await planner.transcript(session);
    expect(results).toMatchObject({ role: 'user', blocks: [{ type: 'tool_result', is_error: false }] });
  });

  test('spec: planner 9.8: the organization\'s counts all its projects; a larger one of the project does not lift it', async () => {
    await organizationSettings({ daily_tokens: 100 });
    await settings({ daily_tokens: 1_000_000 });
    await turn();
    expect(await turn()).toMatchObject({ reason: 'error' });
    expect(brief(await planner.outputs(session)).at(-2)).toMatch(/organization acme is used up/);
  });

  test('spec: planner 9.8: cached reads do not count, and a UTC day later the budget is full again', async () => {
    await settings({ daily_tokens: 100 });
    planner.model.play(() => [{ usage: { input: 5_000, output: 10, cached: 4_950 } }, { text: 'Hi.' }]);
    await turn();
    expect(await turn()).toMatchObject({ reason: 'end_turn' });
    expect(await turn()).toMatchObject({ reason: 'error' });
    await planner.database.query(`UPDATE llm_usage SET opened_at = date_trunc('day', now(), 'UTC') - interval '1 second'`);
    expect(await turn()).toMatchObject({ reason: 'end_turn' });
  });

  test('spec: planner 9.8, 13.3: the installation\'s default is an organization\'s that sets none', async () => {
    const limited = await startTestPlanner();
    try {
      await limited.startWorker({ gateway: { installation: { model: 'scripted', skill: 'planner', daily_tokens: 100 } } });
      const one = await limited.session();
      expect(await limited.ended(await limited.send(one, 'go'))).toMatchObject({ reason: 'end_turn' });
      expect(await limited.ended(await limited.send(one, 'go'))).toMatchObject({ reason: 'error' });
      expect(brief(await limited.outputs(one)).at(-2)).toContain('PLANNER_DAILY_TOKENS');
    } finally {
      await limited.close();
    }
  });
});

describe('the demo installation', () => {
  test('its model answers only for itself: a chosen model without credential, and a credential without model, say so', async () => {
    const demo = await startTestPlanner();
    try {
      await demo.startWorker({ gateway: { demo: true, keys } });
      const project = await projectByKey(demo.database, 'WEB');
      const one = await demo.session();
      const play = async () => demo.ended(await demo.send(one, 'go'));
      const last = async () => brief(await demo.outputs(one)).at(-2);
      expect(await play()).toMatchObject({ reason: 'end_turn' });
      await demo.database.query(`UPDATE projects SET settings = '{"model": "gpt-5"}'`);
      await play();
      expect(await last()).toMatch(/^error The model gpt-5 is chosen, but no credential for it/);
      await transaction(demo.database, (tx) =>
        setCredential(tx, admin, keys, { organization_id: project.organization_id, project_id: project.id }, {
          provider: 'openai', api_key: 'project-key', base_url: own.baseUrl,
        }),
      );
      expect(await play()).toMatchObject({ reason: 'end_turn' });
      expect(sentTo(own).at(-1)).toEqual(['Bearer project-key', 'gpt-5']);
      await demo.database.query(`UPDATE projects SET settings = '{}'`);
      await play();
      expect(await last()).toMatch(/^error No model is chosen for the stored credential\. Set model for the project/);
    } finally {
      await demo.close();
    }
  });
});

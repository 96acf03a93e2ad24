// A history that operators can read: workflows are found by search attributes, tell what they do, and link to the page
// (spec: orchestration "Operators", "Change without breakage").

import type { Connection } from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deployCurrent, listDeployments } from '../cli/deploy.ts';
import { searchAttributes, type SearchAttribute } from '../domain/search-attributes.ts';
import { engineClient, startTurn } from '../planner/engine.ts';
import { missingSearchAttributes, Visibility } from '../planner/visibility.ts';
import { knowsSearchAttributes, startTestPlanner, until, type TestPlanner } from './support/planner.ts';
import { startTestRuns, type TestRuns } from './support/runs.ts';
import { calls, fails, inTurn, says } from './support/scripted-model.ts';

const publicUrl = 'https://planner.example/';
const page = 'https://planner.example/projects/WEB';

interface Described {
  attributes: Partial<Record<SearchAttribute, string>>;
  memo: unknown;
  summary?: string;
  details?: string;
}

/** What each event's metadata says, as the Temporal UI shows it. */
async function summaries(planner: TestPlanner, workflowId: string): Promise<string[]> {
  const { events } = JSON.parse(historyToJSON(await planner.client.workflow.getHandle(workflowId).fetchHistory())) as {
    events: { eventType: string; userMetadata?: { summary?: { data: string } } }[];
  };
  return events.flatMap(({ userMetadata }) =>
    userMetadata?.summary ? [JSON.parse(Buffer.from(userMetadata.summary.data, 'base64').toString()) as string] : [],
  );
}

async function describeWorkflow(planner: TestPlanner, workflowId: string): Promise<Described> {
  const handle = planner.client.workflow.getHandle(workflowId);
  await until('the workflow to end', async () => (await handle.describe()).status.name !== 'RUNNING');
  const found = await handle.describe();
  const attributes = Object.fromEntries(
    searchAttributes.flatMap((name) => {
      const value = found.typedSearchAttributes.get(defineSearchAttributeKey(name, 'KEYWORD'));
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const [summary, details] = [await found.staticSummary(), await found.staticDetails()];
  return { attributes, memo: found.memo, ...(summary ? { summary } : {}), ...(details ? { details } : {}) };
}

/** Workflows that a query of the UI or the CLI finds; visibility lags a little. */
const found = (planner: TestPlanner, query: string, id: string): Promise<true> =>
  until(`${id} by ${query}`, async () => {
    for await (const { workflowId } of planner.client.workflow.list({ query })) if (workflowId === id) return true;
    return undefined;
  });

describe('a turn', () => {
  let planner: TestPlanner;
  beforeAll(async () => {
    planner = await startTestPlanner();
    await planner.startWorker({ publicUrl, maxRounds: 3 });
    await knowsSearchAttributes(planner);
  });
  afterAll(() => planner.close());

  const ended = async (session: string, text = 'go'): Promise<string> => {
    const turn = await planner.send(session, text);
    await planner.ended(turn);
    return `planner-turn-${turn}`;
  };

  test('spec: orchestration: workers make the search attributes known at their start', async () => {
    const { client, temporal } = planner;
    expect(await missingSearchAttributes(client.connection as Connection, temporal.namespace)).toEqual([]);
  });

  test('it is found by project, session, human and status, and links to its conversation', async () => {
    planner.model.play(() => says('An answer.'));
    const session = await planner.session();
    const id = await ended(session);
    expect(await describeWorkflow(planner, id)).toEqual({
      attributes: { PlannerProject: 'WEB', PlannerSession: session, PlannerHuman: 'ada', PlannerStatus: 'end_turn' },
      memo: { page: `${page}/chat/${session}` },
      summary: 'planner turn, WEB',
      details: `[open in the planner](${page}/chat/${session})`,
    });
    await found(planner, `PlannerProject = 'WEB' AND PlannerSession = '${session}' AND PlannerStatus = 'end_turn'`, id);
  });

  test('its history says which calls it made, and how it ended', async () => {
    const before = planner.model.requests.length;
    const script = inTurn(
      [{ call: { name: 'list_items', input: {} } }, { call: { name: 'no_such_tool', input: {} } }],
      calls('propose_changeset', { title: 'x' }),
      fails(401),
    );
    planner.model.play((request, n) => script(request, n - before));
    const id = await ended(await planner.session());
    const told = await summaries(planner, id);
    // Side by side, in the order of their ends.
    expect(told.splice(2, 2).sort()).toEqual(['list_items', 'unknown']);
    expect(told).toEqual([
      'planner turn, WEB',
      'model call, round 0',
      'model call, round 1', 'propose_changeset',
      'model call, round 2', 'end: error, authentication',
    ]);
    expect((await describeWorkflow(planner, id)).attributes).toMatchObject({ PlannerStatus: 'error' });
  });

  test('while it runs it tells what it does, and is found as running', async () => {
    planner.model.play(() => [{ text: 'Once' }, { hang: true }]);
    const session = await planner.session();
    const turn = await planner.send(session, 'go');
    await planner.seen(session, (outputs) => outputs.some(({ body }) => body.type === 'text'));
    const handle = planner.client.workflow.getHandle(`planner-turn-${turn}`);
    expect(await handle.query('status')).toEqual({ phase: 'model call', round: 0, cancelled: false });
    expect(await handle.query('__temporal_workflow_metadata')).toMatchObject({
      currentDetails: `model call, round 0\n\n[open in the planner](${page}/chat/${session})`,
    });
    await found(planner, `PlannerStatus = 'running' AND PlannerSession = '${session}'`, `planner-turn-${turn}`);
    await planner.cancel(session);
    await planner.ended(turn);
    const { attributes } = await describeWorkflow(planner, `planner-turn-${turn}`);
    expect(attributes).toMatchObject({ PlannerStatus: 'cancelled' });
  });

  test('spec: orchestration: no word of a human or a model is in any of it', async () => {
    planner.model.play(() => says('A secret answer.'));
    const session = await planner.session();
    const id = await ended(session, 'A secret question');
    const raw = await planner.client.workflowService.describeWorkflowExecution({
      namespace: planner.temporal.namespace,
      execution: { workflowId: id },
    });
    const payloads = [JSON.stringify(raw), historyToJSON(await planner.client.workflow.getHandle(id).fetchHistory())];
    const plain = (_: string, data: string): string => Buffer.from(data, 'base64').toString();
    const decoded = payloads.join().replace(/"([\w+/]{8,}=*)"/g, plain);
    expect(decoded).toContain('model call, round 0');
    expect(decoded).not.toContain('secret');
  });
});

describe('where Temporal does not know the search attributes', () => {
  test('workflows start without them, with one warning, and with them as soon as it does', async () => {
    const planner = await startTestPlanner();
    try {
      const warnings: string[] = [];
      const visibility = new Visibility({ publicUrl, warn: (message) => void warnings.push(message), againMs: 0 });
      const labels = { summary: 'a turn', attributes: { PlannerProject: 'WEB' }, path: '/projects/WEB/chat/s' };
      const client = engineClient(planner.client.connection, planner.temporal.namespace);
      const attributesOf = async (turn: string): Promise<unknown> => {
        await visibility.start(labels, (described) => startTurn(client, { session: 's', turn }, { described }));
        const found = await client.workflow.getHandle(`planner-turn-${turn}`).describe();
        expect(found.memo).toEqual({ page: `${page}/chat/s` });
        return found.typedSearchAttributes.get(defineSearchAttributeKey('PlannerProject', 'KEYWORD'));
      };
      for (const turn of ['1', '2', '3']) expect(await attributesOf(turn)).toBeUndefined();
      expect(warnings).toEqual([expect.stringMatching(/refuses search attributes.*docs\/operators.md/)]);
      await visibility.register(planner.client.connection as Connection, planner.temporal.namespace);
      await knowsSearchAttributes(planner);
      expect(await attributesOf('4')).toBe('WEB');
      expect(warnings).toHaveLength(1);
    } finally {
      await planner.close();
    }
  });
});

describe('a bounded run', () => {
  let runs: TestRuns;
  beforeAll(async () => {
    runs = await startTestRuns({ backoff: 300, heartbeat: 12_000, hostPatience: 4_000 });
    await runs.startHost();
    await knowsSearchAttributes(runs.planner);
  });
  afterAll(() => runs.close());

  const ended = async (id: string, ...modes: string[]): Promise<{ run: string; workflow: string }> => {
    runs.play(...modes);
    const run = await runs.start({ run_id: id, idle_timeout: 1.5 });
    await runs.ended(run);
    return { run, workflow: (await runs.read(run)).workflow_id };
  };

  test('its history tells the attempts, what it waited for, and the end', async () => {
    const { workflow } = await ended('resumed', 'idle', 'success');
    expect(await summaries(runs.planner, workflow)).toEqual([
      'bounded Claude planning run, WEB', 'preflight', 'Claude, attempt 1', 'backing off, 300 ms', 'before attempt 2',
      'Claude, attempt 2', 'publish the plan of attempt 2', 'end: succeeded',
    ]);
    expect((await describeWorkflow(runs.planner, workflow)).attributes).toEqual({
      PlannerProject: 'WEB', PlannerHuman: 'ada', BoundedRole: 'deep_reasoner', PlannerStatus: 'succeeded',
    });
  });

  test('a failed one is found by its kind of failure', async () => {
    const { run, workflow } = await ended('failed', 'auth');
    expect(await describeWorkflow(runs.planner, workflow)).toMatchObject({
      attributes: { PlannerStatus: 'failed', BoundedFailure: 'authentication' },
      memo: { run, cycle: 0 },
    });
    await found(runs.planner, "BoundedFailure = 'authentication' AND BoundedRole = 'deep_reasoner'", workflow);
    expect((await summaries(runs.planner, workflow)).at(-1)).toBe('end: failed, authentication');
  });
});

// The server moves its versions about in workflows of its own, which takes seconds on a busy machine.
describe('worker versioning', { timeout: 120_000 }, () => {
  test('turns stay with the version that they began with, new ones get the current one', async () => {
    const planner = await startTestPlanner();
    const env = { TEMPORAL_ADDRESS: planner.temporal.address, TEMPORAL_NAMESPACE: planner.temporal.namespace };
    const buildOf = async (turn: string): Promise<unknown> => {
      const { raw } = await planner.client.workflow.getHandle(`planner-turn-${turn}`).describe();
      const { versioningInfo } = raw.workflowExecutionInfo!;
      return [versioningInfo?.deploymentVersion?.buildId, versioningInfo?.behavior];
    };
    const pinned = 1;
    try {
      await planner.startWorker({ build: 'old' });
      await expect(deployCurrent(env, 'new')).rejects.toThrow(/No worker of version new.*planner deploy list/);
      await until('the old version', async () => (await listDeployments(env)).includes('old'));
      expect(await deployCurrent(env, 'old')).toBe('planner: old is current');
      const gate = Promise.withResolvers<void>();
      planner.model.play((_request, n) =>
        n > 0
          ? says('Done.')
          : [{ text: 'Once' }, { gate: gate.promise }, { call: { name: 'list_items', input: {} } }],
      );
      const session = await planner.session();
      const first = await planner.send(session, 'go');
      await planner.seen(session, (outputs) => outputs.some(({ body }) => body.type === 'text'));

      await planner.startWorker({ build: 'new' });
      await until('the new version', async () => (await listDeployments(env)).includes('new'));
      expect(await deployCurrent(env, 'new')).toBe('planner: new is current');
      expect(await deployCurrent(env, 'new')).toBe('planner: new is current already');
      const second = await planner.send(await planner.session(), 'go');
      await planner.ended(second);
      gate.resolve();
      await planner.ended(first);
      expect(await buildOf(first)).toEqual(['old', pinned]);
      expect(await buildOf(second)).toEqual(['new', pinned]);
    } finally {
      await planner.close();
    }
  });

  test('spec: orchestration: one deployment a queue: the host of a repository has its own', async () => {
    const runs = await startTestRuns(undefined, { build: 'v1' });
    const { address, namespace } = runs.planner.temporal;
    const env = { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace };
    try {
      await runs.startHost({ build: 'v1' });
      const listed = async (): Promise<unknown[]> =>
        JSON.parse(await listDeployments(env, { json: true })) as unknown[];
      await until('both deployments', async () => (await listed()).length === 2);
      expect(await deployCurrent(env, 'v1')).toBe('bounded-test-host: v1 is current\nplanner: v1 is current');
      runs.play('success');
      expect(await runs.ended(await runs.start({ run_id: 'versioned' }))).toMatchObject({ status: 'succeeded' });
      expect(await listed()).toEqual(
        ['bounded-test-host', 'planner'].map((deployment) =>
          expect.objectContaining({ deployment, build: 'v1', status: 'current' }),
        ),
      );
    } finally {
      await runs.close();
    }
  });
});

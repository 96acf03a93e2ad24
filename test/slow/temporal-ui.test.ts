// What operators see in the Temporal UI of turns and runs that have finished, were cancelled, were recovered: the story
// is told without the code (spec: orchestration "Operators"). SCREENSHOTS names a folder that keeps what was seen.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { freePort } from '../../cli/stack/ports.ts';
import { Supervisor } from '../../cli/stack/supervisor.ts';
import { findTemporal, temporalPlan } from '../../cli/stack/temporal.ts';
import { knowsSearchAttributes, startTestPlanner, until, type TestPlanner } from '../support/planner.ts';
import { startTestRuns, type TestRuns } from '../support/runs.ts';
import { calls, inTurn, says } from '../support/scripted-model.ts';

const publicUrl = 'https://planner.example';
const say = (): void => undefined;
const folder = mkdtempSync(path.join(tmpdir(), 'planner-ui-'));
const supervisor = new Supervisor(folder, say);
const earlier = process.env['TEST_TEMPORAL_ADDRESS'];
let ui: string;
let runs: TestRuns;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  const [port, uiPort] = [await freePort(), await freePort()];
  await supervisor.start(temporalPlan({ executable: await findTemporal(say), port, uiPort, namespace: 'default' }));
  process.env['TEST_TEMPORAL_ADDRESS'] = `127.0.0.1:${port}`;
  ui = `http://127.0.0.1:${uiPort}`;
  runs = await startTestRuns({ backoff: 300, heartbeat: 12_000, hostPatience: 4_000 }, { publicUrl });
  await knowsSearchAttributes(runs.planner);
  browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  });
  page = await browser.newPage({ viewport: { width: 1_800, height: 1_700 } });
});

afterAll(async () => {
  await browser.close();
  await runs.close();
  await supervisor.end();
  rmSync(folder, { recursive: true, force: true });
  if (earlier === undefined) delete process.env['TEST_TEMPORAL_ADDRESS'];
  else process.env['TEST_TEMPORAL_ADDRESS'] = earlier;
});

/** Opens a workflow that has ended. */
async function opens({ client, temporal }: TestPlanner, workflowId: string): Promise<void> {
  const handle = client.workflow.getHandle(workflowId);
  await until('the workflow to end', async () => (await handle.describe()).status.name !== 'RUNNING');
  const { runId } = await handle.describe();
  await page.goto(`${ui}/namespaces/${temporal.namespace}/workflows/${workflowId}/${runId}/history`);
}

/** Waits for each of the texts. */
async function shows(name: string, ...texts: string[]): Promise<void> {
  for (const text of texts) {
    await expect.poll(() => page.getByText(text).first().isVisible(), { message: text, timeout: 30_000 }).toBe(true);
  }
  await keep(name);
}

/** The workflow's details lead to the page. */
async function links(name: string, address: string): Promise<void> {
  await page.goto(page.url().replace(/history.*/, 'user-metadata'));
  const link = page.frameLocator('#user-metadata-details').getByRole('link', { name: 'open in the planner' });
  await expect.poll(() => link.getAttribute('href'), { timeout: 30_000 }).toBe(address);
  await keep(name);
}

async function keep(name: string): Promise<void> {
  const kept = process.env['SCREENSHOTS'];
  if (!kept) return;
  mkdirSync(kept, { recursive: true });
  await page.screenshot({ path: path.join(kept, `${name}.png`), fullPage: true });
}

describe('a turn', () => {
  test('finished: its calls by name, its end, the link to its conversation', async () => {
    const { planner } = runs;
    planner.model.play(
      inTurn(calls('list_items', {}), calls('propose_changeset', { title: 'x', operations: [] }), says('Done.')),
    );
    const session = await planner.session();
    const turn = await planner.send(session, 'go');
    await planner.ended(turn);
    await opens(planner, `planner-turn-${turn}`);
    await shows('turn-finished',
      'planner turn, WEB', 'model call, round 0', 'list_items', 'propose_changeset', 'model call, round 2', 'end_turn');
    await links('turn-link', `${publicUrl}/projects/WEB/chat/${session}`);
  });

  test('cancelled: the call that it was in, and its end', async () => {
    const { planner } = runs;
    planner.model.play(() => [{ text: 'Once' }, { hang: true }]);
    const session = await planner.session();
    const turn = await planner.send(session, 'go');
    await planner.seen(session, (outputs) => outputs.some(({ body }) => body.type === 'text'));
    await planner.cancel(session);
    await planner.ended(turn);
    await opens(planner, `planner-turn-${turn}`);
    await shows('turn-cancelled', 'model call, round 0', 'end: cancelled');
  });

  test('recovered: the attempt that was lost with its worker, and the one that answered', async () => {
    const planner = await startTestPlanner();
    try {
      const worker = await planner.spawnWorker({ PLANNER_PUBLIC_URL: publicUrl });
      await knowsSearchAttributes(planner);
      planner.model.play((_request, n) => (n === 0 ? [{ text: 'Once' }, { hang: true }] : says('Whole.')));
      const session = await planner.session();
      const turn = await planner.send(session, 'go');
      await planner.seen(session, (outputs) => outputs.some(({ body }) => body.type === 'text'));
      worker.kill('SIGKILL');
      await planner.startWorker({ publicUrl });
      expect(await planner.ended(turn, 60_000)).toMatchObject({ reason: 'end_turn' });
      await opens(planner, `planner-turn-${turn}`);
      await page.getByText('model call, round 0').first().click();
      await shows('turn-recovered', 'model call, round 0', 'activity Heartbeat timeout', 'end_turn');
    } finally {
      await planner.close();
    }
  });
});

describe('a bounded run', () => {
  beforeEach(async () => {
    host = await runs.startHost();
  });
  afterEach(() => host.close());
  let host: Awaited<ReturnType<TestRuns['startHost']>>;

  const workflowOf = async (run: string): Promise<string> => (await runs.read(run)).workflow_id;

  test('finished: its attempt, the publishing, the link to its page', async () => {
    runs.play('success');
    const run = await runs.start({ run_id: 'finished' });
    await runs.ended(run);
    await opens(runs.planner, await workflowOf(run));
    await shows('run-finished', 'bounded Claude planning run, WEB', 'preflight', 'Claude, attempt 1',
      'publish the plan of attempt 1', 'end: succeeded');
    await links('run-link', `${publicUrl}/projects/WEB/runs/${run}`);
  });

  test('cancelled: the attempt that was ended', async () => {
    runs.play('idle');
    const run = await runs.start({ run_id: 'cancelled' });
    await runs.seen(run, (now) => now.phase === 'writing');
    await runs.cancel(run);
    await runs.ended(run);
    await opens(runs.planner, await workflowOf(run));
    await shows('run-cancelled', 'Claude, attempt 1', 'end: cancelled');
  });

  test('recovered: the attempt that was lost with its worker, and the one that went on', async () => {
    await host.close();
    const worker = await runs.spawnHost();
    runs.play('idle', 'success');
    const run = await runs.start({ run_id: 'recovered' });
    await runs.seen(run, (now) => now.phase === 'writing');
    worker.kill('SIGKILL');
    host = await runs.startHost();
    expect(await runs.ended(run, 60_000)).toMatchObject({ status: 'succeeded', attempts: 2 });
    await opens(runs.planner, await workflowOf(run));
    await shows('run-recovered', 'Claude, attempt 1', 'recover attempt 1', 'before attempt 2', 'Claude, attempt 2',
      'end: succeeded');
  });
});

test('operators find what was cancelled by its attributes', async () => {
  const { planner } = runs;
  planner.model.play(() => [{ text: 'Once' }, { hang: true }]);
  const session = await planner.session();
  const turn = await planner.send(session, 'go');
  await planner.seen(session, (outputs) => outputs.some(({ body }) => body.type === 'text'));
  await planner.cancel(session);
  await planner.ended(turn);
  const query = encodeURIComponent(`PlannerSession = '${session}' AND PlannerStatus = 'cancelled'`);
  const address = `${ui}/namespaces/${planner.temporal.namespace}/workflows?query=${query}`;
  await until('the workflow to be found', async () => {
    await page.goto(address);
    return page.getByText(`planner-turn-${turn}`).first().waitFor({ timeout: 15_000 }).then(() => true, () => false);
  }, 90_000);
  await shows('found', 'plannerTurn');
});

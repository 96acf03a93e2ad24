// What is scraped of API and workers: names, units, labels, and that each thing that happens is counted once
// (docs/metrics.md, spec: planner 8, 9, orchestration).

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Registry } from 'prom-client';
import { sendMessage } from '../planner/conversation.ts';
import { readOpenWork } from '../store/open-work.ts';
import { measureFacts, measureOpenWork } from '../telemetry/metrics.ts';
import { createWorkerMetrics } from '../worker/metrics.ts';
import { observe, samples, total, type Observed, type Sample } from './support/observed.ts';
import { ada, startTestPlanner, type TestPlanner } from './support/planner.ts';
import { startTestRuns, type TestRuns } from './support/runs.ts';
import { calls, fails, inTurn, says } from './support/scripted-model.ts';

let planner: TestPlanner;
let observed: Observed;
beforeAll(async () => {
  planner = await startTestPlanner();
  observed = await observe(planner);
});
afterAll(async () => {
  await observed?.close();
  await planner?.close();
});

/** Metrics of both, added up. */
async function scraped(): Promise<Sample[]> {
  return [...(await observed.metrics('api')), ...(await observed.metrics('worker'))];
}

async function counted(act: () => Promise<void>): Promise<(name: string, labels?: Record<string, string>) => number> {
  const before = await scraped();
  await act();
  const after = await scraped();
  return (name, labels) => total(after, name, labels) - total(before, name, labels);
}

async function turn(text = 'Plan it.'): Promise<void> {
  await planner.ended(await planner.send(await planner.session(), text));
}

describe('what happens is counted', () => {
  test('a turn with a retry and two tool calls: once each, with its durations', async () => {
    planner.model.play(inTurn(fails(503), calls('list_items', {}), calls('no_such_tool', {}), says('Done.')));
    const more = await counted(() => turn());
    expect(more('ballet_planner_turns_total', { reason: 'end_turn' })).toBe(1);
    expect(more('ballet_planner_turn_seconds_count', { reason: 'end_turn' })).toBe(1);
    expect(more('ballet_planner_turn_seconds_sum')).toBeGreaterThan(0);
    expect(more('ballet_planner_first_text_seconds_count')).toBe(1);
    expect(more('ballet_planner_retries_total', { class: 'overloaded' })).toBe(1);
    expect(more('ballet_planner_tool_call_seconds_count', { tool: 'list_items', outcome: 'ok' })).toBe(1);
    expect(more('ballet_planner_tool_call_seconds_count', { tool: 'unknown', outcome: 'error' })).toBe(1);
    const web = { organization: 'acme', project: 'WEB', model: 'scripted' };
    expect(more('ballet_llm_requests_total', { ...web, status: 'ok' })).toBe(3);
    expect(more('ballet_llm_requests_total', { ...web, status: 'error' })).toBe(1);
    expect(more('ballet_llm_tokens_total', { ...web, token_type: 'input' })).toBeGreaterThan(0);
    expect(more('ballet_llm_request_seconds_count', { model: 'scripted', status: 'ok' })).toBe(3);
    expect(more('ballet_llm_first_text_seconds_count', { model: 'scripted' })).toBe(1);
  });

  test('a turn that ends with an error, by its reason', async () => {
    planner.model.play(() => fails(401));
    const more = await counted(() => turn());
    expect(more('ballet_planner_turns_total', { reason: 'error' })).toBe(1);
    expect(more('ballet_planner_turns_total', { reason: 'end_turn' })).toBe(0);
    expect(more('ballet_planner_first_text_seconds_count')).toBe(0);
  });
});

describe('bounded runs', () => {
  let runs: TestRuns;
  const registry = new Registry();
  beforeAll(async () => {
    runs = await startTestRuns();
    measureFacts(registry, runs.planner.database.facts);
    await runs.startHost();
  });
  afterAll(() => runs.close());

  test('by status and kind, attempts by kind, and what they cost', async () => {
    runs.play('overloaded', 'success', 'budget');
    const run = await runs.start({ run_id: 'counted' });
    expect(await runs.ended(run)).toMatchObject({ status: 'succeeded', attempts: 2 });
    const costly = await runs.ended(await runs.start({ run_id: 'costly' }));
    expect(costly).toMatchObject({ status: 'failed', failure_kind: 'budget_exceeded', cost_usd: 2.4 });
    const found = samples(await registry.metrics());
    expect(total(found, 'ballet_bounded_runs_total', { status: 'succeeded', kind: 'none' })).toBe(1);
    expect(total(found, 'ballet_bounded_run_seconds_count', { status: 'succeeded' })).toBe(1);
    expect(total(found, 'ballet_bounded_runs_total', { status: 'failed', kind: 'budget_exceeded' })).toBe(1);
    expect(total(found, 'ballet_bounded_attempts_total')).toBe(3);
    expect(total(found, 'ballet_bounded_attempts_total', { kind: 'none' })).toBe(1);
    expect(total(found, 'ballet_bounded_cost_usd_total')).toBeCloseTo(2.4, 6);
  });

  test('a run that its host refuses is no failure, and costs nothing', async () => {
    const before = samples(await registry.metrics());
    mkdirSync(path.join(runs.repo, '.partner/plans'), { recursive: true });
    writeFileSync(path.join(runs.repo, '.partner/plans/refused.md'), 'Mine.');
    const run = await runs.start({ run_id: 'refused' });
    expect(await runs.ended(run)).toMatchObject({ status: 'rejected' });
    const after = samples(await registry.metrics());
    const more = (name: string, labels?: Record<string, string>): number =>
      total(after, name, labels) - total(before, name, labels);
    expect(more('ballet_bounded_runs_total', { status: 'rejected', kind: 'none' })).toBe(1);
    expect(more('ballet_bounded_runs_total')).toBe(1);
    expect(more('ballet_bounded_cost_usd_total')).toBe(0);
  });
});

describe('what waits, where no worker runs', () => {
  let quiet: TestPlanner;
  const registry = new Registry();
  beforeAll(async () => {
    quiet = await startTestPlanner();
    measureFacts(registry, quiet.database.facts);
    measureOpenWork(registry, () => readOpenWork(quiet.database));
  });
  afterAll(() => quiet.close());

  test('the oldest pending turn tells its age; a cancel ends it, and is counted', async () => {
    const session = await quiet.session();
    const { turn } = await sendMessage(quiet.database, ada, { session, text: 'Later.' });
    await quiet.database.query(`UPDATE planner_turns SET created_at = now() - interval '90 s' WHERE id = $1`, [turn]);
    const waiting = samples(await registry.metrics());
    expect(total(waiting, 'ballet_planner_open_turns', { status: 'pending' })).toBe(1);
    expect(total(waiting, 'ballet_planner_open_turns', { status: 'active' })).toBe(0);
    expect(total(waiting, 'ballet_planner_oldest_pending_seconds')).toBeGreaterThanOrEqual(90);
    await quiet.cancel(session);
    // Looks within a second are one.
    await sleep(1_100);
    const idle = samples(await registry.metrics());
    expect(total(idle, 'ballet_planner_open_turns')).toBe(0);
    expect(total(idle, 'ballet_planner_oldest_pending_seconds')).toBe(0);
    expect(total(idle, 'ballet_planner_turns_total', { reason: 'cancelled' })).toBe(1);
    expect(total(idle, 'ballet_planner_turn_seconds_sum', { reason: 'cancelled' })).toBeGreaterThanOrEqual(90);
  });

  test('without a database a scrape still answers, in time', async () => {
    const lost = new Registry();
    measureOpenWork(lost, () => new Promise(() => undefined));
    const begun = performance.now();
    const found = samples(await lost.metrics());
    expect(performance.now() - begun).toBeLessThan(8_000);
    expect(found.map(({ name, value }) => [name, value])).toEqual([['ballet_database_up', 0]]);
  });
});

describe('what is scraped', () => {
  const text = async (of: 'api' | 'worker'): Promise<string> => (await fetch(`${observed[of]}/metrics`)).text();

  test('every metric has help, a type, and a name that tells its unit', async () => {
    for (const of of ['api', 'worker'] as const) {
      const found = await text(of);
      const types = [...found.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name!, type!] as const);
      const ours = types.filter(([name]) => name.startsWith('ballet_'));
      expect(ours.length).toBeGreaterThan(10);
      expect(new Set(types.map(([name]) => name)).size).toBe(types.length);
      for (const [name, type] of ours) {
        expect(found).toMatch(new RegExp(`^# HELP ${name} \\S`, 'm'));
        expect([name, type, unitFits(name, type)]).toEqual([name, type, true]);
      }
      expect(types.map(([name]) => name)).toContain('process_resident_memory_bytes');
    }
  });

  test("the worker's own come with those of Temporal's SDK, in seconds and with _total", async () => {
    const found = await text('worker');
    expect(found).toMatch(/^temporal_workflow_completed_total\{/m);
    expect(found).toMatch(/^temporal_activity_execution_latency_seconds_count\{/m);
    expect(found).toMatch(/^temporal_request_total\{/m);
  });

  test('labels are bounded: no ids of turns, sessions or runs', async () => {
    const found = [...(await observed.metrics('api')), ...(await observed.metrics('worker'))];
    const values = new Set(found.flatMap(({ labels }) => Object.values(labels)));
    const ids = [...values].filter((value) => /[0-9a-f]{8}-[0-9a-f]{4}-|planner-turn-/.test(value));
    expect(ids).toEqual([]);
  });

  test('a caller that makes up methods and paths makes no new labels', async () => {
    await fetch(`${observed.api}/api/v1/made-up-${Date.now()}`, { method: 'PROPFIND' });
    const found = await observed.metrics('api');
    const requests = found.filter(({ name }) => name === 'ballet_api_request_seconds_count');
    expect(requests.map(({ labels }) => labels['method'])).toContain('other');
    expect(requests.filter(({ labels }) => labels['route']?.includes('made-up'))).toEqual([]);
  });

  test('the document names each of our metrics, and no other', async () => {
    const documented = new Set(
      [...readFileSync(new URL('../docs/metrics.md', import.meta.url), 'utf8').matchAll(/^\| `(ballet_\w+)`/gm)].map(
        ([, name]) => name!,
      ),
    );
    const names = [...`${await text('api')}\n${await text('worker')}`.matchAll(/^# TYPE (ballet_\S+)/gm)];
    expect([...documented].sort()).toEqual([...new Set(names.map(([, name]) => name!))].sort());
  });
});

/** Counters end in _total, durations in _seconds; gauges of a number name what they count. */
function unitFits(name: string, type: string): boolean {
  if (type === 'counter') return name.endsWith('_total');
  if (type === 'histogram') return /_(seconds|bytes)$/.test(name);
  return !name.endsWith('_total');
}

test('spec: planner 9.6: names of models that a process has not seen among its first 200 share a label', async () => {
  const { registry, meter } = createWorkerMetrics();
  const usage = { input: 1, output: 1, cache_read: 0, cache_write: 0 };
  for (let n = 0; n < 250; n++) {
    meter.closed({ organization: 'acme', project: 'WEB', model: `model-${n}`, status: 'ok' }, usage);
  }
  const found = samples(await registry.metrics()).filter(({ name }) => name === 'ballet_llm_requests_total');
  expect(found.length).toBe(201);
  expect(total(found, 'ballet_llm_requests_total', { model: 'other' })).toBe(50);
});

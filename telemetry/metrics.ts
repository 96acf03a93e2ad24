// Metrics that API and workers have in common (docs/metrics.md): what happened in this process, and what waits in the
// database, which every process shows alike.

import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Fact, Facts } from './fact.ts';
import { measureRevalidations } from './revalidation-metrics.ts';

/** What is open in the whole installation; ages in seconds, 0 where nothing waits. */
export interface OpenWork {
  turns: OpenKind;
  runs: OpenKind;
}

export interface OpenKind {
  pending: number;
  active: number;
  oldestPendingSeconds: number;
}

const turnBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800];
const runBuckets = [10, 30, 60, 120, 300, 600, 1_200, 3_600, 14_400, 86_400];
const toolBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** Counts facts from now on. Returns how to stop. */
export function measureFacts(registry: Registry, facts: Facts): () => void {
  const registers = [registry];
  const turns = new Histogram({
    name: 'ballet_planner_turn_seconds',
    help: 'Planner turns that have ended, by reason: from the message to the end.',
    labelNames: ['reason'] as const,
    buckets: turnBuckets,
    registers,
  });
  const firstText = new Histogram({
    name: 'ballet_planner_first_text_seconds',
    help: "From a human's message to the first text of the answer.",
    buckets: turnBuckets,
    registers,
  });
  const tools = new Histogram({
    name: 'ballet_planner_tool_call_seconds',
    help: 'Tool calls by tool and outcome (ok, error).',
    labelNames: ['tool', 'outcome'] as const,
    buckets: toolBuckets,
    registers,
  });
  const count = <T extends string>(name: string, help: string, labelNames: readonly T[]): Counter<T> =>
    new Counter({ name, help, labelNames, registers });
  const ended = count('ballet_planner_turns_total', 'Planner turns that have ended, by reason.', ['reason']);
  const retries = count('ballet_planner_retries_total', 'Calls that failed and are tried again, by class.', ['class']);
  const runs = count('ballet_bounded_runs_total', 'Bounded runs that have ended, by status and kind of failure.', [
    'status',
    'kind',
  ]);
  const attempts = count('ballet_bounded_attempts_total', 'Attempts of bounded runs, by kind of failure.', ['kind']);
  const cost = count('ballet_bounded_cost_usd_total', 'What attempts of bounded runs have cost, USD.', []);
  const runSeconds = new Histogram({
    name: 'ballet_bounded_run_seconds',
    help: 'Bounded runs that have ended, by status: from the start of a cycle to its end.',
    labelNames: ['status'] as const,
    buckets: runBuckets,
    registers,
  });
  const validations = measureRevalidations(registry);
  return facts.on((fact: Fact) => {
    switch (fact.kind) {
      case 'turn_ended':
        ended.inc({ reason: fact.reason });
        return turns.observe({ reason: fact.reason }, fact.seconds);
      case 'first_text':
        return firstText.observe(fact.seconds);
      case 'tool_call_ended':
        return tools.observe({ tool: fact.tool, outcome: fact.outcome }, fact.seconds);
      case 'retrying':
        return retries.inc({ class: fact.failure });
      case 'attempt_ended':
        attempts.inc({ kind: fact.failure ?? 'none' });
        return cost.inc(fact.cost_usd);
      case 'run_ended':
        runs.inc({ status: fact.status, kind: fact.failure ?? 'none' });
        return runSeconds.observe({ status: fact.status }, fact.seconds);
      case 'revalidation_ended':
        return validations(fact);
    }
  });
}

/** A scrape must not wait for a database that is away. */
const readMs = 2_000;
const freshMs = 1_000;

/** Gauges of what is open, read when they are scraped; without the database they are absent, and it is told as down. */
export function measureOpenWork(registry: Registry, read: () => Promise<OpenWork>): void {
  const look = shared(() => inTime(read()));
  const gauge = (name: string, help: string, show: (gauge: Gauge<'status'>, open: OpenWork) => void): void => {
    new Gauge({
      name,
      help,
      labelNames: ['status'] as const,
      registers: [registry],
      async collect() {
        const open = await look();
        this.reset();
        if (open) show(this, open);
      },
    });
  };
  const both = (by: Gauge<'status'>, { pending, active }: OpenKind): void => {
    by.set({ status: 'pending' }, pending);
    by.set({ status: 'active' }, active);
  };
  gauge('ballet_planner_open_turns', 'Turns of the installation: pending, active.', (by, { turns }) => both(by, turns));
  gauge('ballet_bounded_open_runs', 'Bounded runs of the installation: pending, active.', (by, { runs }) =>
    both(by, runs),
  );
  gauge('ballet_planner_oldest_pending_seconds', 'How long the oldest pending turn waits; 0: none.', (by, { turns }) =>
    by.set(turns.oldestPendingSeconds),
  );
  gauge('ballet_bounded_oldest_pending_seconds', 'How long the oldest pending run waits; 0: none.', (by, { runs }) =>
    by.set(runs.oldestPendingSeconds),
  );
  new Gauge({
    name: 'ballet_database_up',
    help: 'Whether PostgreSQL answers this process.',
    registers: [registry],
    async collect() {
      this.set((await look()) ? 1 : 0);
    },
  });
}

/** All gauges of a scrape, and scrapes within a second, get one look. */
function shared<T>(look: () => Promise<T>): () => Promise<T> {
  let last: Promise<T> | undefined;
  let at = -Infinity;
  return () => {
    if (last && performance.now() - at < freshMs) return last;
    at = performance.now();
    return (last = look());
  };
}

async function inTime<T>(reading: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), readMs)));
  return Promise.race([reading.catch(() => undefined), late]).finally(() => clearTimeout(timer));
}

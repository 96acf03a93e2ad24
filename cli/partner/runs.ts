// `partner status`, `cancel` and `artifacts` (spec: bounded-claude 1 and 7).

import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRest, type Rest, type Run, type RunDetails } from '../../client/index.ts';
import { runPath } from '../../domain/bounded/run-id.ts';
import { age, clean, cleanLine, table } from '../print.ts';
import type { Base } from './reach.ts';
import { exitCodes, reject } from './reject.ts';
import { quoted } from './repo.ts';
import { knownAlias } from './repositories.ts';

export interface RunQuery {
  /** Real path of the repository, where named: several may have a run of that id. */
  repo: string | undefined;
  json?: boolean;
}

const states: Readonly<Record<Run['status'], string>> = {
  pending: 'waits for a worker',
  running: 'runs',
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'was cancelled',
  rejected: 'was rejected, nothing was paid',
};

/** One run with its attempts. Errors: the client's. */
export async function showRun(base: Base, id: string, query: RunQuery): Promise<string> {
  const rest = createRest(base);
  const run = await rest.run(id, await at(rest, query));
  if (query.json) {
    const { packet: _packet, ...facts } = run;
    return JSON.stringify(facts, null, 2);
  }
  return renderRun(run, Date.now());
}

/** The newest runs. Errors: the client's. */
export async function listRuns(base: Base, options: { limit: number; json?: boolean }): Promise<string> {
  const { items } = await createRest(base).runs({ limit: options.limit });
  if (options.json) return JSON.stringify({ items }, null, 2);
  if (items.length === 0) return 'No runs yet. "partner plan" starts one.';
  const head = ['run', 'repo', 'role', 'status', 'attempts', 'USD', 'age'];
  const rows = items.map((run) => [
    run.run_id,
    run.repo,
    `${run.role} on ${run.host}`,
    cleanLine(statusOf(run), 60),
    String(run.attempts),
    run.demo ? 'demo' : run.cost_usd.toFixed(2),
    age(run.created_at, Date.now()),
  ]);
  return table(head, rows);
}

const statusOf = (run: Run): string =>
  run.status === 'running' ? run.phase : run.failure_kind && run.status === 'failed' ? run.failure_kind : run.status;

/** What a person needs to know of a run, and what to do next. */
export function renderRun(run: RunDetails, now: number): string {
  const lines = [
    ['run', `${run.run_id}${run.demo ? ' (DEMO: no model is asked)' : ''}`],
    ['status', stateOf(run)],
    ['failure', run.failure_kind ? `${run.failure_kind}. ${run.failure_detail ?? ''}` : ''],
    ...(run.problems ?? []).map((problem) => ['problem', problem]),
    ['repository', `${run.repo} on ${run.machine}, project ${run.project}`],
    ['role', `${run.role} on ${run.host}${run.model ? `: ${run.model}, ${run.effort}` : ''}`],
    ['cost', `${run.cost_usd.toFixed(4)} of ${run.budget_usd} USD${run.cost_estimated ? ' (estimated)' : ''}`],
    ['started', `${run.created_at} by ${run.created_by}, ${age(run.created_at, now)} ago`],
    ['workflow', run.workflow_url ?? run.workflow_id],
    ...run.attempt_list.map((each) => [`attempt ${each.attempt}`, attemptText(each)]),
    ['plan', run.status === 'succeeded' ? run.output : ''],
    ['next', next(run)],
  ];
  return lines
    .filter(([, text]) => text)
    .map(([name, text]) => clean(`${name?.padEnd(11)} ${text}`))
    .join('\n');
}

function stateOf({ status, phase, cancel_requested, ended_at }: Run): string {
  const stopping = cancel_requested && ended_at === undefined;
  return `${states[status]}${status === 'running' ? `: ${phase}` : ''}${stopping ? ' (being cancelled)' : ''}`;
}

function attemptText({ status, failure_kind, session_id, directory }: RunDetails['attempt_list'][number]): string {
  const how = failure_kind ? `${status}, ${failure_kind}` : status;
  return `${how}, session ${session_id} (.partner/runs/${directory})`;
}

function next({ status, run_id }: RunDetails): string {
  const id = quoted(run_id);
  if (status === 'running' || status === 'pending') return `partner cancel ${id}`;
  if (status === 'failed' || status === 'cancelled') return `partner artifacts ${id} recovery.md`;
  return status === 'succeeded' ? `partner artifacts ${id} plan.md` : '';
}

/** How long a cancel waits for the run's end. */
const patienceMs = 15_000;

/** Asks for the stop and waits for the run's end. Returns what to say and the exit code. Errors: the client's. */
export async function cancel(base: Base, id: string, query: RunQuery): Promise<{ text: string; exitCode: number }> {
  const rest = createRest(base);
  const run = await rest.run(id, await at(rest, query));
  if (run.ended_at !== undefined)
    return { text: `Run ${run.run_id} has ended already: it ${states[run.status]}.`, exitCode: exitCodes.created };
  await rest.cancelRun(run.id);
  const until = Date.now() + patienceMs;
  let now = run;
  while (now.ended_at === undefined && Date.now() < until) {
    await sleep(200);
    now = await rest.run(run.id);
  }
  if (query.json)
    return { text: JSON.stringify({ run_id: run.run_id, status: now.status }), exitCode: exitCodes.created };
  if (now.ended_at !== undefined)
    return { text: `Run ${run.run_id} ${states[now.status]}.`, exitCode: exitCodes.created };
  return { text: `Run ${run.run_id} is being cancelled; its host has not answered yet.`, exitCode: exitCodes.broken };
}

/** Without a name: where each attempt's files are; with one: its text. Errors: the client's. */
export async function artifacts(
  base: Base,
  id: string,
  name: string | undefined,
  query: RunQuery & { attempt?: number },
): Promise<string> {
  const rest = createRest(base);
  const run = await rest.run(id, await at(rest, query));
  if (name !== undefined)
    return rest.runArtifact(run.id, name, query.attempt === undefined ? {} : { attempt: query.attempt });
  const { items } = await rest.repositories();
  const root = items.find(({ alias }) => alias === run.repo)?.path;
  const files = run.attempt_list.flatMap(({ attempt }) =>
    root ? filesIn(path.join(root, runPath(run.run_id, attempt))) : [],
  );
  const plan = root && run.status === 'succeeded' ? filesAt([path.join(root, run.output)]) : [];
  if (query.json) return JSON.stringify({ run_id: run.run_id, items: [...files, ...plan] }, null, 2);
  if (files.length === 0)
    return (
      `Run ${run.run_id} has no files here; it belongs to ${run.machine}. ` +
      `Name one to read it: partner artifacts ${quoted(run.run_id)} metadata.json`
    );
  return table(
    ['bytes', 'file'],
    [...files, ...plan].map(({ bytes, file }) => [String(bytes), clean(file)]),
  );
}

interface FileFact {
  file: string;
  bytes: number;
}

const filesIn = (folder: string): FileFact[] =>
  existsSync(folder)
    ? filesAt(
        readdirSync(folder)
          .filter((name) => !name.startsWith('.'))
          .map((name) => path.join(folder, name)),
      )
    : [];

const filesAt = (files: string[]): FileFact[] =>
  files.filter((file) => existsSync(file)).map((file) => ({ file, bytes: statSync(file).size }));

async function at(rest: Rest, { repo }: RunQuery): Promise<{ repo?: string }> {
  if (repo === undefined) return {};
  const alias = await knownAlias(rest, repo);
  if (alias === undefined) throw reject('repository', `No run was ever started in ${repo}.`);
  return { repo: alias };
}

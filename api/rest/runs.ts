// Bounded runs, repositories, artifacts (spec: bounded-claude 1, 7, 8, planner 10).

import {
  cancelRun,
  listRepositories,
  listRuns,
  readArtifact,
  readRun,
  resumeRun,
  startRun,
} from '../../bounded/index.ts';
import { workflowUrl, type App } from '../app.ts';
import { empty, listOf, longPageQuery } from '../contracts/common.ts';
import {
  artifactQuery,
  newRun,
  repository,
  resume,
  run as runBody,
  runDetails,
  runQuery,
  runsQuery,
  startedRun,
  type StartedRunBody,
} from '../contracts/runs.ts';
import { pageOf } from './page.ts';
import { Routes, TextAnswer, textAnswer, type Call } from './routes.ts';

const run = '/bounded-runs/:run';

export function runRoutes(app: App): Routes {
  const routes = new Routes(app, 'Bounded runs');
  readRoutes(routes, app);
  writeRoutes(routes, app);
  return routes;
}

function readRoutes(routes: Routes, app: App): void {
  routes.get(
    '/repositories',
    { summary: 'Repositories that runs may plan for', query: longPageQuery, answer: listOf(repository) },
    async ({ database, principal, query }) => {
      const { items, ...more } = pageOf(await listRepositories(database, principal), query, ({ alias }) => alias);
      return { items: items.map(({ alias, project, machine, path }) => ({ alias, project, machine, path })), ...more };
    },
  );
  routes.get(
    '/bounded-runs',
    {
      summary: 'Runs, newest first',
      query: runsQuery,
      answer: listOf(runBody),
      errors: ['forbidden', 'not_found'],
    },
    async ({ database, principal, query }) => {
      const { items, next } = await listRuns(database, principal, query);
      return { items: items.map((one) => linked(app, one)), ...(next ? { next } : {}) };
    },
  );
  routes.get(
    run,
    {
      summary: 'A run with its attempts',
      description: 'A run id that several repositories have is a conflict: name one by `repo`.',
      query: runQuery,
      answer: runDetails,
      errors: ['forbidden', 'not_found', 'conflict'],
    },
    async ({ database, principal, param, query }) =>
      linked(app, await readRun(database, principal, param('run'), query.repo)),
  );
  routes.get(
    `${run}/artifacts/:name`,
    {
      summary: 'An artifact of a run, as it is',
      query: artifactQuery,
      answer: textAnswer,
      media: ['text/markdown', 'application/json', 'application/x-ndjson'],
      errors: ['forbidden', 'not_found', 'conflict'],
    },
    async ({ database, principal, param, query }) => {
      const wanted = { run: param('run'), name: param('name'), repo: query.repo, attempt: query.attempt };
      const { type, text } = await readArtifact(database, principal, wanted);
      return new TextAnswer(type, text);
    },
  );
}

function writeRoutes(routes: Routes, app: App): void {
  routes.post(
    '/bounded-runs',
    {
      summary: 'Start a run',
      body: newRun,
      status: 201,
      answer: startedRun,
      errors: ['forbidden', 'not_found', 'already_exists'],
    },
    (call) => started(app, (write) => startRun(call.database, call.principal, call.body, write), call),
  );
  routes.post(
    `${run}/cancel`,
    {
      summary: 'Cancel a run',
      description: 'Nothing happens to a run that has ended.',
      answer: empty,
      errors: ['forbidden', 'not_found'],
    },
    async ({ database, principal, param }) => {
      await cancelRun(database, principal, { run: param('run') });
      return {};
    },
  );
  routes.post(
    `${run}/resume`,
    {
      summary: 'Resume a run that has ended without a plan',
      body: resume,
      answer: startedRun,
      errors: ['forbidden', 'not_found'],
    },
    (call) => {
      const request = { run: call.param('run'), ...call.body };
      return started(app, (write) => resumeRun(call.database, call.principal, request, write), call);
    },
  );
}

type Start = (write: Call['write']) => Promise<{ run: string; run_id: string; workflow_id: string }>;

async function started(app: App, start: Start, call: Call): Promise<StartedRunBody> {
  return start((body) =>
    call.write(async (tx) => {
      const run = (await body(tx)) as Awaited<ReturnType<Start>>;
      const [counter] = await tx.query<{ number: number }>(
        'SELECT number FROM planner_output_counters WHERE session_id = $1',
        [run.run],
      );
      // What this very transaction tells watchers comes after this number.
      return { ...linked(app, run), output_number: counter?.number ?? 0 };
    }) as Promise<never>,
  ) as Promise<StartedRunBody>;
}

interface WorkflowIds {
  workflow_id: string;
  workflow_run_id?: string;
}

function linked<T extends WorkflowIds>(app: App, run: T): T & { workflow_url?: string } {
  const { workflow_id, workflow_run_id: run_id } = run;
  const url = workflowUrl(app, { workflow_id, ...(run_id ? { run_id } : {}) });
  return { ...run, ...(url ? { workflow_url: url } : {}) };
}

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
import { parse } from '../../domain/input.ts';
import { workflowUrl, type App } from '../app.ts';
import { empty } from '../contracts/common.ts';
import { artifactQuery, newRun, resume, runQuery, runsQuery } from '../contracts/runs.ts';
import { Routes, TextAnswer, type Call } from './routes.ts';

export function runRoutes(app: App): Routes {
  const routes = new Routes(app);
  const run = '/bounded-runs/:run';

  routes.get('/repositories', empty, async ({ database, principal }) => {
    const repositories = await listRepositories(database, principal);
    return { items: repositories.map(({ alias, project, machine, path }) => ({ alias, project, machine, path })) };
  });
  routes.get('/bounded-runs', runsQuery, async ({ database, principal, query }) => {
    const { items, next } = await listRuns(database, principal, query);
    return { items: items.map((one) => linked(app, one)), ...(next ? { next } : {}) };
  });
  routes.post('/bounded-runs', 201, async (call) => {
    const body = parse(newRun, call.body);
    return started(app, (write) => startRun(call.database, call.principal, body, write), call);
  });
  routes.get(run, runQuery, async ({ database, principal, param, query }) =>
    linked(app, await readRun(database, principal, param('run'), query.repo)),
  );
  routes.post(`${run}/cancel`, 200, async ({ database, principal, param, body }) => {
    parse(empty, body);
    await cancelRun(database, principal, { run: param('run') });
    return {};
  });
  routes.post(`${run}/resume`, 200, async (call) => {
    const request = { run: call.param('run'), ...parse(resume, call.body) };
    return started(app, (write) => resumeRun(call.database, call.principal, request, write), call);
  });
  routes.get(`${run}/artifacts/:name`, artifactQuery, async ({ database, principal, param, query }) => {
    const wanted = { run: param('run'), name: param('name'), repo: query.repo, attempt: query.attempt };
    const { type, text } = await readArtifact(database, principal, wanted);
    return new TextAnswer(type, text);
  });
  return routes;
}

type Start = (write: Call['write']) => Promise<{ run: string; run_id: string; workflow_id: string }>;

async function started(app: App, start: Start, call: Call): Promise<unknown> {
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
  );
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

// Re-validations of the bounded runner and their schedules (spec: bounded-claude 9, planner 10).

import {
  acknowledgeRevalidation,
  cancelRevalidation,
  listRevalidations,
  readRevalidation,
  revalidationReport,
  startRevalidation,
} from '../../bounded/revalidations.ts';
import {
  backfillSchedule,
  createSchedule,
  deleteSchedule,
  listSchedules,
  readSchedule,
  triggerSchedule,
  updateSchedule,
} from '../../bounded/revalidation-schedules.ts';
import { workflowUrl, type App } from '../app.ts';
import { empty, listOf } from '../contracts/common.ts';
import {
  acknowledgement,
  backfill,
  backfilled,
  newRevalidation,
  newRevalidationSchedule,
  reportQuery,
  revalidation,
  revalidations,
  revalidationSchedule,
  revalidationSchedulePatch,
  revalidationSchedulesQuery,
  revalidationsQuery,
  startedRevalidation,
} from '../contracts/revalidations.ts';
import { pageOf } from './page.ts';
import { Routes, TextAnswer, textAnswer } from './routes.ts';

const one = '/revalidations/:validation';
const schedule = '/revalidation-schedules/:schedule';

export function revalidationRoutes(app: App): Routes {
  const routes = new Routes(app, 'Re-validation');
  readRoutes(routes, app);
  writeRoutes(routes, app);
  scheduleRoutes(routes);
  askRoutes(routes);
  return routes;
}

function readRoutes(routes: Routes, app: App): void {
  routes.get(
    '/revalidations',
    {
      summary: 'Re-validations, newest first',
      query: revalidationsQuery,
      answer: revalidations,
      errors: ['forbidden', 'not_found'],
    },
    async ({ database, principal, query }) => {
      const { items, next } = await listRevalidations(database, principal, query);
      return { items: items.map((item) => linked(app, item)), ...(next ? { next } : {}) };
    },
  );
  routes.get(
    one,
    {
      summary: 'A re-validation: attempts, failures, and its claim as it stands now',
      description: 'The claim is `stale` as soon as the runner, the CLI, the identity or a kept packet has changed.',
      answer: revalidation,
      errors: ['forbidden', 'not_found'],
    },
    async ({ database, principal, param }) =>
      linked(app, await readRevalidation(database, principal, param('validation'))),
  );
  routes.get(
    `${one}/report`,
    {
      summary: 'Its report, as it is',
      query: reportQuery,
      answer: textAnswer,
      media: ['text/markdown', 'application/json'],
      errors: ['forbidden', 'not_found'],
    },
    async ({ database, principal, param, query }) => {
      const { type, text } = await revalidationReport(database, principal, param('validation'), query.form);
      return new TextAnswer(type, text);
    },
  );
}

function writeRoutes(routes: Routes, app: App): void {
  routes.post(
    '/revalidations',
    {
      summary: 'Re-validate a role now',
      description: 'Three near-limit runs, each paid. What can be checked before is refused at once.',
      body: newRevalidation,
      status: 201,
      answer: startedRevalidation,
      errors: ['forbidden', 'not_found'],
    },
    async ({ database, principal, body, write }) =>
      linked(app, await startRevalidation(database, principal, body, {
        write: (work) => write(async (tx) => linked(app, (await work(tx)) as Started)) as Promise<never>,
      })),
  );
  routes.post(
    `${one}/cancel`,
    {
      summary: 'Cancel a re-validation',
      description: 'Nothing happens to one that has ended.',
      answer: empty,
      errors: ['forbidden', 'not_found'],
    },
    async ({ database, principal, param }) => {
      await cancelRevalidation(database, principal, param('validation'));
      return {};
    },
  );
  routes.post(
    `${one}/acknowledge`,
    {
      summary: 'Record that its failures were inspected',
      description: 'Until each is, the claim is `pending`.',
      body: acknowledgement,
      answer: empty,
      errors: ['forbidden', 'not_found'],
    },
    async ({ database, principal, param, body, write }) => {
      await acknowledgeRevalidation(database, principal, param('validation'), body, write);
      return {};
    },
  );
}

interface Started {
  validation_id: string;
  workflow_id: string;
}

function scheduleRoutes(routes: Routes): void {
  routes.get(
    '/revalidation-schedules',
    {
      summary: 'Schedules of re-validations',
      query: revalidationSchedulesQuery,
      answer: listOf(revalidationSchedule),
      errors: ['forbidden', 'not_found'],
    },
    async ({ database, principal, query }) =>
      pageOf(await listSchedules(database, principal, query.project), query, ({ id }) => id),
  );
  routes.post(
    '/revalidation-schedules',
    {
      summary: 'Schedule the re-validation of a role',
      body: newRevalidationSchedule,
      status: 201,
      answer: revalidationSchedule,
      errors: ['forbidden', 'not_found', 'already_exists'],
    },
    ({ database, principal, body, write }) => createSchedule(database, principal, body, { write }),
  );
  routes.get(
    schedule,
    { summary: 'A schedule with its next times', answer: revalidationSchedule, errors: ['forbidden', 'not_found'] },
    ({ database, principal, param }) => readSchedule(database, principal, param('schedule')),
  );
  routes.patch(
    schedule,
    {
      summary: 'Change, pause or unpause a schedule',
      body: revalidationSchedulePatch,
      answer: revalidationSchedule,
      errors: ['forbidden', 'not_found'],
    },
    ({ database, principal, param, body }) => updateSchedule(database, principal, param('schedule'), body),
  );
  routes.delete(
    schedule,
    { summary: 'Delete a schedule', errors: ['forbidden', 'not_found'] },
    ({ database, principal, param }) => deleteSchedule(database, principal, param('schedule')),
  );
}

function askRoutes(routes: Routes): void {
  routes.post(
    `${schedule}/trigger`,
    {
      summary: 'Re-validate now, by a schedule',
      description: 'Skipped where a re-validation of the role is under way.',
      answer: empty,
      errors: ['forbidden', 'not_found'],
    },
    async ({ database, principal, param, write }) => {
      await triggerSchedule(database, principal, param('schedule'), write);
      return {};
    },
  );
  routes.post(
    `${schedule}/backfill`,
    {
      summary: 'Make up for times that have passed',
      description: 'One re-validation a time, one after another, at most 10.',
      body: backfill,
      answer: backfilled,
      errors: ['forbidden', 'not_found'],
    },
    ({ database, principal, param, body, write }) =>
      backfillSchedule(database, principal, param('schedule'), body, write),
  );
}

function linked<T extends { workflow_id: string } | { workflow: { id: string; run_id: string | null } }>(
  app: App,
  what: T,
): T & { workflow_url?: string } {
  const workflow = 'workflow' in what ? what.workflow : { id: what.workflow_id, run_id: null };
  const { id: workflow_id, run_id } = workflow;
  const url = workflowUrl(app, { workflow_id, ...(run_id ? { run_id } : {}) });
  return { ...what, ...(url ? { workflow_url: url } : {}) };
}

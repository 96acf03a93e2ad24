// Sessions, messages, cancel, turns (spec: planner 7, 10).

import {
  cancelTurn,
  createSession,
  listSessions,
  listTurns,
  readSession,
  sendMessage,
  updateSession,
} from '../../planner/conversation.ts';
import { sessionMeter, turnUsage } from '../../planner/usage.ts';
import { workflowUrl, type App } from '../app.ts';
import { empty, listOf, pageQuery } from '../contracts/common.ts';
import {
  cancel,
  newMessage,
  newSession,
  sent,
  session as sessionBody,
  sessionPatch,
  sessionQuery,
  sessionView,
  turn as turnBody,
} from '../contracts/planner.ts';
import { Routes } from './routes.ts';

const sessions = '/projects/:project/planner/sessions';
const session = '/planner/sessions/:session';

export function plannerRoutes(app: App): Routes {
  const routes = new Routes(app, 'Planner');
  sessionRoutes(routes, app);
  turnRoutes(routes, app);
  return routes;
}

function sessionRoutes(routes: Routes, app: App): void {
  routes.get(
    sessions,
    {
      summary: 'Sessions of a project, newest first',
      query: pageQuery,
      answer: listOf(sessionBody),
      errors: ['forbidden', 'not_found'],
    },
    ({ database, principal, param, query }) => listSessions(database, principal, param('project'), query),
  );
  routes.post(
    sessions,
    {
      summary: 'Create a session',
      body: newSession,
      status: 201,
      answer: sessionBody,
      errors: ['forbidden', 'not_found'],
    },
    ({ principal, param, body, write }) =>
      write((tx) => createSession(tx, principal, { project: param('project'), ...body })),
  );
  routes.get(
    session,
    {
      summary: 'A session with its transcript',
      description: 'The whole transcript, or a window of it by `after` and `limit`.',
      query: sessionQuery,
      answer: sessionView,
      errors: ['forbidden', 'not_found'],
    },
    async ({ database, principal, param, query }) => {
      const view = await readSession(database, principal, param('session'), query);
      const meter = await sessionMeter({ ...app.gateway, database }, view.id);
      return { ...view, meter: { ...meter, compact_at_tokens: app.gateway.compactAtTokens } };
    },
  );
  routes.patch(
    session,
    {
      summary: 'Rename or archive a session',
      body: sessionPatch,
      answer: sessionBody,
      errors: ['forbidden', 'not_found'],
    },
    ({ database, principal, param, body }) => updateSession(database, principal, param('session'), body),
  );
}

function turnRoutes(routes: Routes, app: App): void {
  routes.post(
    `${session}/messages`,
    {
      summary: 'Send a message',
      description:
        'From this answer on the message is never lost: a turn runs for it. A session in which a turn runs is busy: ' +
        'conflict. A repeated `message_id` is answered as it was the first time. Humans only.',
      body: newMessage,
      status: 201,
      answer: sent,
      errors: ['forbidden', 'not_found'],
    },
    async ({ database, principal, param, body, repetition }) => {
      app.limits.sends.take(principal.subject);
      const { text, message_id = repetition } = body;
      const message = { session: param('session'), text, message_id };
      const { seq, turn, fresh } = await sendMessage(database, principal, message);
      if (fresh) app.engine.sent(turn);
      return { seq, turn };
    },
  );
  routes.post(
    `${session}/cancel`,
    {
      summary: 'Cancel the running turn',
      description: 'Nothing happens to an idle session. `turn` guards against cancelling the next one.',
      body: cancel,
      answer: empty,
      errors: ['forbidden', 'not_found'],
    },
    async ({ database, principal, param, body }) => {
      const { turn } = await cancelTurn(database, principal, { session: param('session'), ...body });
      if (turn) app.engine.cancelled(turn);
      return {};
    },
  );
  routes.get(
    `${session}/turns`,
    {
      summary: 'Turns of a session, newest first',
      query: pageQuery,
      answer: listOf(turnBody),
      errors: ['forbidden', 'not_found'],
    },
    async ({ database, principal, param, query }) => {
      const { items, next } = await listTurns(database, principal, param('session'), query);
      const metered = await turnUsage({ ...app.gateway, database }, items.map(({ id }) => id));
      const linked = items.map((turn) => {
        const url = workflowUrl(app, turn);
        return { ...turn, metered: metered(turn.id), ...(url ? { workflow_url: url } : {}) };
      });
      return { items: linked, ...(next ? { next } : {}) };
    },
  );
}

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
import { parse } from '../../domain/input.ts';
import { workflowUrl, type App } from '../app.ts';
import { pageQuery } from '../contracts/common.ts';
import { cancel, newMessage, newSession, sessionPatch, sessionQuery } from '../contracts/planner.ts';
import { Routes } from './routes.ts';

export function plannerRoutes(app: App): Routes {
  const routes = new Routes(app);
  const sessions = '/projects/:project/planner/sessions';
  const session = '/planner/sessions/:session';

  routes.get(sessions, pageQuery, ({ database, principal, param, query }) =>
    listSessions(database, principal, param('project'), query),
  );
  routes.post(sessions, 201, ({ principal, param, body, write }) =>
    write((tx) => createSession(tx, principal, { project: param('project'), ...parse(newSession, body) })),
  );
  routes.get(session, sessionQuery, ({ database, principal, param, query }) =>
    readSession(database, principal, param('session'), query),
  );
  routes.patch(session, ({ database, principal, param, body }) =>
    updateSession(database, principal, param('session'), parse(sessionPatch, body)),
  );

  routes.post(`${session}/messages`, 201, async ({ database, principal, param, body, repetition }) => {
    app.limits.sends.take(principal.subject);
    const { text, message_id = repetition } = parse(newMessage, body);
    const message = { session: param('session'), text, message_id };
    const { seq, turn, fresh } = await sendMessage(database, principal, message);
    if (fresh) app.engine.sent(turn);
    return { seq, turn };
  });
  routes.post(`${session}/cancel`, 200, async ({ database, principal, param, body }) => {
    const { turn } = await cancelTurn(database, principal, { session: param('session'), ...parse(cancel, body) });
    if (turn) app.engine.cancelled(turn);
    return {};
  });
  routes.get(`${session}/turns`, pageQuery, async ({ database, principal, param, query }) => {
    const { items, next } = await listTurns(database, principal, param('session'), query);
    const linked = items.map((turn) => {
      const url = workflowUrl(app, turn);
      return { ...turn, ...(url ? { workflow_url: url } : {}) };
    });
    return { items: linked, ...(next ? { next } : {}) };
  });
  return routes;
}

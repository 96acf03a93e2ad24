// The REST API: its routers, what stands before them, and the two routes for operators.

import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { DomainError } from '../../domain/errors.ts';
import { authenticate } from '../../store/tokens.ts';
import type { App } from '../app.ts';
import { docsRoutes } from '../docs.ts';
import { tooManyHeaders } from '../headers.ts';
import { answerErrors, unknownRoute } from './errors.ts';
import { changesetRoutes } from './changesets.ts';
import { gatewayRoutes } from './gateway.ts';
import { identityRoutes } from './identity.ts';
import { knowledgeRoutes } from './knowledge.ts';
import { openApi } from './openapi.ts';
import { plannerRoutes } from './planner.ts';
import { revalidationRoutes } from './revalidations.ts';
import { runRoutes } from './runs.ts';
import { setCaller, type Routes } from './routes.ts';
import { searchRoutes } from './search.ts';
import { skillRoutes } from './skills.ts';
import { trackerRoutes } from './tracker.ts';
import { rounded } from '../../telemetry/fact.ts';
import { currentIds, log, withIds } from '../../telemetry/log.ts';
import { newTrace, traceOf } from '../../telemetry/trace.ts';
import { servePage } from '../web.ts';

/** A caller may name its method as it likes; a metric's labels are bounded. */
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Every route below /api/v1, in the order of the document. */
export const families = (app: App): Routes[] =>
  [
    identityRoutes,
    gatewayRoutes,
    plannerRoutes,
    trackerRoutes,
    changesetRoutes,
    skillRoutes,
    knowledgeRoutes,
    searchRoutes,
    runRoutes,
    revalidationRoutes,
  ].map((family) => family(app));

/** `page`: the folder of the built page; none: the API alone. */
export function createRest(app: App, page?: string): Express {
  const rest = express();
  rest.disable('x-powered-by');
  rest.disable('etag');
  rest.set('query parser', 'simple');
  rest.set('case sensitive routing', true);
  rest.use(trace, measure(app), secure);
  rest.get('/healthz', async (_request, response) => {
    if (await healthy(app)) response.json({ status: 'ok' });
    else response.status(503).json({ error: 'unavailable', message: 'The database can\'t be reached.' });
  });
  rest.get('/metrics', async (_request, response) => {
    response.type(app.metrics.registry.contentType).send(await app.metrics.registry.metrics());
  });

  const v1 = express.Router({ caseSensitive: true });
  v1.use(signIn(app));
  const all = families(app);
  for (const { router } of all) v1.use(router);
  const document = openApi(all.flatMap(({ list }) => list));
  rest.get('/api/openapi.json', (_request, response) => void response.json(document));
  rest.use(docsRoutes());
  rest.use('/api/v1', v1);
  if (page !== undefined) rest.use(servePage(page));
  rest.use(unknownRoute, answerErrors(app.checkAnswers));
  return rest;
}

function signIn(app: App) {
  return async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    const [, token] = /^Bearer +(\S+)$/i.exec(request.get('Authorization') ?? '') ?? [];
    const caller = await authenticate(app.database, token, app.verify);
    app.limits.requests.take(caller.principal.subject);
    setCaller(response, caller);
    next();
  };
}

function secure(request: Request, response: Response, next: NextFunction): void {
  response.set({
    'Cache-Control': 'no-store',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
  });
  if (tooManyHeaders(request)) throw new DomainError('invalid_argument', 'Too many headers.');
  next();
}

/** Log lines of a request carry the caller's trace, or a new one, which its answer names. */
function trace(request: Request, response: Response, next: NextFunction): void {
  const trace_id = traceOf(request.get('traceparent')) ?? newTrace();
  response.set('X-Trace-Id', trace_id);
  withIds({ trace_id }, next);
}

function measure(app: App) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const end = app.metrics.requests.startTimer();
    const ids = currentIds();
    response.on('finish', () => {
      const path: unknown = request.route?.path;
      const route = typeof path === 'string' ? path : 'unknown';
      const { method } = request;
      const { statusCode: status } = response;
      const seconds = rounded(end({ method: knownMethods.has(method) ? method : 'other', route, status }));
      const level = method === 'GET' && status < 400 ? 'debug' : 'info';
      withIds(ids, () => log(level, 'request', { method, route, status, seconds }));
    });
    next();
  };
}

async function healthy(app: App): Promise<boolean> {
  const late = new Promise<false>((resolve) => setTimeout(() => resolve(false), 2_000).unref());
  const reached = app.database.query('SELECT 1').then(
    () => true,
    () => false,
  );
  return Promise.race([late, reached]);
}

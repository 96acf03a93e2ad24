// The OpenAPI 3.1 document, made from the declarations of the routes (spec: planner 10).

import { z } from 'zod';
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from 'zod-openapi';
import { errorBody } from '../contracts/common.ts';
import { statusOf } from './errors.ts';
import type { Route } from './routes.ts';

export type OpenApi = ReturnType<typeof createDocument>;

const about = `Everything that a user can see and do. JSON in and out; times are ISO 8601 in UTC.

- **Token**: \`Authorization: Bearer <token>\`; \`planner token create\` makes one.
- **Errors**: \`{"error": code, "message": text}\`. Unknown fields are refused.
- **Lists**: \`{"items": [...]}\`, with \`next\` where more follow: send it as \`after\`.
- **Idempotency-Key**: a POST that is repeated under its key within a day is answered as it was the first time, and has
  no second effect.
- **Live**: what happens is told over the WebSocket at \`/rpc\`.`;

const words: Record<number, string> = {
  200: 'Done',
  201: 'Created',
  204: 'Done; no body',
  400: 'The request is not as it must be; the message says how to mend it',
  401: 'The token is missing, unknown, expired or revoked',
  403: 'The caller lacks the right',
  404: 'Not there, or hidden from the caller',
  409: 'Not in the present state of things',
  429: 'Too many requests in a minute',
  500: 'A fault of the server',
  503: 'The server can\'t answer right now; try again',
};

/** `routes`: of all families, in the order in which they are shown. */
export function openApi(routes: readonly Route[]): OpenApi {
  const paths: ZodOpenApiPathsObject = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    (paths[path] ??= {})[route.method] = operation(route);
  }
  return createDocument({
    openapi: '3.1.0',
    info: { title: 'Planner', version: 'v1', description: about },
    servers: [{ url: '/api/v1' }],
    security: [{ token: [] }],
    tags: [...new Set(routes.map(({ family }) => family))].map((name) => ({ name })),
    paths,
    components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
  });
}

function operation(route: Route): ZodOpenApiOperationObject {
  const { method, summary, description, family, params, query, body } = route;
  const takesBody = body instanceof z.ZodObject ? Object.keys(body.shape).length > 0 : true;
  return {
    operationId: operationId(route),
    tags: [family],
    summary,
    ...(description === undefined ? {} : { description }),
    requestParams: {
      path: params,
      ...(query instanceof z.ZodObject ? { query } : {}),
      ...(method === 'post' ? { header: idempotencyKey } : {}),
    },
    ...(takesBody
      ? { requestBody: { required: !body.safeParse({}).success, content: { 'application/json': { schema: body } } } }
      : {}),
    responses: { ...success(route), ...errors(route) },
  };
}

/** `GET /projects/:project/items` is `get_projects_project_items`. */
export function operationId({ method, path }: Pick<Route, 'method' | 'path'>): string {
  return `${method}${path}`.replaceAll(':', '').replace(/[^A-Za-z0-9_]/g, '_');
}

const idempotencyKey = z.object({
  'Idempotency-Key': z
    .string()
    .min(1)
    .max(255)
    .regex(/^[\x21-\x7e]+$/)
    .optional()
    .meta({ description: 'A repetition under the same key is answered as the first request was.' }),
});

function success({ status, answer, media }: Route): ZodOpenApiOperationObject['responses'] {
  const response = { description: words[status]! };
  if (status === 204 || !answer) return { [status]: response };
  const content = media
    ? Object.fromEntries(media.map((type) => [type, { schema: z.string() }]))
    : { 'application/json': { schema: answer } };
  return { [status]: { ...response, content } };
}

function errors(route: Route): ZodOpenApiOperationObject['responses'] {
  const byStatus = Map.groupBy(route.errors, (code) => statusOf[code]);
  return Object.fromEntries(
    [...byStatus].sort(([a], [b]) => a - b).map(([status, codes]) => [
      String(status),
      {
        description: `${words[status]} (${codes.map((code) => `\`${code}\``).join(', ')})`,
        content: { 'application/json': { schema: errorBody } },
        ...(status === 429 ? { headers: retryAfter } : {}),
      },
    ]),
  );
}

const retryAfter = z.object({
  'Retry-After': z.string().regex(/^[0-9]+$/).meta({ description: 'Seconds to wait' }),
});

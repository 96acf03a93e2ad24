// What the OpenAPI document says of bodies, beside what routes take (spec: planner 10).

import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApi, type TestApi } from './support/api.ts';

interface Operation {
  requestBody?: { content: { 'application/json': { schema: Schema } } };
}
interface Schema {
  $ref?: string;
  required?: string[];
  additionalProperties?: boolean;
}

let t: TestApi;
let operations: [route: string, operation: Operation][];
let schemas: Record<string, Schema>;
beforeAll(async () => {
  t = await startTestApi();
  const { body } = await t.rest(undefined, 'GET', '/api/openapi.json');
  schemas = (body['components'] as { schemas: Record<string, Schema> }).schemas;
  operations = Object.entries(body['paths'] as Record<string, Record<string, Operation>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  );
});
afterAll(() => t.close());

const resolve = (schema: Schema): Schema => (schema.$ref ? schemas[schema.$ref.split('/').at(-1)!]! : schema);

test('spec: planner 10.2, 10.5: what the document requires of a body, and lets no other field into, is what the route is held to', async () => {
  let bodies = 0;
  for (const [route, operation] of operations) {
    const documented = operation.requestBody?.content['application/json'].schema;
    if (!documented) continue;
    bodies += 1;
    const { required = [], additionalProperties } = resolve(documented);
    expect([route, additionalProperties]).toEqual([route, false]);
    const [method, path] = route.split(' ') as [string, string];
    const real = path
      .replace('{project}', 'WEB')
      .replace('{organization}', 'acme')
      .replace('{provider}', 'openai')
      .replace('{name}', 'planner');
    // A thing that is not there is told as such only once the body has been read; what checks it in its room is tested there.
    if (/\{/.test(real)) continue;
    const { status, body } = await t.rest(t.tokens.admin, method, `/api/v1${real}`, { unheard_of: 1 });
    const message = String(body['message']);
    expect([route, status, message]).toEqual([route, 400, expect.stringContaining('unknown field "unheard_of"')]);
    for (const field of required) expect([route, message]).toEqual([route, expect.stringContaining(`${field} is required`)]);
  }
  expect(bodies).toBeGreaterThan(15);
});

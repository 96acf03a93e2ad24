// The client has a function for every route of the document, and asks for exactly that route (spec: planner 10).

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRest, type Rest } from '../client/index.ts';
import { startTestApi, type TestApi } from './support/api.ts';

let t: TestApi;
let rest: Rest;
const asked: string[] = [];
const stand = createServer((request, response) => {
  asked.push(`${request.method} ${decodeURIComponent(request.url!.replace('/api/v1', '').split('?')[0]!)}`);
  response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
});
beforeAll(async () => {
  t = await startTestApi();
  await new Promise<void>((resolve) => stand.listen(0, '127.0.0.1', resolve));
  rest = createRest({ address: `http://127.0.0.1:${(stand.address() as AddressInfo).port}`, token: 'x' });
});
afterAll(async () => {
  stand.close();
  await t.close();
});

test('spec: planner 10.7: the client covers every route', async () => {
  const { body } = await t.rest(undefined, 'GET', '/api/openapi.json');
  const documented = Object.entries(body['paths'] as Record<string, object>)
    .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`))
    .map((route) => route.replace(/\{\w+\}/g, '{}'));
  // Whatever a function takes, a text named {} stands for it in the path.
  for (const call of Object.values(rest) as ((...given: unknown[]) => Promise<unknown>)[]) {
    const takesPlace = /place/.test(String(call).split('=>')[0]!);
    if (!takesPlace) await call('{}', '{}', '{}');
    else for (const place of [{ project: '{}' }, { organization: '{}' }]) await call(place, '{}', {});
  }
  expect([...new Set(asked)].sort()).toEqual([...new Set(documented)].sort());
});

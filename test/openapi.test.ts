// The OpenAPI document, and that nothing is answered but what it says (spec: planner 10).

import { once } from 'node:events';
import express from 'express';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import type { App } from '../api/app.ts';
import { listOf } from '../api/contracts/common.ts';
import { answerErrors } from '../api/rest/errors.ts';
import type { OpenApi } from '../api/rest/openapi.ts';
import { Routes, setCaller } from '../api/rest/routes.ts';
import { notFound } from '../domain/errors.ts';
import { startTestApi, type TestApi } from './support/api.ts';

interface Operation {
  operationId: string;
  summary: string;
  tags: string[];
  parameters?: { name: string; in: string; description?: string }[];
  requestBody?: unknown;
  responses: Record<string, { description: string; content?: Record<string, { schema: Schema }> }>;
}
interface Schema {
  $ref?: string;
  properties?: Record<string, unknown>;
}

let t: TestApi;
let document: OpenApi;
let operations: { method: string; path: string; operation: Operation }[];
beforeAll(async () => {
  t = await startTestApi();
  document = (await (await fetch(`${t.address}/api/openapi.json`)).json()) as OpenApi;
  operations = Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, Operation>).map(([method, operation]) => ({ method, path, operation })),
  );
});
afterAll(() => t.close());

test('spec: planner 10.5: the document is OpenAPI 3.1; every operation has a name, a heading, its parameters, its errors', () => {
  expect(document.openapi).toBe('3.1.0');
  expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(operations.length);
  for (const { path, operation } of operations) {
    expect(operation.summary, path).not.toBe('');
    expect(operation.tags, path).toHaveLength(1);
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const named = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
    expect(named.map(({ name }) => name)).toEqual(inPath);
    for (const parameter of named) expect(parameter.description, `${path} ${parameter.name}`).toBeTruthy();
    expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['400', '401', '429', '500', '503']));
    expect(Object.keys(operation.responses).filter((status) => status.startsWith('2'))).toHaveLength(1);
  }
});

test('spec: planner 10.5: every reference in the document leads to a schema of it', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)];
  expect(references.length).toBeGreaterThan(50);
  const schemas = Object.keys(document.components?.schemas ?? {});
  expect([...new Set(references.map(([, name]) => name))].filter((name) => !schemas.includes(name!))).toEqual([]);
});

test('spec: planner 10.5: the schemas of tools, routes and clients are one: the limits of an item stand in the document', () => {
  const made = operations.find(({ method, path }) => method === 'post' && path === '/projects/{project}/items');
  expect(JSON.stringify(made!.operation.requestBody)).toContain('"maxLength":300');
});

test('spec: planner 10.6: every POST takes an Idempotency-Key', () => {
  const posts = operations.filter(({ method }) => method === 'post');
  expect(posts.length).toBeGreaterThan(10);
  for (const { path, operation } of posts) {
    expect((operation.parameters ?? []).map(({ name }) => name), path).toContain('Idempotency-Key');
  }
});

/** Few by their nature: one a provider. */
const short = ['/organizations/{organization}/credentials', '/projects/{project}/credentials'];
/** Best first: what lies beyond the limit is worse. */
const ranked = ['/search', '/organizations/{organization}/knowledge/search'];

test('spec: planner 10.4: every list that can grow takes `limit` and `after`, and names `next`', () => {
  // A knowledge entry is no list: it names items, and has a version.
  const lists = operations.filter(({ method, operation }) => {
    const answer = answerOf(operation);
    return method === 'get' && 'items' in answer && !('version' in answer);
  });
  expect(lists.length).toBeGreaterThan(10);
  for (const { path, operation } of lists.filter(({ path }) => ![...short, ...ranked].includes(path))) {
    expect((operation.parameters ?? []).map(({ name }) => name), path).toEqual(
      expect.arrayContaining(['limit', 'after']),
    );
    expect(answerOf(operation), path).toHaveProperty('next');
  }
});

function answerOf(operation: Operation): object {
  const content = operation.responses['200']?.content?.['application/json']?.schema;
  const name = content?.$ref?.split('/').at(-1);
  const schema = name ? (document.components?.schemas?.[name] as Schema) : content;
  return schema?.properties ?? {};
}

test('spec: planner 10.7: every route of the specification is there', () => {
  const there = operations.map(({ method, path }) => `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, '{}')}`);
  const wanted = [
    'GET /me',
    'GET /organizations', 'POST /organizations', 'GET /projects', 'POST /projects', 'GET /role-bindings', 'POST /role-bindings',
    'GET /projects/{}/items', 'POST /projects/{}/items', 'GET /items/{}', 'PATCH /items/{}', 'POST /items/{}/transition',
    'GET /items/{}/history', 'GET /items/{}/dependencies', 'POST /items/{}/dependencies', 'DELETE /dependencies/{}',
    'GET /projects/{}/runnable',
    'GET /projects/{}/changesets', 'POST /projects/{}/changesets', 'GET /changesets/{}', 'POST /changesets/{}/apply',
    'POST /changesets/{}/reject',
    'GET /skills', 'POST /skills', 'GET /skills/{}', 'PATCH /skills/{}', 'POST /skills/{}/publish', 'GET /skills/{}/versions',
    'GET /projects/{}/skills', 'GET /projects/{}/skill-pins', 'PUT /projects/{}/skills/{}/pin', 'DELETE /projects/{}/skills/{}/pin',
    'GET /organizations/{}/knowledge/entries', 'POST /organizations/{}/knowledge/entries',
    'GET /organizations/{}/knowledge/entries/{}', 'PATCH /organizations/{}/knowledge/entries/{}',
    'GET /organizations/{}/knowledge/entries/{}/versions', 'GET /organizations/{}/knowledge/search', 'GET /search',
    'GET /organizations/{}/credentials', 'GET /projects/{}/credentials/{}', 'PUT /projects/{}/credentials/{}',
    'DELETE /projects/{}/credentials/{}', 'GET /projects/{}/usage',
    'GET /projects/{}/planner/sessions', 'POST /projects/{}/planner/sessions', 'GET /planner/sessions/{}',
    'PATCH /planner/sessions/{}', 'POST /planner/sessions/{}/messages', 'POST /planner/sessions/{}/cancel',
    'GET /planner/sessions/{}/turns',
    'GET /bounded-runs', 'POST /bounded-runs', 'GET /bounded-runs/{}', 'POST /bounded-runs/{}/cancel',
    'POST /bounded-runs/{}/resume', 'GET /bounded-runs/{}/artifacts/{}',
  ];
  expect(wanted.filter((route) => !there.includes(route))).toEqual([]);
});

test('spec: planner 10.5: an answer or an error that its route does not document is a fault, wherever tests run', async () => {
  const app = { database: t.database, checkAnswers: true } as App;
  const routes = new Routes(app, 'Lies');
  const declared = { summary: 'A list', answer: listOf(z.string()), errors: ['forbidden'] } as const;
  routes.get('/true', declared, async () => ({ items: ['a'] }));
  routes.get('/more', declared, async () => ({ items: ['a'], more: true }));
  routes.get('/other', declared, async () => ({ items: [1] }) as never);
  routes.get('/refused', declared, async () => Promise.reject(notFound('Not documented.')));
  const server = express()
    .use((_request, response, next) => {
      setCaller(response, { principal: { subject: 'ada', kind: 'human' }, expires_at: '', token_id: 'x' });
      next();
    })
    .use(routes.router, answerErrors(true))
    .listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = server.address() as { port: number };
    const status = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
    expect([await status('/true'), await status('/more'), await status('/other'), await status('/refused')]).toEqual([
      200, 500, 500, 500,
    ]);
  } finally {
    server.close();
  }
});

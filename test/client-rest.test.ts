// The REST client against a server that fails as servers do (spec: planner 10).

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { createRest, pages, type Rest } from '../client/index.ts';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

interface Seen {
  method: string;
  url: string;
  authorization: string | undefined;
  key: string | undefined;
  body: string;
}

async function serve(
  handle: (seen: Seen, response: ServerResponse, n: number, request: IncomingMessage) => void,
): Promise<{ rest: Rest; seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const key = request.headers['idempotency-key'];
    seen.push({
      method: request.method ?? '',
      url: request.url ?? '',
      authorization: request.headers.authorization,
      key: typeof key === 'string' ? key : undefined,
      body: Buffer.concat(chunks).toString(),
    });
    handle(seen.at(-1)!, response, seen.length, request);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push({ close: () => (server.closeAllConnections(), server.close()) });
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return { rest: createRest({ address, token: 'plt_x', timeout: 2_000 }), seen };
}

function json(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

it('presents its token, and escapes what it puts into paths and queries', async () => {
  const { rest, seen } = await serve((_, response) => json(response, 200, { items: [] }));
  await rest.items('W/B', { kind: 'ticket', after: 'WEB-1&x' });
  expect(seen[0]).toMatchObject({
    method: 'GET',
    url: '/api/v1/projects/W%2FB/items?kind=ticket&after=WEB-1%26x',
    authorization: 'Bearer plt_x',
    key: undefined,
  });
});

it('sends a creating POST again under the same Idempotency-Key when the connection breaks', async () => {
  const { rest, seen } = await serve((_, response, n, request) => {
    if (n < 3) request.socket.destroy();
    else json(response, 201, { id: 's1' });
  });
  await expect(rest.createSession('WEB', { title: 'Plan' })).resolves.toEqual({ id: 's1' });
  expect(seen).toHaveLength(3);
  expect(seen[0]!.key).toMatch(/^[0-9a-f]{32}$/);
  expect(new Set(seen.map((each) => each.key)).size).toBe(1);
  expect(seen[2]!.body).toBe('{"title":"Plan"}');
});

it('does not repeat a decision on its own', async () => {
  const { rest, seen } = await serve((_, __, ___, request) => request.socket.destroy());
  await expect(rest.applyChangeset('c1', { operations: [0] })).rejects.toMatchObject({ code: 'unreachable' });
  expect(seen).toHaveLength(1);
});

it('gives the API\'s errors their status, code and message', async () => {
  const body = { error: 'conflict', message: 'Decided already.' };
  const { rest } = await serve((_, response) => json(response, 409, body));
  await expect(rest.rejectChangeset('c1')).rejects.toMatchObject({
    name: 'ApiError',
    status: 409,
    code: 'conflict',
    message: 'Decided already.',
  });
});

it('says how long to wait where the API says so', async () => {
  const { rest } = await serve((_, response) =>
    json(response, 429, { error: 'rate_limited', message: 'Too many.' }, { 'retry-after': '7' }),
  );
  await expect(rest.me()).rejects.toMatchObject({ code: 'rate_limited', retryAfter: 7 });
});

it('names an answer that is not the API\'s, without its text', async () => {
  const { rest } = await serve((_, response) => response.writeHead(200).end('<html>secret</html>'));
  const failed = rest.me();
  await expect(failed).rejects.toMatchObject({ status: 200, code: 'http' });
  await expect(failed).rejects.not.toThrow(/secret/);
});

it('tries a read again while the API is unavailable', async () => {
  const { rest, seen } = await serve((_, response, n) =>
    n === 1 ? json(response, 503, { error: 'unavailable', message: 'Later.' }) : json(response, 200, { items: [] }),
  );
  await expect(rest.projects()).resolves.toEqual({ items: [] });
  expect(seen).toHaveLength(2);
});

it('reads all pages of a list in order', async () => {
  const { rest, seen } = await serve((each, response) => {
    const after = new URL(each.url, 'http://x').searchParams.get('after');
    json(response, 200, after === null ? { items: [{ id: 1 }, { id: 2 }], next: '2' } : { items: [{ id: 3 }] });
  });
  const ids: unknown[] = [];
  for await (const turn of pages((page) => rest.turns('s1', page))) ids.push(turn.id);
  expect(ids).toEqual([1, 2, 3]);
  expect(seen.map((each) => each.url)).toEqual([
    '/api/v1/planner/sessions/s1/turns',
    '/api/v1/planner/sessions/s1/turns?after=2',
  ]);
});

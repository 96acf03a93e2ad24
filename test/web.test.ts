// The page's files as the API serves them: the policy, caching, index.html for the page's own paths only.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import express from 'express';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { servePage } from '../api/web.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'planner-web-'));
let server: Server;
let address = '';

beforeAll(async () => {
  mkdirSync(path.join(folder, 'assets'));
  writeFileSync(path.join(folder, 'index.html'), '<!doctype html><title>Planner</title>');
  writeFileSync(path.join(folder, 'assets', 'index-abc.js'), 'export {};'.repeat(100));
  writeFileSync(path.join(folder, 'secret.txt'), 'of no served type');
  const app = express();
  app.use(servePage(folder));
  app.use((_request, response) => void response.status(404).json({ error: 'not_found' }));
  server = createServer(app).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

const navigate = (to: string, init: RequestInit = {}): Promise<Response> =>
  fetch(address + to, { ...init, headers: { accept: 'text/html,application/xhtml+xml', ...init.headers } });

describe('the built page', () => {
  test.each(['/', '/projects/WEB/chat', '/projects/WEB/items/WEB-1', '/anything'])('%s is index.html, never stored', async (to) => {
    const answer = await navigate(to);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain('<title>Planner</title>');
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test('comes under a policy that lets nothing run or load but its own files', async () => {
    const policy = (await navigate('/')).headers.get('content-security-policy') ?? '';
    const directives = new Map(policy.split('; ').map((each) => [each.split(' ')[0], each.split(' ').slice(1).join(' ')]));
    expect(directives.get('default-src')).toBe("'none'");
    expect(directives.get('script-src')).toBe("'self'");
    expect(directives.get('style-src')).toBe("'self'");
    expect(directives.get('connect-src')).toBe("'self'");
    for (const name of ['base-uri', 'form-action', 'frame-ancestors', 'trusted-types']) expect(directives.get(name)).toBe("'none'");
    expect(directives.get('require-trusted-types-for')).toBe("'script'");
    expect(policy).not.toContain('unsafe');
  });

  test('has hashed files that a browser keeps for good, zipped for who takes it', async () => {
    const zipped = await fetch(`${address}/assets/index-abc.js`);
    expect(zipped.headers.get('cache-control')).toContain('immutable');
    expect(zipped.headers.get('content-type')).toContain('text/javascript');
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    const plain = await fetch(`${address}/assets/index-abc.js`, { headers: { 'accept-encoding': 'identity' } });
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(await plain.text()).toBe(await zipped.text());
  });

  test.each(['/api', '/api/v1/me', '/api/openapi.json', '/rpc', '/assets/gone-123.js'])('%s is not the page', async (to) => {
    expect((await navigate(to)).status).toBe(404);
  });

  test.each(['/secret.txt', '/../package.json', '/%2e%2e/package.json', '/assets/..%2f..%2fpackage.json'])(
    'no file but the page’s own is served: %s',
    async (to) => {
      const answer = await fetch(address + to, { headers: { accept: '*/*' } });
      expect(answer.status).toBe(404);
    },
  );

  test('that is not there yet says how to build it', async () => {
    const bare = express().use(servePage(path.join(folder, 'none')), (_request, response) => void response.sendStatus(418));
    const other = bare.listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const at = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const answer = await fetch(at);
    expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining('npm run build')]);
    expect((await fetch(`${at}/projects`, { headers: { accept: 'text/html' } })).status).toBe(418);
    other.close();
  });

  test('is read only', async () => {
    expect((await navigate('/', { method: 'POST' })).status).toBe(404);
    const head = await navigate('/', { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });
});

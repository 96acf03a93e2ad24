// The API's own page at /api/docs: Swagger UI over /api/openapi.json, every file from this server.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import { Router, type Response } from 'express';
import { pagePolicy } from './headers.ts';

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Planner API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/api/docs/swagger-ui.css">
<link rel="stylesheet" href="/api/docs/page.css">
<script src="/api/docs/swagger-ui-bundle.js" defer></script>
<script src="/api/docs/page.js" defer></script>
<main id="api"></main>
`;

const script = `const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();
SwaggerUIBundle({
  url: '/api/openapi.json',
  dom_id: '#api',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});
`;

/** Beside the looks of the frame, colours of enough contrast where Swagger UI's have too little. */
const style = `:root { color-scheme: light dark; }
body { margin: 0; overflow-wrap: anywhere; }
html.dark-mode body { background: #1c2022; }
.swagger-ui .info { margin: 24px 0; }
html:not(.dark-mode) {
  .opblock-get .opblock-summary-method, .info .url { --strong: #1d63b0; }
  .opblock-post .opblock-summary-method, .btn.authorize, .btn.execute { --strong: #17734a; }
  .opblock-patch .opblock-summary-method { --strong: #0d6f66; }
  .opblock-put .opblock-summary-method { --strong: #935200; }
  .opblock-delete .opblock-summary-method { --strong: #c11b1b; }
  .opblock-summary-method { background: var(--strong) !important; }
  .swagger-ui .info .url { color: var(--strong); }
  .swagger-ui .btn.authorize { color: var(--strong); border-color: var(--strong); }
  .swagger-ui .btn.authorize svg { fill: var(--strong); }
  .swagger-ui .info .title small { background: #5c6372; }
  .swagger-ui .info .title small.version-stamp { background: #4a6900; }
}
html:not(.dark-mode) .swagger-ui .parameter__in { color: #5c5c5c; }
.swagger-ui .highlight-code span[style*="211, 99, 99"] { color: #ffb4a8 !important; }
html.dark-mode .swagger-ui table.headers td, html.dark-mode .swagger-ui .headers .header-col { color: inherit; }
`;

interface File {
  type: string;
  body: Buffer;
  zipped: Buffer;
}

/** Serves /api/docs; nothing of it is secret, and calls are made with the token that is typed in. */
export function docsRoutes(): Router {
  const router = Router({ caseSensitive: true });
  const files = new Map<string, File>();
  router.get('/api/docs{/:name}', (request, response, next) => {
    const name = request.params['name'] ?? '';
    let file = files.get(name);
    if (!file && (file = read(name))) files.set(name, file);
    if (!file) return next();
    send(response, file, /\bgzip\b/.test(request.get('Accept-Encoding') ?? ''));
  });
  return router;
}

function read(name: string): File | undefined {
  switch (name) {
    case '':
      return file('text/html', page);
    case 'page.js':
      return file('text/javascript', script);
    case 'page.css':
      return file('text/css', style);
    case 'swagger-ui-bundle.js':
      return file('text/javascript', swagger(name));
    case 'swagger-ui.css':
      return file('text/css', swagger(name));
    default:
      return undefined;
  }
}

function swagger(name: string): Buffer {
  return readFileSync(createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`));
}

function file(type: string, text: string | Buffer): File {
  const body = Buffer.from(text);
  return { type: `${type}; charset=utf-8`, body, zipped: gzipSync(body) };
}

function send(response: Response, { type, body, zipped }: File, zip: boolean): void {
  response.set({
    'Cache-Control': 'no-cache',
    // Without trusted types: Swagger UI sets the Markdown that it has cleaned as HTML.
    'Content-Security-Policy': pagePolicy,
    'Content-Type': type,
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    Vary: 'Accept-Encoding',
    ...(zip ? { 'Content-Encoding': 'gzip' } : {}),
  });
  response.end(zip ? zipped : body);
}

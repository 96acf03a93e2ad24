// Serves the built page: files from memory, strict headers, index.html for the page's own paths.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import type { RequestHandler } from 'express';
import { pagePolicy } from './headers.ts';

const contentSecurityPolicy = `${pagePolicy}; require-trusted-types-for 'script'; trusted-types 'none'`;

const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

interface PageFile {
  body: Buffer;
  zipped: Buffer;
  type: string;
  /** Its name holds its hash. */
  immutable: boolean;
}

/**
 * Answers GET and HEAD for the page's files, and with index.html for every other path that a browser navigates to
 * outside /api and /rpc. The folder is read once. Without a built page, only / is answered: with how to build it.
 */
export function servePage(folder: string): RequestHandler {
  const files = readFiles(folder);
  const index = files.get('/index.html');
  return (request, response, next) => {
    if (!index && request.path === '/') {
      const message = 'The page is not built. Run "npm run build", then start the API again ("npm start" does both).';
      return void response.status(404).json({ error: 'not_found', message });
    }
    if (!index || (request.method !== 'GET' && request.method !== 'HEAD')) return next();
    const file = files.get(request.path) ?? (isView(request.path, request.get('Accept')) ? index : undefined);
    if (!file) return next();
    const zip = /\bgzip\b/.test(request.get('Accept-Encoding') ?? '');
    response.set({
      'Cache-Control': file.immutable ? 'public, max-age=31536000, immutable' : 'no-store',
      'Content-Security-Policy': contentSecurityPolicy,
      'Content-Type': file.type,
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Resource-Policy': 'same-origin',
      Vary: 'Accept-Encoding',
      ...(zip ? { 'Content-Encoding': 'gzip' } : {}),
    });
    response.end(zip ? file.zipped : file.body);
  };
}

function isView(requested: string, accept = ''): boolean {
  if (requested === '/') return true;
  return !/^\/(api|rpc|assets)(\/|$)/.test(requested) && accept.includes('text/html');
}

function readFiles(folder: string): Map<string, PageFile> {
  const files = new Map<string, PageFile>();
  if (!existsSync(folder)) return files;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const place = path.join(entry.parentPath, entry.name);
    const type = types[path.extname(entry.name)];
    if (!type) continue;
    const name = `/${path.relative(folder, place).split(path.sep).join('/')}`;
    const body = readFileSync(place);
    files.set(name, { body, zipped: gzipSync(body), type, immutable: name.startsWith('/assets/') });
  }
  return files;
}

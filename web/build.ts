// Builds the page into files, when its sources have changed since the last time. As a program: `node web/build.ts`.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { pageFolder } from './folder.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const sources = ['web', 'client', 'domain', 'package-lock.json'];
const noNode = path.join(root, 'web/src/runs/no-node.ts');
const hashFile = path.join(path.dirname(pageFolder), 'web.hash');

/**
 * Resolves to the folder of the built page. Builds only when the sources' hash differs from the last build's; a build
 * takes seconds and appears at once, whole.
 */
export async function buildPage(say: (line: string) => void): Promise<string> {
  const hash = sourceHash();
  if (existsSync(path.join(pageFolder, 'index.html')) && lastHash() === hash) return pageFolder;
  say('building the page ...');
  const started = Date.now();
  const fresh = `${pageFolder}.${process.pid}`;
  mkdirSync(path.dirname(pageFolder), { recursive: true });
  try {
    await bundle(fresh);
    rmSync(hashFile, { force: true });
    replace(fresh);
    writeFileSync(hashFile, hash);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  say(`built the page in ${((Date.now() - started) / 1000).toFixed(1)} s`);
  return pageFolder;
}

/** Another build may put its own there at the same moment. */
function replace(fresh: string): void {
  for (let attempt = 1; ; attempt++) {
    rmSync(pageFolder, { recursive: true, force: true });
    try {
      return renameSync(fresh, pageFolder);
    } catch (error) {
      if (attempt === 5) throw error;
    }
  }
}

async function bundle(folder: string): Promise<void> {
  const { build } = await import('vite');
  const { default: react } = await import('@vitejs/plugin-react');
  await build({
    root: path.join(root, 'web'),
    configFile: false,
    mode: 'production',
    logLevel: 'warn',
    plugins: [react()],
    resolve: {
      alias: {
        // Its variant for browsers decodes entities through innerHTML, which Trusted Types refuse.
        // Rules of the secret scanner read file names and key stores with it; the page has texts only.
        'node:path': noNode,
        'node:fs': noNode,
        'node:crypto': noNode,
        'decode-named-character-reference': path.join(root, 'node_modules/decode-named-character-reference/index.js'),
      },
    },
    build: {
      outDir: folder,
      emptyOutDir: true,
      target: ['chrome125', 'firefox128', 'safari18'],
      modulePreload: { polyfill: false },
      // The Content-Security-Policy has no place for data: fonts or scripts.
      assetsInlineLimit: 0,
      chunkSizeWarningLimit: 1_300,
    },
  });
}

function sourceHash(): string {
  const hash = createHash('sha256');
  for (const source of sources) {
    for (const file of filesOf(path.join(root, source))) {
      hash.update(path.relative(root, file)).update('\0').update(readFileSync(file)).update('\0');
    }
  }
  return hash.digest('hex');
}

function filesOf(place: string): string[] {
  if (path.extname(place) === '.json') return [place];
  return readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.md'))
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort();
}

function lastHash(): string | undefined {
  return existsSync(hashFile) ? readFileSync(hashFile, 'utf8') : undefined;
}

if (import.meta.main) {
  await buildPage((line) => console.log(line));
}

// The workflow bundle: built once for a set of sources, kept in a file, reused by every later start.

import { createHash } from 'node:crypto';
import { access, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';
import path from 'node:path';
import { log, type Level } from '../telemetry/log.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
const sources = ['workflows', 'domain'];

/** Builds the bundle if this version's is not there yet, and returns its path. */
export async function workflowBundle(folder = path.join(root, 'node_modules/.cache/planner')): Promise<string> {
  const file = path.join(folder, `workflows-${await sourceHash()}.cjs`);
  try {
    await access(file);
    return file;
  } catch {
    // Not built yet.
  }
  const { code } = await bundleWorkflowCode({
    workflowsPath: path.join(root, 'workflows/index.ts'),
    failureConverterPath: path.join(root, 'workflows/failure-converter.ts'),
    logger: { log() {}, trace() {}, debug() {}, info() {}, warn: tell('warn'), error: tell('error') },
  });
  await mkdir(folder, { recursive: true });
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, code);
  await rename(draft, file);
  return file;
}

/** Words alone: what the bundler adds may be of any form. */
const tell = (level: Level) => (message: string): void => log(level, message);

async function sourceHash(): Promise<string> {
  const hash = createHash('sha256');
  const sdk = createRequire(import.meta.url)('@temporalio/worker/package.json') as { version: string };
  hash.update(sdk.version);
  for (const folder of sources) {
    const all = await readdir(path.join(root, folder), { recursive: true });
    const names = all.filter((name) => name.endsWith('.ts')).sort();
    for (const name of names) hash.update(name).update(await readFile(path.join(root, folder, name)));
  }
  return hash.digest('hex').slice(0, 16);
}

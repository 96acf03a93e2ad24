// The workflow bundle: built once for a set of sources, kept in a file, reused by every later start.

import { access, mkdir, rename, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';
import path from 'node:path';
import { log, type Level } from '../telemetry/log.ts';
import { buildId } from './build-id.ts';

const root = fileURLToPath(new URL('../', import.meta.url));

/** Builds the bundle if this version's is not there yet, and returns its path. */
export async function workflowBundle(folder = path.join(root, 'node_modules/.cache/planner')): Promise<string> {
  const file = path.join(folder, `workflows-${await buildId()}.cjs`);
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

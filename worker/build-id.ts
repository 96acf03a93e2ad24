// The name of this version of the workflows: what their bundle is kept under, and their worker versioning's build id.

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const sources = ['workflows', 'domain'];

/** 16 hex digits: a hash of the workflows' sources and of the SDK's version. */
export async function buildId(): Promise<string> {
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

// Where fetched tools lie: servers, the sentence model.

import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** `PLANNER_TOOLS_DIR`, else `.tools` in the checkout. */
export function toolsFolder(env: Readonly<Record<string, string | undefined>> = process.env): string {
  return path.resolve(env['PLANNER_TOOLS_DIR'] || fileURLToPath(new URL('../.tools', import.meta.url)));
}

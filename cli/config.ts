// `planner config`: each setting with its value and its source (spec: planner 13).

import { describeConfig, loadConfig } from '../config/index.ts';
import { cleanLine, table } from './print.ts';
import { dataFolder, type Environment } from './target.ts';

/** Secrets are shown as fingerprints. Errors: invalid_argument, all wrong settings named together. */
export function showConfig(env: Environment, options: { json?: boolean }): string {
  const config = loadConfig(env, dataFolder(env));
  const rows = describeConfig(config);
  if (options.json) return JSON.stringify({ items: rows }, null, 2);
  const cells = rows.map((row) => [row.key, cleanLine(row.value, 100) || '-', cleanLine(row.source, 200)]);
  return table(['setting', 'value', 'source'], cells);
}

// `npm run replay -- HISTORY ...`: replays histories with the workflow code that is here, and says where it would do
// something else. A file as `temporal workflow show --output json` or the UI's download give it; nothing is contacted.

import { readFile } from 'node:fs/promises';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { dataConverter } from '../planner/engine.ts';
import { workflowBundle } from './bundle.ts';

/** Replays one history. Errors: what the code here does otherwise, or that the file is no history. */
export async function replay(file: string): Promise<void> {
  const history = JSON.parse(await readFile(file, 'utf8')) as unknown;
  const codePath = await workflowBundle();
  await Worker.runReplayHistory({ workflowBundle: { codePath }, dataConverter }, history, 'replayed');
}

async function main(files: readonly string[]): Promise<number> {
  if (files.length === 0) {
    console.error('Name at least one file: temporal workflow show --workflow-id ID --output json > history.json');
    return 2;
  }
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { filter: 'OFF', forward: {} } },
  });
  let failed = 0;
  for (const file of files) {
    try {
      await replay(file);
      console.log(`${file}: replays`);
    } catch (error) {
      failed++;
      console.log(`${file}: does not replay: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return failed > 0 ? 1 : 0;
}

if (process.argv[1] === import.meta.filename) process.exit(await main(process.argv.slice(2)));

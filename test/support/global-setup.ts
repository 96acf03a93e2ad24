// Starts what the tests share, once a run: PostgreSQL and Temporal's dev server. TEST_DATABASE_URL and
// TEST_TEMPORAL_ADDRESS name running ones instead.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { freePort } from '../../cli/stack/ports.ts';
import { preparePostgres } from '../../cli/stack/postgres.ts';
import { Supervisor } from '../../cli/stack/supervisor.ts';
import { findTemporal, temporalPlan } from '../../cli/stack/temporal.ts';
import { fetchTool } from '../../cli/stack/tools.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** An administrator's URL: databases are made and dropped through it. */
    databaseUrl: string;
    temporalAddress: string;
  }
}

const say = (line: string): void => console.log(line);

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(path.join(tmpdir(), 'planner-test-'));
  const supervisor = new Supervisor(folder, say);
  const end = async (): Promise<void> => {
    await supervisor.end();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    project.provide('databaseUrl', process.env['TEST_DATABASE_URL'] || (await startPostgres(supervisor, folder)));
    project.provide('temporalAddress', process.env['TEST_TEMPORAL_ADDRESS'] || (await startTemporal(supervisor)));
  } catch (error) {
    await end();
    throw error;
  }
  return end;
}

async function startPostgres(supervisor: Supervisor, dataDir: string): Promise<string> {
  const executable = await fetchTool('postgres', say);
  const port = await freePort();
  const postgres = await preparePostgres({ dataDir, port, executable, say, maxConnections: 300, unsafe: true });
  await supervisor.start(postgres.plan);
  await postgres.createDatabase();
  return postgres.url;
}

async function startTemporal(supervisor: Supervisor): Promise<string> {
  const port = await freePort();
  await supervisor.start(temporalPlan({ executable: await findTemporal(say), port, namespace: 'default' }));
  return `127.0.0.1:${port}`;
}

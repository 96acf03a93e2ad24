// Real servers for tests and benchmarks: PostgreSQL and Temporal's dev server in a folder that goes with them.
// TEST_DATABASE_URL and TEST_TEMPORAL_ADDRESS name running ones instead; once started, they name the started ones.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../../cli/stack/ports.ts';
import { preparePostgres } from '../../cli/stack/postgres.ts';
import { Supervisor } from '../../cli/stack/supervisor.ts';
import { findTemporal, temporalPlan } from '../../cli/stack/temporal.ts';
import { fetchTool } from '../../cli/stack/tools.ts';

const say = (line: string): void => console.log(line);

/** Starts what is not named by the environment, and names it there. Call the result to end it. */
export async function startServers(): Promise<() => Promise<void>> {
  const folder = mkdtempSync(path.join(tmpdir(), 'planner-test-'));
  const supervisor = new Supervisor(folder, say);
  const end = async (): Promise<void> => {
    await supervisor.end();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    process.env['TEST_DATABASE_URL'] ||= await startPostgres(supervisor, folder);
    process.env['TEST_TEMPORAL_ADDRESS'] ||= await startTemporal(supervisor);
  } catch (error) {
    await end();
    throw error;
  }
  return end;
}

/** An administrator's URL: databases are made and dropped through it. */
export const databaseUrl = (): string => named('TEST_DATABASE_URL');
export const temporalAddress = (): string => named('TEST_TEMPORAL_ADDRESS');

function named(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: start the servers first`);
  return value;
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

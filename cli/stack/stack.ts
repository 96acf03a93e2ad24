// The stack on one machine: its parts in their order, from the tools to the API.

import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { configEnvironment, demoModel, type Config } from '../../config/index.ts';
import { migrate } from '../../store/migrate.ts';
import { buildPage } from '../../web/build.ts';
import { choosePorts, type Ports, type SetPort } from './ports.ts';
import { ask, postgresEnd, preparePostgres } from './postgres.ts';
import { identify } from './process.ts';
import { seed } from './seed.ts';
import { keepSecretKey, removeStack, writeStack, type StackFile } from './stack-file.ts';
import { endLeftovers, Supervisor, type ChildPlan, type Facts } from './supervisor.ts';
import { findTemporal, pingTemporal, temporalEnd, temporalPlan } from './temporal.ts';
import { fetchTool, type Say } from './tools.ts';

export interface Stack extends StackFile {
  token: string;
}

const nodeEnd = [{ signal: 'SIGTERM', graceMs: 30_000 }] as const;

/** In the order of their start. */
const parts = [
  { name: 'postgres', end: postgresEnd },
  { name: 'temporal', end: temporalEnd },
  { name: 'demo', end: nodeEnd },
  { name: 'worker', end: nodeEnd },
  { name: 'api', end: nodeEnd },
] as const;

/**
 * Starts all parts and resolves when all are ready. Whoever calls holds the data folder's lock, and ends the
 * supervisor when this throws.
 */
export async function startStack(config: Config, supervisor: Supervisor, say: Say): Promise<Stack> {
  const { dataDir } = config;
  removeStack(dataDir);
  const left = await endLeftovers(dataDir, parts);
  if (left.length > 0) say(`ended what an earlier start had left running: ${left.join(', ')}`);
  const ports = await choosePorts(path.join(dataDir, 'ports.json'), setPorts(config));

  const sentenceModel = fetchSentenceModel(config, say);
  const database = await startPostgres(config, supervisor, ports.postgres, say);
  const fresh = await migrate(database);
  if (fresh.length > 0) say(`database schema brought up to date (${fresh.join(', ')})`);
  const token = await seed(database, dataDir);
  const temporal = await startTemporal(config, supervisor, ports, say);
  const model = await startModel(config, supervisor, ports.demo, say);

  const sealing = config.secretKeys.length > 0 ? {} : { PLANNER_SECRET_KEY: keepSecretKey(dataDir) };
  const own = { ...configEnvironment(config), ...sealing, ...model.env };
  // Workflows link to the page: where nobody says how it is reached, at this machine's own address.
  const page = { PLANNER_PUBLIC_URL: config.server.publicUrl ?? `http://127.0.0.1:${ports.api}` };
  const shared = { ...process.env, ...own, ...page, PLANNER_HOST: '127.0.0.1' };
  const env = { ...shared, ...temporal.env, DATABASE_URL: database };
  await sentenceModel;
  say('starting the worker ...');
  const metricsPort = ports.worker_metrics;
  const workerEnv = { ...env, PLANNER_METRICS_PORT: String(metricsPort) };
  await supervisor.start(nodePlan('worker', 'worker/main.ts', workerEnv));
  await buildPage(say);
  say('starting the API ...');
  const apiEnv = { ...withoutKey(env), PLANNER_PORT: String(ports.api) };
  const facts = await supervisor.start(nodePlan('api', 'api/main.ts', apiEnv));
  return {
    ...ownIdentity(),
    api: addressOf(facts),
    temporal: temporal.env.TEMPORAL_ADDRESS,
    temporal_namespace: config.temporal.namespace,
    ...(temporal.ui ? { temporal_ui: temporal.ui } : {}),
    worker_metrics: `http://127.0.0.1:${metricsPort}/metrics`,
    database,
    data_dir: dataDir,
    model: { name: model.name, demo: config.model.demo },
    token,
  };
}

/** Tells the other commands where the stack is. */
export function announce({ token: _token, ...stack }: Stack): void {
  writeStack(stack.data_dir, stack);
}

function setPorts({ server, embeddedPorts, databaseUrl, temporal, workerMetrics }: Config): Partial<Record<keyof Ports, SetPort>> {
  const { database, temporal: engine, temporalUi } = embeddedPorts;
  return {
    api: { port: server.port, variable: 'PLANNER_PORT' },
    worker_metrics: { port: workerMetrics.port, variable: 'PLANNER_METRICS_PORT' },
    ...(databaseUrl ? {} : { postgres: { port: database, variable: 'PLANNER_DATABASE_PORT' } }),
    ...(temporal.address
      ? {}
      : {
          temporal: { port: engine, variable: 'PLANNER_TEMPORAL_PORT' },
          temporal_ui: { port: temporalUi, variable: 'PLANNER_TEMPORAL_UI_PORT' },
        }),
  };
}

async function startPostgres(config: Config, supervisor: Supervisor, port: number, say: Say): Promise<string> {
  if (config.databaseUrl) {
    await ask(config.databaseUrl, 'SELECT 1').catch((error: Error) => {
      throw new Error(`The database of DATABASE_URL can't be reached: ${error.message}`);
    });
    return config.databaseUrl;
  }
  const executable = await fetchTool('postgres', say);
  const postgres = await preparePostgres({ dataDir: config.dataDir, port, executable, say });
  say('starting PostgreSQL ...');
  await supervisor.start(postgres.plan);
  await postgres.createDatabase();
  return postgres.url;
}

async function startTemporal(
  config: Config,
  supervisor: Supervisor,
  ports: Ports,
  say: Say,
): Promise<{ env: Record<'TEMPORAL_ADDRESS', string> & Record<string, string>; ui: string | undefined }> {
  const { address, namespace, ui } = config.temporal;
  if (address) {
    await pingTemporal(address, namespace).catch((error: Error) => {
      throw new Error(`Temporal of TEMPORAL_ADDRESS (${address}, namespace ${namespace}): ${error.message}`);
    });
    return { env: { TEMPORAL_ADDRESS: address }, ui };
  }
  const executable = await findTemporal(say);
  const uiPort = ports.temporal_ui;
  say('starting Temporal ...');
  const { dataDir } = config;
  await supervisor.start(temporalPlan({ executable, dataDir, port: ports.temporal, uiPort, namespace }));
  const own = `http://127.0.0.1:${uiPort}`;
  return { env: { TEMPORAL_ADDRESS: `127.0.0.1:${ports.temporal}`, PLANNER_TEMPORAL_UI: own }, ui: own };
}

async function startModel(
  config: Config,
  supervisor: Supervisor,
  port: number,
  say: Say,
): Promise<{ name: string; env: Record<string, string> }> {
  const { demo, baseUrl, name } = config.model;
  if (!demo) return { name, env: { PLANNER_MODEL_BASE_URL: baseUrl, PLANNER_MODEL_DEMO: '0' } };
  say('starting the demo model ...');
  const plan = nodePlan('demo', 'models/demo/main.ts', withoutKey({ ...process.env, DEMO_MODEL_PORT: String(port) }));
  await supervisor.start(plan);
  const own = `http://127.0.0.1:${port}/v1`;
  const env = { PLANNER_MODEL_BASE_URL: own, PLANNER_MODEL: demoModel, PLANNER_MODEL_DEMO: '1' };
  return { name: demoModel, env };
}

/** Never fails: without it, search goes by spelling, and the processes say so in their logs. */
async function fetchSentenceModel({ embeddings }: Config, say: Say): Promise<void> {
  if (embeddings.endpoint) return;
  try {
    for (const name of ['minilm', 'onnxruntime'] as const) await fetchTool(name, say, embeddings.toolsDir);
  } catch (error) {
    say(`Search will go by spelling, not by meaning. ${error instanceof Error ? error.message : String(error)}`);
  }
}

function nodePlan(name: string, entry: string, env: NodeJS.ProcessEnv): ChildPlan {
  return {
    name,
    command: process.execPath,
    args: [fileURLToPath(new URL(`../../${entry}`, import.meta.url))],
    env,
    ready: 'line',
    readyWithinMs: 120_000,
    end: nodeEnd,
  };
}

/** Only the worker calls the model, and starts the Claude CLI. */
function withoutKey(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isSecret = (name: string): boolean => name === 'PLANNER_MODEL_API_KEY' || /^(?:ANTHROPIC|CLAUDE)_/.test(name);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isSecret(name)));
}

function addressOf(facts: Facts): string {
  const address = facts['address'];
  if (typeof address !== 'string') throw new Error('The API did not say its address.');
  return address;
}

function ownIdentity(): { pid: number; started: string } {
  const identity = identify(process.pid);
  if (!identity) throw new Error('The system does not tell when this process started.');
  return identity;
}

export function makeDataFolder(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
}

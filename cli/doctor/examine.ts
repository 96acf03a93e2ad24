// `planner doctor`: everything that a computer can get wrong, looked at; nothing is written, started or paid.

import { statSync } from 'node:fs';
import path from 'node:path';
import { loadConfig, type Config } from '../../config/index.ts';
import { DomainError } from '../../domain/errors.ts';
import { keyring, type Keyring } from '../../store/sealing.ts';
import { answers, isHeld } from '../stack/detached.ts';
import { readText } from '../stack/process.ts';
import { readStack, readToken, type StackFile } from '../stack/stack-file.ts';
import { onPath, toolPath } from '../stack/tools.ts';
import type { Environment } from '../target.ts';
import { examineDatabase } from './database.ts';
import { examineEngine } from './engine.ts';
import { fail, look, ok, warn, type Finding } from './finding.ts';
import { data, node, packages, ports, python, tools, user } from './machine.ts';
import { embeddings, model } from './models.ts';

/** `dataDir`: absolute. Works without a running stack; where one runs, its own parts are looked at. */
export async function examinePlanner(env: Environment, dataDir: string): Promise<Finding[]> {
  const found = readConfig(env, dataDir);
  const before = [await look('node', node), await look('packages', () => packages())];
  if ('mark' in found) return [...before, found];
  const { config, finding } = found;
  const stack = readStack(config.dataDir);
  return [
    ...before,
    finding,
    ...(await examineMachine(config, env, stack)),
    await look('secret key', () => secretKey(config)),
    await look('stack', () => runs(config, stack)),
    ...(stack ? [await look('token', () => token(stack))] : []),
    ...(await databaseOf(config, stack, env)),
    ...(await engineOf(config, stack, env)),
    await look('model', () => model(config)),
    await look('embeddings', () => embeddings(config)),
  ];
}

/** What `planner` and `partner` need alike of the computer that the stack runs on. */
export async function examineMachine(
  config: Config,
  env: Environment,
  stack: StackFile | undefined,
): Promise<Finding[]> {
  return [
    await look('python', () => python(config, env)),
    await look('tools', () => tools(config, env)),
    await look('data', () => data(config.dataDir)),
    ...user(config),
    await look('ports', () => ports(config, stack !== undefined || isHeld(config.dataDir))),
  ];
}

export function readConfig(env: Environment, dataDir: string): { config: Config; finding: Finding } | Finding {
  try {
    const config = loadConfig(env, dataDir);
    const { warnings } = config;
    const mend = 'Unset them, or see "planner config" for the names.';
    const from = [...config.settled.values()].some(({ source }) => source.endsWith('planner.toml'));
    const text = from ? `${path.join(dataDir, 'planner.toml')} and the environment` : 'the environment and defaults';
    return { config, finding: warnings.length > 0 ? warn('config', warnings.join('\n'), mend) : ok('config', text) };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return fail('config', error.message, 'All else goes by it: mend it, and look again.');
  }
}

const own = { own: true };
const others = { own: false };

export async function databaseOf(
  config: Config,
  stack: StackFile | undefined,
  env: Environment,
  sealed = true,
): Promise<Finding[]> {
  const keys = sealed ? keysOf(config) : undefined;
  if (config.databaseUrl) return examineDatabase(config.databaseUrl, others, keys);
  if (stack) return examineDatabase(stack.database, own, keys);
  const file = toolPath('postgres', config.embeddings.toolsDir);
  return [await look('database', () => embedded('database', 'PostgreSQL', file, env))];
}

export async function engineOf(config: Config, stack: StackFile | undefined, env: Environment): Promise<Finding[]> {
  const { address, namespace } = config.temporal;
  if (address) return examineEngine(address, namespace, others);
  if (stack) return examineEngine(stack.temporal, stack.temporal_namespace, own);
  const file = onPath('temporal', env as NodeJS.ProcessEnv) ?? toolPath('temporal', config.embeddings.toolsDir);
  return [await look('engine', () => embedded('engine', 'Temporal', file, env))];
}

function embedded(what: string, name: string, file: string | undefined, env: Environment): Finding {
  if (file) return ok(what, `${name} is at ${file}; it runs with the stack`);
  if (['python3', 'python'].some((each) => onPath(each, env as NodeJS.ProcessEnv))) {
    return ok(what, `${name} is not fetched yet; the first start fetches it`);
  }
  const variable = what === 'database' ? 'DATABASE_URL' : 'TEMPORAL_ADDRESS';
  return fail(what, `${name} is fetched by Python 3, and none is on the PATH`, `Install it, or set ${variable}.`);
}

export async function runs(config: Config, stack: StackFile | undefined): Promise<Finding> {
  const { dataDir } = config;
  if (!stack) {
    if (isHeld(dataDir)) return warn('stack', `one starts or ends on ${dataDir}`, 'Look again in a minute.');
    const how = '"npm start" or "partner plan" starts one, PLANNER_DATA_DIR names another folder';
    return ok('stack', `none runs on ${dataDir}; ${how}`);
  }
  if (await answers(stack)) return ok('stack', `${stack.api}, process ${stack.pid}, data in ${dataDir}`);
  const mend = `See ${path.join(dataDir, 'logs')}; end the process and start again.`;
  return fail('stack', `${stack.api} (process ${stack.pid}) does not answer`, mend);
}

async function token(stack: StackFile): Promise<Finding> {
  const text = readToken(stack.data_dir);
  const mend = '"planner token create" makes one; a start of the stack makes the local one anew.';
  if (!text) return fail('token', `there is none in ${stack.data_dir}`, mend);
  const signal = AbortSignal.timeout(5_000);
  const headers = { authorization: `Bearer ${text}` };
  const status = await fetch(`${stack.api}/api/v1/me`, { headers, signal }).then(
    (response) => response.status,
    () => undefined,
  );
  if (status === 401) return fail('token', `the one in ${stack.data_dir} is refused`, mend);
  if (status === 200) return ok('token', 'the local one is accepted');
  return warn('token', 'not tried: the API does not answer', 'Look again when it does.');
}

const keyFile = ({ dataDir }: Config): string => path.join(dataDir, 'secret.key');

/** Undefined: none can be read, which `secretKey` tells. */
function keysOf(config: Config): Keyring | undefined {
  if (config.secretKeys.length > 0) return keyring(config.secretKeys);
  const kept = readText(keyFile(config))?.trim();
  try {
    return keyring(kept ? [kept] : []);
  } catch {
    return undefined;
  }
}

function secretKey(config: Config): Finding {
  const what = 'secret key';
  if (config.secretKeys.length > 0) return ok(what, 'PLANNER_SECRET_KEY is set');
  const file = keyFile(config);
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) return ok(what, 'none yet: "npm start" makes one; API and workers of a cluster need PLANNER_SECRET_KEY');
  const text = readText(file)?.trim();
  const back = 'Bring it back from a backup, or remove it and store all credentials anew.';
  if (!text) return fail(what, `${file} is empty or can't be read`, back);
  try {
    keyring([text]);
  } catch {
    return fail(what, `${file} holds no key (base64 of 32 bytes)`, back);
  }
  if ((stat.mode & 0o077) !== 0) return warn(what, `${file} can be read by others`, `chmod 600 ${file}`);
  return ok(what, `${file}: back it up, stored credentials can't be opened without it`);
}

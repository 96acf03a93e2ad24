// The stack that a command works with: the named one, the running one, or one that is started for it.

import { UsageError } from '../print.ts';
import { ensureStack, StackError, type Say } from '../stack/detached.ts';
import { readToken } from '../stack/stack-file.ts';
import { findTarget, type Target } from '../target.ts';
import { stackFolder } from './options.ts';
import { reject } from './reject.ts';

export interface Base extends Target {
  /** Where repositories can be registered; undefined: not known here. */
  database: string | undefined;
  /** Where its files are; undefined: it is named by its address. */
  dataDir: string | undefined;
}

/** `PLANNER_ADDRESS` and `PLANNER_TOKEN` where set, else the stack of the data folder. @throws Rejection, UsageError */
export async function reach(env: NodeJS.ProcessEnv, say: Say): Promise<Base> {
  if (env['PLANNER_ADDRESS'])
    return { ...findTarget({}, env), database: env['DATABASE_URL'] || undefined, dataDir: undefined };
  const dataDir = stackFolder(env);
  try {
    const stack = await ensureStack(dataDir, env, say, idleSeconds(env));
    const token = env['PLANNER_TOKEN'] || readToken(dataDir);
    if (!token)
      throw reject('token', `There is no token in ${dataDir}. Set PLANNER_TOKEN; "planner token create" makes one.`);
    return { address: stack.api, token, database: stack.database, dataDir };
  } catch (error) {
    throw error instanceof StackError ? reject('stack', error.message) : error;
  }
}

/** Seconds that a stack started here stays when nobody uses it: `PARTNER_IDLE_SECONDS`; undefined: its own default. */
function idleSeconds(env: NodeJS.ProcessEnv): number | undefined {
  const text = env['PARTNER_IDLE_SECONDS'];
  if (!text) return undefined;
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
  throw new UsageError('PARTNER_IDLE_SECONDS must be a whole number of seconds.');
}

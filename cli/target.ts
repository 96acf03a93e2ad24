// Which API, database and token a command works with: options, then the environment, then the running stack's files.

import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { UsageError } from './print.ts';
import { readStack, readToken } from './stack/stack-file.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface GlobalOptions {
  address?: string;
  token?: string;
}

export interface Target {
  address: string;
  token: string;
}

const notRunning = (folder: string): string =>
  `No running planner was found in ${folder}. Run "npm start" first, or give --address and --token` +
  ' (or PLANNER_ADDRESS and PLANNER_TOKEN); PLANNER_DATA_DIR names another data folder.';

/**
 * Absolute: `PLANNER_DATA_DIR`, else `.planner` in the working folder or in the nearest parent that has one, else where
 * it would be in the working folder. Errors: UsageError when a file is named.
 */
export function dataFolder(env: Environment, from = process.cwd()): string {
  const named = env['PLANNER_DATA_DIR'];
  if (!named) return nearestFolder(from) ?? path.resolve(from, '.planner');
  const folder = path.resolve(from, named);
  if (existsSync(folder) && !isFolder(folder)) {
    throw new UsageError(`PLANNER_DATA_DIR must name a folder; ${folder} is a file.`);
  }
  return folder;
}

function nearestFolder(from: string): string | undefined {
  const here = path.join(from, '.planner');
  if (isFolder(here)) return here;
  const parent = path.dirname(from);
  return parent === from ? undefined : nearestFolder(parent);
}

function isFolder(name: string): boolean {
  return statSync(name, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Errors: UsageError, which says what to do. */
export function findTarget(options: GlobalOptions, env: Environment): Target {
  const folder = dataFolder(env);
  const address = options.address || env['PLANNER_ADDRESS'] || readStack(folder)?.api;
  if (!address) throw new UsageError(notRunning(folder));
  if (!/^https?:$/.test(URL.canParse(address) ? new URL(address).protocol : '')) {
    throw new UsageError(`The address must look like http://127.0.0.1:8787, not ${JSON.stringify(address)}.`);
  }
  // The address as the stack prints it may be pasted whole: its token comes after the hash.
  const [bare = address, hash = ''] = address.split('#');
  const pasted = new URLSearchParams(hash).get('token') ?? undefined;
  const token = options.token || pasted || env['PLANNER_TOKEN'] || readToken(folder);
  if (!token) {
    throw new UsageError(
      `There is no token in ${folder}. Give --token or PLANNER_TOKEN; "planner token create --subject S" makes one.`,
    );
  }
  return { address: bare.replace(/\/+$/, ''), token };
}

/** The database's URL: DATABASE_URL, else the running stack's. Errors: UsageError. */
export function findDatabase(env: Environment): string {
  const folder = dataFolder(env);
  const url = env['DATABASE_URL'] || readStack(folder)?.database;
  if (!url) {
    throw new UsageError(
      `This command works on the database itself, and none was found: run "npm start" first (its data folder is ${folder};` +
        ' PLANNER_DATA_DIR names another one), or set DATABASE_URL.',
    );
  }
  return url;
}

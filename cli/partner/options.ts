// What the options of `partner` commands share.

import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { InvalidArgumentError, Option } from 'commander';
import { hosts, roles } from '../../domain/bounded/identity.ts';
import { dataFolder, type Environment } from '../target.ts';
import type { Scope } from './config-files.ts';
import { scopes } from './config-files.ts';
import type { Place } from './config.ts';
import { findRepo } from './repo.ts';

export const repoOption = (): Option =>
  new Option('--repo <folder>', 'the repository, by default the one around the working folder');
export const hostOption = (): Option => new Option('--host <host>', 'which host asks').choices([...hosts]);
export const roleOption = (): Option => new Option('--role <role>', 'which role answers').choices([...roles]);
export const scopeOption = (): Option =>
  new Option('--scope <file>', "which file: the repository's or the user's").choices([...scopes]);
export const jsonOption = (): Option => new Option('--json', 'as JSON');

/** A number, whole or not; its range is checked where the rule is. */
export function number(text: string): number {
  const value = /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isFinite(value)) throw new InvalidArgumentError('A number is needed.');
  return value;
}

export const placeOf = (options: { repo?: string; scope?: Scope }, env: Environment): Place => ({
  repo: findRepo(options.repo),
  env,
  ...(options.scope ? { scope: options.scope } : {}),
});

/**
 * `PLANNER_DATA_DIR`; else `.planner` in the working folder, where there is one; else that of the checkout, which is
 * where `npm start` keeps its data.
 */
export function stackFolder(env: Environment): string {
  const here = dataFolder(env);
  if (env['PLANNER_DATA_DIR'] || existsSync(here)) return here;
  return path.join(fileURLToPath(new URL('../..', import.meta.url)), '.planner');
}

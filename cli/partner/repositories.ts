// The repository of a command among those that the stack knows (spec: bounded-claude 1).

import { machineName, registerRepository } from '../../bounded/index.ts';
import type { Rest } from '../../client/index.ts';
import { openDatabase, transaction } from '../../store/database.ts';
import type { Say } from '../stack/detached.ts';
import type { Base } from './reach.ts';
import { reject } from './reject.ts';

/** Its alias. One that the stack does not know is registered, and that is said. `repo`: real path. @throws Rejection */
export async function aliasOf(rest: Rest, base: Base, repo: string, say: Say): Promise<string> {
  const known = await knownAlias(rest, repo);
  if (known !== undefined) return known;
  if (!base.database) {
    const how = 'Set DATABASE_URL to its database, and run the command again: that registers it.';
    throw reject('repository', `The planner at ${base.address} does not know ${repo} on ${machineName()}. ${how}`);
  }
  const database = openDatabase(base.database, { max: 1, name: 'partner' });
  try {
    const { alias, project } = await transaction(database, (tx) =>
      registerRepository(tx, { machine: machineName(), path: repo }),
    );
    say(`registered ${repo} as "${alias}", project ${project}`);
    return alias;
  } finally {
    await database.close();
  }
}

/** Undefined: the stack does not know it, or hides it from this human. */
export async function knownAlias(rest: Rest, repo: string): Promise<string | undefined> {
  const { items } = await rest.repositories();
  return items.find(({ machine, path }) => machine === machineName() && path === repo)?.alias;
}

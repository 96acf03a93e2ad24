// The repository that a command works on.

import { existsSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { reject } from './reject.ts';

/**
 * The real path of the named folder; without a name of the repository around the working folder, else of that.
 * @throws Rejection not there, no folder, or a folder of runs' own files
 */
export function findRepo(named: string | undefined): string {
  const wanted = path.resolve(named ?? enclosing(process.cwd()));
  const found = realOf(wanted);
  if (found === undefined)
    throw reject('repo', `The repository ${wanted} does not exist. Name an existing folder with --repo.`);
  const parts = found.split(path.sep);
  const own = parts.findIndex((part) => part.toLowerCase() === '.partner');
  if (own >= 0) {
    const around = parts.slice(0, own).join(path.sep) || path.sep;
    const why = `${wanted} lies in a .partner folder, which holds runs' own files.`;
    throw reject('repo', `${why} Give --repo ${quoted(around)}.`);
  }
  if (statSync(found).isDirectory()) return found;
  throw reject('repo', `The repository ${wanted} is no folder. Name the repository's folder with --repo.`);
}

function realOf(wanted: string): string | undefined {
  try {
    return realpathSync(wanted);
  } catch {
    return undefined;
  }
}

function enclosing(from: string): string {
  for (let folder = from; ; folder = path.dirname(folder)) {
    if (['.git', '.partner'].some((name) => existsSync(path.join(folder, name)))) return folder;
    if (folder === path.dirname(folder)) return from;
  }
}

/** An argument as a POSIX shell takes it. */
export const quoted = (text: string): string =>
  /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** Commands in a message, told for a repository other than the one around the working folder. */
export function forRepo(message: string, repo: string): string {
  if (realpathSync(enclosing(process.cwd())) === repo) return message;
  return message.replace(/partner (config set|config init|verify)\b/g, `partner $1 --repo ${quoted(repo)}`);
}

// The user PostgreSQL runs as: it refuses root.

import { readFileSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';

export interface User {
  name: string;
  uid: number;
  gid: number;
}

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/**
 * Whom PostgreSQL runs as when started by root: the owner of the data if there are any, else the first of `postgres`
 * and `nobody` that exists. Undefined when this process is not root's: then nothing changes.
 */
export function serverUser(dataOwner?: number): User | undefined {
  if (!isRoot()) return undefined;
  const users = readUsers();
  const owner = dataOwner ? users.find((user) => user.uid === dataOwner) : undefined;
  const found = owner ?? ['postgres', 'nobody'].map((name) => users.find((user) => user.name === name)).find(Boolean);
  if (!found) {
    throw new Error(
      'PostgreSQL refuses to run as root, and there is neither a user "postgres" nor "nobody" to run it as. Start as' +
        ' another user, create one of them, or set DATABASE_URL to a running PostgreSQL.',
    );
  }
  return found;
}

function readUsers(): User[] {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n').filter((line) => /^[^#:]+:[^:]*:\d+:\d+:/.test(line));
  return lines.map((line) => {
    const [name = '', , uid, gid] = line.split(':');
    return { name, uid: Number(uid), gid: Number(gid) };
  });
}

/** Whether every folder on the way to `target`, itself included, may be entered by the user. */
export function canReach(user: User, target: string): boolean {
  for (let folder = realpathSync(target); ; folder = path.dirname(folder)) {
    const { mode, uid, gid } = statSync(folder);
    const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return false;
    if (folder === path.dirname(folder)) return true;
  }
}

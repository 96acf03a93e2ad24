// The empty directory in which a run's CLI works: outside of any git repository, the same real path for every resume
// (spec: bounded-claude 4).

import { access, mkdir, realpath, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';

/** Creates it and returns its real path; again the same. `kept`: the path that an earlier attempt has used. */
export async function makeWorkDir(env: NodeJS.ProcessEnv, run: string, kept: string | null): Promise<string> {
  if (kept !== null) {
    await mkdir(kept, { recursive: true, mode: 0o700 });
    return kept;
  }
  const state = env['XDG_STATE_HOME'] || path.join(env['HOME'] || homedir(), '.local', 'state');
  for (const base of [state, tmpdir(), '/var/tmp']) {
    const folder = path.join(base, 'partner', 'work', run);
    if (await insideGit(folder)) continue;
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      return await realpath(folder);
    } catch {
      // The next one.
    }
  }
  const tried = `neither under ${state} nor under ${tmpdir()}`;
  throw new Error(`No directory outside a git repository can be made, ${tried}. Set XDG_STATE_HOME.`);
}

async function insideGit(folder: string): Promise<boolean> {
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    if (await exists(path.join(at, '.git'))) return true;
    if (at === path.dirname(at)) return false;
  }
}

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

/** Once no resume can need it any more. */
export async function removeWorkDir(folder: string): Promise<void> {
  if (path.basename(path.dirname(folder)) === 'work') await rm(folder, { recursive: true, force: true });
}

// The two files of identities: where they are, read and rewritten whole (spec: bounded-claude 3).

import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { repoIdentityFile, userIdentityFile } from '../../bounded/identity-files.ts';
import type { IdentityFile, IdentityFiles } from '../../domain/bounded/identity.ts';
import { isLock, takeLock, type Lock } from '../stack/process.ts';
import type { Environment } from '../target.ts';
import { reject, whyNot } from './reject.ts';

export const scopes = ['repo', 'user'] as const;
export type Scope = (typeof scopes)[number];

/** `<repo>/.partner/config.toml`, and `$XDG_CONFIG_HOME` (where absolute) or `~/.config` with `partner/config.toml`. */
export function configPath(scope: Scope, repo: string, env: Environment): string {
  return scope === 'repo' ? repoIdentityFile(repo) : userIdentityFile(env);
}

/** Undefined: there is no such file. @throws Rejection it can't be read */
export function readConfig(scope: Scope, repo: string, env: Environment): IdentityFile | undefined {
  const file = configPath(scope, repo, env);
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw reject('config', `${file} can't be read (${code}). Give the right to read it, or move it away.`);
  }
  try {
    return { path: file, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    throw reject('config', `${file} is not UTF-8. Save it as UTF-8.`);
  }
}

export function readConfigs(repo: string, env: Environment): IdentityFiles {
  const [inRepo, ofUser] = scopes.map((scope) => readConfig(scope, repo, env));
  return { ...(inRepo ? { repo: inRepo } : {}), ...(ofUser ? { user: ofUser } : {}) };
}

/**
 * Rewrites a file of identities: read, changed and replaced under a lock, so that of two commands neither undoes the
 * other; whole or not at all. A link stays a link. Returns its path. @throws Rejection
 */
export async function rewriteConfig(
  scope: Scope,
  repo: string,
  env: Environment,
  change: (file: IdentityFile | undefined) => string,
): Promise<string> {
  const file = configPath(scope, repo, env);
  try {
    mkdirSync(path.dirname(file), { recursive: true, ...(scope === 'user' ? { mode: 0o700 } : {}) });
    const lock = await waitForLock(`${file}.lock`);
    try {
      replace(file, change(readConfig(scope, repo, env)));
    } finally {
      lock.release();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (typeof code !== 'string' || !/^E[A-Z]+$/.test(code)) throw error;
    const how = `${path.dirname(file)} must be a folder that you may write in.`;
    throw reject('config', `${file} can't be written: ${whyNot(error)} ${how}`);
  }
  return file;
}

async function waitForLock(file: string): Promise<Lock> {
  for (;;) {
    const taken = takeLock(file);
    if (isLock(taken)) return taken;
    await sleep(20);
  }
}

function replace(file: string, text: string): void {
  const target = realOf(file);
  const draft = `${target}.${process.pid}.tmp`;
  const descriptor = openSync(draft, 'wx', modeOf(target));
  try {
    writeSync(descriptor, text);
    fsyncSync(descriptor);
    renameSync(draft, target);
  } finally {
    closeSync(descriptor);
    rmSync(draft, { force: true });
  }
}

function realOf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

function modeOf(file: string): number {
  try {
    return statSync(file).mode & 0o777;
  } catch {
    return 0o644;
  }
}

// The two files that configure identities, as they are on this computer (spec: bounded-claude 3).

import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import type { Identity, IdentityFile, IdentityFiles } from '../domain/bounded/identity.ts';

export const repoIdentityFile = (repo: string): string => path.join(repo, '.partner', 'config.toml');

export function userIdentityFile(env: NodeJS.ProcessEnv): string {
  const xdg = env['XDG_CONFIG_HOME'];
  const base = xdg && path.isAbsolute(xdg) ? xdg : path.join(env['HOME'] || homedir(), '.config');
  return path.join(base, 'partner', 'config.toml');
}

/** Absent files are left out. Throws what reading threw otherwise. */
export async function readIdentityFiles(repo: string, env: NodeJS.ProcessEnv): Promise<IdentityFiles> {
  const [own, user] = await Promise.all([readOne(repoIdentityFile(repo)), readOne(userIdentityFile(env))]);
  return { ...(own ? { repo: own } : {}), ...(user ? { user } : {}) };
}

async function readOne(file: string): Promise<IdentityFile | undefined> {
  try {
    return { path: file, text: await readFile(file, 'utf8') };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Of a demonstration, which asks no model. */
export const demoIdentity: Identity = {
  backend: 'claude',
  model: 'claude-demo-1',
  effort: 'low',
  verified: false,
  verified_at: null,
  source: 'demo',
};

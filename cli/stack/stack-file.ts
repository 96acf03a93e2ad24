// What runs on a data folder, for the other commands: `stack.json`, the sign-in token of the local human, and the key
// that seals stored credentials.

import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { newSecretKey } from '../../store/sealing.ts';
import { isAlive, readText } from './process.ts';

export interface StackFile {
  pid: number;
  /** With the pid: which process it is. */
  started: string;
  /** The API's address. */
  api: string;
  /** host:port */
  temporal: string;
  temporal_namespace: string;
  temporal_ui?: string;
  /** Where the worker's metrics are scraped. */
  worker_metrics?: string;
  /** With its password: the file is readable by its owner only. */
  database: string;
  data_dir: string;
  model: { name: string; demo: boolean };
  /** It was started by a command, and ends when nobody has used it for so many seconds. */
  idle_seconds?: number;
}

/** The stack that runs on the data folder; undefined when none does, or when it is not ready yet. */
export function readStack(dataDir: string): StackFile | undefined {
  const text = readText(path.join(dataDir, 'stack.json'));
  if (!text) return undefined;
  try {
    const stack = JSON.parse(text) as StackFile;
    return isAlive(stack) ? stack : undefined;
  } catch {
    return undefined;
  }
}

export function writeStack(dataDir: string, stack: StackFile): void {
  writePrivate(path.join(dataDir, 'stack.json'), `${JSON.stringify(stack, undefined, 2)}\n`);
}

export function removeStack(dataDir: string): void {
  rmSync(path.join(dataDir, 'stack.json'), { force: true });
}

/** The local human's sign-in token, as the last start left it. */
export function readToken(dataDir: string): string | undefined {
  return readText(path.join(dataDir, 'token'))?.trim() || undefined;
}

export function writeToken(dataDir: string, token: string): void {
  writePrivate(path.join(dataDir, 'token'), `${token}\n`);
}

/**
 * The key that seals stored credentials, in base64; made when the folder has none. Whoever loses it has to store the
 * credentials anew. Errors: Error, when the file is there and cannot be read or is empty.
 */
export function keepSecretKey(dataDir: string): string {
  const file = path.join(dataDir, 'secret.key');
  if (!existsSync(file)) writePrivate(file, `${newSecretKey()}\n`);
  const key = readText(file)?.trim();
  if (key) return key;
  throw new Error(`${file} is empty or can't be read. Bring it back, or remove it and store all credentials anew.`);
}

/** Replaced whole, on the disk before it takes its name, and readable by its owner only. */
function writePrivate(file: string, text: string): void {
  const draft = `${file}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, text, { mode: 0o600, flush: true });
  renameSync(draft, file);
}

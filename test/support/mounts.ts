// Real file systems that refuse: read-only, or full. Only who may mount has them (`canMount`), as root does.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const run = (command: string, ...args: string[]): void =>
  void execFileSync(command, args, { stdio: ['ignore', 'ignore', 'ignore'] });

/** Again changes nothing. */
function unmounter(folder: string): () => void {
  let mounted = true;
  return () => {
    if (mounted) run('umount', '-l', folder);
    mounted = false;
  };
}

/** The folder as it is, but read-only until the returned function is called. Files that are open stay writable. */
export function readOnly(folder: string): () => void {
  run('mount', '--bind', folder, folder);
  run('mount', '-o', 'remount,ro,bind', folder);
  return unmounter(folder);
}

/** A disk of 64 KiB in the folder's place; `filled`: to the last byte. Gone once the returned function is called. */
export function tinyDisk(folder: string, { filled = false } = {}): () => void {
  run('mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder);
  if (filled) {
    try {
      writeFileSync(path.join(folder, 'filler'), 'x'.repeat(128 * 1024));
    } catch {
      // Full.
    }
  }
  return unmounter(folder);
}

export const canMount = ((): boolean => {
  const folder = mkdtempSync(path.join(tmpdir(), 'mounts-'));
  try {
    tinyDisk(folder)();
    return true;
  } catch {
    return false;
  } finally {
    rmdirSync(folder);
  }
})();

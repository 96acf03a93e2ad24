// Files that are there whole or not at all, written without a pause: by a guard, and where nobody may come between.

import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Replaces the file, mode 0600, and syncs it. Throws what the file system says. */
export function replaceFile(file: string, text: string): void {
  const draft = `${file}.tmp`;
  writeSynced(draft, text, 'w');
  renameSync(draft, file);
  syncFolder(path.dirname(file));
}

/** Creates the file, mode 0600, and syncs it; nobody ever sees half of it. False: it was there. Throws else. */
export function createFile(file: string, text: string): boolean {
  const draft = `${file}.${randomUUID().slice(0, 8)}.tmp`;
  try {
    writeSynced(draft, text, 'wx');
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  } finally {
    rmSync(draft, { force: true });
  }
  syncFolder(path.dirname(file));
  return true;
}

function writeSynced(file: string, text: string, flags: 'w' | 'wx'): void {
  const handle = openSync(file, flags, 0o600);
  try {
    writeFileSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

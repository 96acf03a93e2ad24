// Processes by identity: a pid counts only together with its start time, so that a reused pid is never taken for ours.

import { spawnSync } from 'node:child_process';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Identity {
  pid: number;
  /** When it started, as the system tells it; unique together with the pid. */
  started: string;
}

/** Undefined when no such process runs. */
export function identify(pid: number): Identity | undefined {
  const started = process.platform === 'linux' ? startOnLinux(pid) : startByPs(pid);
  return started ? { pid, started } : undefined;
}

export function isAlive(identity: Identity): boolean {
  return identify(identity.pid)?.started === identity.started;
}

/** Sends the signals one after the other, each `graceMs` after the one before, until the process is gone. */
export async function endProcess(
  identity: Identity,
  steps: readonly { signal: NodeJS.Signals; graceMs: number }[],
): Promise<boolean> {
  for (const { signal, graceMs } of steps) {
    if (!isAlive(identity)) return true;
    kill(identity.pid, signal);
    for (let waited = 0; waited < graceMs && isAlive(identity); waited += 20) await sleep(20);
  }
  return !isAlive(identity);
}

export function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone already.
  }
}

export interface Lock {
  release(): void;
}

/** Takes the lock file for this process, or returns who holds it. A lock whose holder is gone is taken over. */
export function takeLock(file: string): Lock | Identity {
  const mine = JSON.stringify(identify(process.pid));
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, mine, { mode: 0o600 });
  try {
    for (;;) {
      try {
        linkSync(draft, file);
        return { release: () => readText(file) === mine && rmSync(file, { force: true }) };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const held = readText(file);
      const holder = held ? parseIdentity(held) : undefined;
      if (holder && isAlive(holder)) return holder;
      setAside(file, held);
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

export function isLock(result: Lock | Identity): result is Lock {
  return 'release' in result;
}

/** Moves a lock away that was judged stale. Another process may have taken it over meanwhile: then it is put back. */
function setAside(file: string, judged: string | undefined): void {
  const aside = `${file}.${process.pid}.stale`;
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  if (readText(aside) !== judged) {
    try {
      linkSync(aside, file);
    } catch {
      // A third one holds it by now.
    }
  }
  rmSync(aside, { force: true });
}

export function parseIdentity(text: string): Identity | undefined {
  try {
    const value = JSON.parse(text) as Partial<Identity>;
    return typeof value.pid === 'number' && typeof value.started === 'string'
      ? { pid: value.pid, started: value.started }
      : undefined;
  } catch {
    return undefined;
  }
}

export function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** Clock ticks since boot (field 22 of stat, counted behind the command's closing bracket) and the boot's id. */
function startOnLinux(pid: number): string | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (!fields || fields[0] === 'Z' || fields[0] === 'X') return undefined;
  return `${fields[19]}@${readText('/proc/sys/kernel/random/boot_id')?.trim()}`;
}

/** The nearest ancestor of this process whose command line matches; undefined when none does. */
export function findAncestor(pattern: RegExp): Identity | undefined {
  let pid = process.ppid;
  for (let steps = 0; steps < 4 && pid > 1; steps++) {
    const { parent, command } = process.platform === 'linux' ? aboutOnLinux(pid) : aboutByPs(pid);
    if (pattern.test(command)) return identify(pid);
    pid = parent;
  }
  return undefined;
}

function aboutOnLinux(pid: number): { parent: number; command: string } {
  const stat = readText(`/proc/${pid}/stat`) ?? '';
  const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  return { parent, command: (readText(`/proc/${pid}/cmdline`) ?? '').replaceAll('\0', ' ') };
}

function aboutByPs(pid: number): { parent: number; command: string } {
  const found = spawnSync('ps', ['-o', 'ppid=,args=', '-p', String(pid)], { encoding: 'utf8' });
  const [, parent, command] = /^\s*(\d+)\s+(.*)/.exec(found.stdout ?? '') ?? [];
  return { parent: Number(parent ?? 0), command: command ?? '' };
}

function startByPs(pid: number): string | undefined {
  const found = spawnSync('ps', ['-o', 'lstart=,stat=', '-p', String(pid)], { encoding: 'utf8' });
  const [, started, state] = /^(.*\d{4})\s+(\S+)/.exec(found.stdout?.trim() ?? '') ?? [];
  return state?.startsWith('Z') ? undefined : started;
}

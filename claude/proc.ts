// Processes as the kernel shows them: identity that survives the reuse of a pid, and who belongs to a run.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/**
 * Every process of a run has it in its environment:
 * `<pid namespace>.<guard>.<guard's start time>.<installation>.<uuid>`.
 */
export const markerName = 'PARTNER_RUN_MARKER';
/** A guard has it in its own: `<pid namespace>.<worker>.<worker's start time>.<installation>`. */
export const guardName = 'PARTNER_GUARD';

export interface ProcessStat {
  state: string;
  parent: number;
  group: number;
  session: number;
  /** Clock ticks since boot; with the pid and the boot id it names a process for ever. */
  startTime: string;
}

/** Undefined: no such process, or no /proc on this system. */
export function processStat(pid: number): ProcessStat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [state = '', parent = '', group = '', session = ''] = fields;
    return {
      state,
      parent: Number(parent),
      group: Number(group),
      session: Number(session),
      startTime: fields[19] ?? '',
    };
  } catch {
    return undefined;
  }
}

const isDead = (stat: ProcessStat | undefined): boolean =>
  stat === undefined || stat.state === 'Z' || stat.state === 'X';

/** Whether this very process still runs; a zombie does not. */
export function isRunning(pid: number, startTime: string): boolean {
  const stat = processStat(pid);
  if (stat) return !isDead(stat) && (startTime === '' || stat.startTime === startTime);
  return !hasProc && isSignalable(pid);
}

const hasProc = processStat(process.pid) !== undefined;

function isSignalable(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return '';
  }
}

/** Pids mean something only within it. */
export function pidNamespace(pid: number | 'self' = 'self'): string {
  try {
    return /\d+/.exec(readlinkSync(`/proc/${pid}/ns/pid`))?.[0] ?? '';
  } catch {
    return '';
  }
}

export const markerOf = (pid: number): string | undefined => variableOf(pid, markerName);

/** A variable of the environment that a process was started with. */
export function variableOf(pid: number, name: string): string | undefined {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, 'latin1');
    const at = `\0${environment}`.indexOf(`\0${name}=`);
    return at < 0 ? undefined : environment.slice(at + name.length + 1).split('\0', 1)[0];
  } catch {
    return undefined;
  }
}

export function allPids(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/**
 * Living processes of a run: group and session, their descendants, and whoever carries the marker, wherever it went.
 * Without /proc: the group's leader while the group lives. `group` 0: by the marker alone.
 */
export function membersOf(group: number, marker: string): number[] {
  if (typeof marker !== 'string' || marker === '') throw new Error('A run without a marker has no members.');
  if (!hasProc) return group > 0 && isSignalable(-group) ? [group] : [];
  const living = allPids().flatMap((pid) => {
    const stat = processStat(pid);
    return stat && !isDead(stat) && pid !== process.pid ? [{ pid, stat }] : [];
  });
  const members = new Set<number>();
  for (const { pid, stat } of living) {
    const inGroup = group > 0 && (stat.group === group || stat.session === group);
    if (inGroup || markerOf(pid) === marker) members.add(pid);
  }
  for (let before = -1; before !== members.size;) {
    before = members.size;
    for (const { pid, stat } of living) if (members.has(stat.parent)) members.add(pid);
  }
  return [...members];
}

/** Sends a signal to a group and to members that left it; whoever is gone already is left out. */
export function signalAll(group: number, pids: readonly number[], signal: NodeJS.Signals): void {
  if (group > 0) tryKill(-group, signal);
  for (const pid of pids) if (processStat(pid)?.group !== group) tryKill(pid, signal);
}

/** To a process that may be gone already. */
export function tryKill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone already.
  }
}

/** Whether it holds within the limit. */
export async function within(limitMs: number, holds: () => boolean): Promise<boolean> {
  const until = performance.now() + limitMs;
  while (!holds()) {
    if (performance.now() > until) return false;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return true;
}

/** SIGKILL until nobody of the run lives. Returns who still does after `limitMs`: whom the kernel does not let go. */
export async function killAll(group: number, marker: string, limitMs = 3_000): Promise<number[]> {
  const end = performance.now() + limitMs;
  for (;;) {
    const left = membersOf(group, marker);
    if (left.length === 0) return [];
    signalAll(group, left, 'SIGKILL');
    if (performance.now() > end) return left;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

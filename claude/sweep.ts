// Ends what outlived its guard: found by the marker that every process of a run carries (spec: bounded-claude 4).

import { allPids, isRunning, killAll, markerOf, membersOf, pidNamespace, processStat } from './proc.ts';
import type { Swept } from './types.ts';

/**
 * At a worker's start: ends every group of this pid namespace whose guard is gone, or stopped with nobody left to wake
 * it, and returns what was ended. A guard that runs keeps its group: it ends it by itself when its worker is lost.
 * Linux only; elsewhere nothing is found.
 */
export async function sweepOrphans(): Promise<Swept[]> {
  const namespace = pidNamespace();
  const markers = new Set<string>();
  for (const pid of allPids()) {
    const marker = markerOf(pid);
    if (marker?.startsWith(`${namespace}.`)) markers.add(marker);
  }
  const swept: Swept[] = [];
  for (const marker of markers) {
    if (!(await isUnguarded(marker))) continue;
    const pids = membersOf(0, marker);
    if (pids.length === 0) continue;
    await killAll(0, marker);
    swept.push({ marker, pids });
  }
  return swept;
}

async function isUnguarded(marker: string): Promise<boolean> {
  const [, pid, startTime = '', worker] = marker.split('.');
  const guard = Number(pid);
  if (!isRunning(guard, startTime)) return true;
  const stat = processStat(guard);
  // Another parent than its worker: the worker is gone, and nobody will wake this guard.
  if (stat?.state !== 'T' || stat.parent === Number(worker)) return false;
  process.kill(guard, 'SIGKILL');
  while (isRunning(guard, startTime)) await new Promise((resolve) => setTimeout(resolve, 20));
  return true;
}

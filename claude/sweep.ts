// Ends what outlived its guard: found by the marker that every process of a run carries (spec: bounded-claude 4).

import {
  allPids,
  guardName,
  isRunning,
  killAll,
  markerOf,
  membersOf,
  pidNamespace,
  processStat,
  tryKill,
  variableOf,
  within,
} from './proc.ts';
import type { Swept } from './types.ts';

/** What belongs to no installation, as `partner verify`: any of them ends what is left of it. */
export const nobodys = 'none';

/**
 * Ends, in this pid namespace, every guard of the installation that is stopped and whose worker is gone, for nobody
 * will wake it, and every group whose guard is gone; returns what was ended. A guard that runs keeps its group: it ends
 * it by itself when its worker is lost. Other installations of this computer are left alone. Linux only; elsewhere
 * nothing is found.
 */
export async function sweepOrphans(installation: string): Promise<Swept[]> {
  const isOurs = (named: string | undefined): named is string => {
    const fields = named?.split('.') ?? [];
    return fields[0] === pidNamespace() && (fields[3] === installation || fields[3] === nobodys);
  };
  const guards: Swept[] = [];
  const markers = new Set<string>();
  for (const pid of allPids()) {
    const owner = variableOf(pid, guardName);
    if (isOurs(owner) && isAbandoned(pid, owner)) guards.push({ marker: owner, pids: [pid] });
    const marker = markerOf(pid);
    if (isOurs(marker)) markers.add(marker);
  }
  for (const { pids } of guards) {
    for (const pid of pids) await endGuard(pid);
  }
  const swept = [...guards];
  for (const marker of markers) {
    const [, guard = '', startTime = ''] = marker.split('.');
    if (isRunning(Number(guard), startTime)) continue;
    const pids = membersOf(0, marker);
    if (pids.length === 0) continue;
    await killAll(0, marker);
    swept.push({ marker, pids });
  }
  return swept;
}

function isAbandoned(guard: number, owner: string): boolean {
  const [, worker = '', startTime = ''] = owner.split('.');
  return processStat(guard)?.state === 'T' && !isRunning(Number(worker), startTime);
}

async function endGuard(pid: number): Promise<void> {
  const startTime = processStat(pid)?.startTime ?? '';
  tryKill(pid, 'SIGKILL');
  await within(3_000, () => !isRunning(pid, startTime));
}

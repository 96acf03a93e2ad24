// Attempts whose worker was lost: their group is ended, what they left is judged, and none is started later
// (spec: bounded-claude 4).

import { closeSync, fsyncSync, openSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { recoverAttempt, type AttemptOutcome } from '../claude/index.ts';
import { guardFiles, type GuardFile } from '../claude/guard-protocol.ts';
import type { AttemptEnd, RecoverInput } from '../domain/run.ts';
import { readAttempts, takeAttempt, type AttemptRow } from '../store/attempts.ts';
import { transaction } from '../store/database.ts';
import { findRun, isOpen, lockRun, RunLost, type RunRow } from '../store/runs.ts';
import { writeArtifacts } from './artifacts.ts';
import { closeAttempt, neverStarted } from './close.ts';
import { planOf, type HostRoom } from './host.ts';

/** What came of the run's last attempt, whoever supervised it. Again gives the same. */
export async function recoverClaude(room: HostRoom, input: RecoverInput): Promise<AttemptEnd> {
  await recoverAll(room, input.run, input.phase);
  const run = await findRun(room.database, input.run);
  const last = (await readAttempts(room.database, input.run)).at(-1);
  if (!run || !isOpen(run) || run.cycle !== input.cycle) return { kind: 'superseded' };
  if (!last || last.attempt < input.attempt) return { kind: 'not_begun' };
  if (last.status === 'succeeded') return { kind: 'plan' };
  return { kind: 'failed', failure: last.failure_kind ?? 'worker_lost' };
}

/** Recovers every attempt of a run that has no end yet, also of a run that has ended. */
export async function recoverAll(room: HostRoom, id: string, phase?: string): Promise<void> {
  const run = await findRun(room.database, id);
  const open = (await readAttempts(room.database, id)).filter((attempt) => attempt.status === 'running');
  if (!run || open.length === 0) return;
  for (const { attempt } of open) {
    const taken = await transaction(room.database, async (tx) => {
      await lockRun(tx, id);
      return takeAttempt(tx, id, attempt);
    });
    if (taken.status !== 'running') continue;
    const outcome = await outcomeOf(run, taken, phase);
    await closeAttempt(room.database, taken, outcome).catch((error: unknown) => {
      // Somebody else recovers it at this moment.
      if (!(error instanceof RunLost)) throw error;
    });
  }
  await writeArtifacts(room, id);
}

async function outcomeOf(run: RunRow, attempt: AttemptRow, phase: string | undefined): Promise<AttemptOutcome> {
  const detail = `The worker that supervised the CLI was lost${phase ? ` (phase: ${phase})` : ''}.`;
  const cause = { kind: 'worker_lost', detail } as const;
  const plan = planOf(run, attempt);
  for (;;) {
    const outcome = await recoverAttempt(plan, cause);
    if (outcome) return outcome;
    if (seal(plan.runDir)) return neverStarted('worker_lost', `${detail} Its CLI had not been started.`);
  }
}

/** A guard that never was. */
const sealed: GuardFile = { boot_id: '', pid: 0, start_time: '', group: null, attempt: 0, marker: 'sealed' };

/**
 * No CLI was started for this attempt; from now on none can be: a guard refuses where its file is there already. A
 * worker that was stopped at the worst moment and wakes later starts nothing. False: a guard came first.
 */
function seal(runDir: string): boolean {
  const file = path.join(runDir, guardFiles.guard);
  try {
    const handle = openSync(file, 'wx', 0o600);
    writeFileSync(handle, `${JSON.stringify(sealed)}\n`);
    fsyncSync(handle);
    closeSync(handle);
    return true;
  } catch (error) {
    // Without its directory nothing can be started either.
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EROFS') return true;
    if (code === 'EEXIST') return false;
    throw error;
  }
}

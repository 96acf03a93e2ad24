// Attempts whose worker was lost: their group is ended, what they left is judged, and none is started later
// (spec: bounded-claude 4).

import { recoverAttempt, sealAttempt, type AttemptOutcome } from '../claude/index.ts';
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
  // A guard may begin between the two; that happens once.
  for (let tries = 0; tries < 5; tries++) {
    const outcome = await recoverAttempt(plan, cause);
    if (outcome) return outcome;
    if (await sealAttempt(plan.runDir)) return neverStarted('worker_lost', `${detail} Its CLI had not been started.`);
  }
  throw new Error(`Guards come and go in ${plan.runDir}.`);
}

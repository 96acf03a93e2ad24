// What a run is doing and how it ended, in the database alone: no file, no CLI (spec: orchestration "The bounded run").

import type { FailureKind } from '../domain/bounded/failures.ts';
import type { EndRunInput, RunEnd, TellRunInput } from '../domain/run.ts';
import { readAttempts } from '../store/attempts.ts';
import { transaction, type Database } from '../store/database.ts';
import { finishRun, lockCycle, RunLost, setPhase, tell } from '../store/runs.ts';

/** Too late: nothing is told. */
export async function tellRun(database: Database, input: TellRunInput): Promise<void> {
  await transaction(database, async (tx) => {
    const run = await lockCycle(tx, input);
    if (input.waitMs !== undefined) tell(tx, run, { type: 'waiting', wait_ms: input.waitMs });
    await setPhase(tx, run, input.phase, input.failure);
  }).catch((error: unknown) => {
    if (!(error instanceof RunLost)) throw error;
  });
}

/** Ends the run, once. A resume that is rejected leaves it as it was, with the reasons. */
export async function endRun(database: Database, { run: id, cycle, end }: EndRunInput): Promise<RunEnd> {
  try {
    return await transaction(database, async (tx) => {
      const run = await lockCycle(tx, { run: id, cycle });
      const last = (await readAttempts(tx, id)).at(-1);
      if (end.status === 'rejected') {
        const problems = run.problems ?? [];
        const told = { problems, rejected: true, ...(last ? detailOf(last) : {}) };
        await finishRun(tx, run, last ? before(last.failure_kind) : end, told);
        return end;
      }
      await finishRun(tx, run, end, end.status === 'failed' && last ? detailFor(end.failure, last) : {});
      return end;
    });
  } catch (error) {
    if (error instanceof RunLost) return { status: 'superseded' };
    throw error;
  }
}

/** What the run was before its resume was refused; one whose plan could not be published has no failure of its own. */
const before = (failure: FailureKind | null): EndRunInput['end'] =>
  failure === 'cancelled' ? { status: 'cancelled' } : { status: 'failed', failure: failure ?? 'host_unavailable' };

interface Ended {
  status: string;
  failure_kind: FailureKind | null;
  failure_detail: string | null;
}

const detailOf = ({ failure_detail }: Ended): { detail?: string } => (failure_detail ? { detail: failure_detail } : {});

/** The attempt's own words, where they are about this failure; of a finished one: why its plan was not published. */
const detailFor = (failure: FailureKind, last: Ended): { detail?: string } =>
  last.failure_kind === failure || last.status === 'succeeded' ? detailOf(last) : {};

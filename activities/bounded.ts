// What a bounded run does to the world, as Temporal activities: thin, each calls its room in bounded/. On the shared
// queue what needs the database alone, on the queue of the repository's host what needs its files and its CLI.

import { CancelledFailure, Context } from '@temporalio/activity';
import { publish } from '../bounded/artifacts.ts';
import { superviseClaude } from '../bounded/attempt.ts';
import { endRun, tellRun } from '../bounded/end.ts';
import type { HostRoom } from '../bounded/host.ts';
import { preflight } from '../bounded/preflight.ts';
import { recoverClaude } from '../bounded/recover.ts';
import type { HostActivities, RunActivities, RunHeartbeat } from '../domain/run.ts';
import type { Database } from '../store/database.ts';
import { unexpected } from './failures.ts';

const heartbeatMs = 2_000;

export function runActivities({ database }: { database: Database }): RunActivities {
  return {
    tellRun: (input) => told(() => tellRun(database, input)),
    endRun: (input) => told(() => endRun(database, input)),
  };
}

export function hostActivities(room: HostRoom): HostActivities {
  return {
    preflight: (input) => living('preflight', 0, () => preflight(room, input, runIdOfWorkflow())),

    async superviseClaude(input) {
      const context = Context.current();
      const live = room.liveRuns.open(input.run);
      let details: RunHeartbeat = { phase: 'starting', attempt: input.attempt, characters: 0 };
      const stop = beating(() => details);
      try {
        return await told(() =>
          superviseClaude(room, input, {
            workflowRunId: runIdOfWorkflow(),
            signal: AbortSignal.any([live.controller.signal, context.cancellationSignal]),
            stopped: () =>
              live.controller.signal.reason === 'cancel' || context.cancellationDetails?.cancelRequested === true,
            beat({ phase, visibleCharacters }) {
              const entered = phase !== details.phase;
              details = { phase, attempt: input.attempt, characters: visibleCharacters };
              if (entered) context.heartbeat(details);
            },
          }),
        );
      } finally {
        stop();
        live.close();
      }
    },

    recoverClaude: (input) => living('recovering', input.attempt, () => recoverClaude(room, input)),

    publishPlan: (input) => living('publishing', input.attempt, () => publish(room, input)),
  };
}

const runIdOfWorkflow = (): string => Context.current().info.workflowExecution?.runId ?? '';

/** Tells the engine every 2 s that this worker lives. */
function beating(details: () => RunHeartbeat): () => void {
  const context = Context.current();
  const beat = (): void => context.heartbeat(details());
  const timer = setInterval(beat, heartbeatMs);
  beat();
  return () => clearInterval(timer);
}

/** Work whose worker, when it is lost, is missed by its heartbeat. */
export async function living<T>(phase: string, attempt: number, work: () => Promise<T>): Promise<T> {
  const stop = beating(() => ({ phase, attempt, characters: 0 }));
  try {
    return await told(work);
  } finally {
    stop();
  }
}

/** An error as the engine may know it: a class; the log has the rest. */
export async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CancelledFailure) throw error;
    throw unexpected(error);
  }
}

// What bounded runs ask of Temporal: start a run's workflow, signal its cancel, look at it (spec: orchestration).

import {
  WorkflowExecutionAlreadyStartedError,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  WorkflowNotFoundError,
  type Client,
} from '@temporalio/client';
import { plannerTaskQueue, type CancelSignal } from '../domain/turn.ts';
import { runTaskQueue, runTimings, runWorkflow, type RunInput, type RunTimings } from '../domain/run.ts';
import type { Described } from '../planner/visibility.ts';
import type { RunToStart } from '../store/runs.ts';

/** Milliseconds that the engine gets for one request. */
const requestMs = 10_000;

/**
 * Starts the workflow of a run's cycle; one that runs is left alone. Every end but a success is a failure of the
 * workflow, so that the next cycle may use its id, and a run that has succeeded never runs again. False: the workflow
 * of an earlier cycle, or of a rejected run of that id, is not closed yet.
 */
export async function startRunWorkflow(
  client: Client,
  run: RunToStart,
  how: { timings?: Partial<RunTimings>; described?: Described } = {},
): Promise<boolean> {
  const queue = runTaskQueue(run.machine);
  const input: RunInput = { run: run.id, cycle: run.cycle, queue, timings: { ...runTimings, ...how.timings } };
  try {
    await client.withDeadline(Date.now() + requestMs, () =>
      client.workflow.start(runWorkflow, {
        taskQueue: plannerTaskQueue,
        workflowId: run.workflow_id,
        args: [input],
        workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
        workflowIdConflictPolicy: WorkflowIdConflictPolicy.FAIL,
        workflowExecutionTimeout: '3d',
        ...how.described,
        memo: { ...how.described?.memo, run: run.id, cycle: run.cycle },
      }),
    );
    return true;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    const { memo } = await client.withDeadline(Date.now() + requestMs, () =>
      client.workflow.getHandle(run.workflow_id).describe(),
    );
    return memo?.['run'] === run.id && memo['cycle'] === run.cycle;
  }
}

/** A workflow that has ended, or was never started, needs none. */
export async function signalRunCancel(client: Client, workflowId: string, by: string): Promise<void> {
  await ofRunning(client, () => client.workflow.getHandle(workflowId).signal<[CancelSignal]>('cancel', { by }));
}

export async function terminateRun(client: Client, workflowId: string, reason: string): Promise<void> {
  await ofRunning(client, () => client.workflow.getHandle(workflowId).terminate(reason));
}

async function ofRunning(client: Client, request: () => Promise<unknown>): Promise<void> {
  try {
    await client.withDeadline(Date.now() + requestMs, request);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

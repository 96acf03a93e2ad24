// What re-validations ask of Temporal: start one, and keep the schedules as the database has them
// (spec: orchestration "Re-validation").

import {
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  WorkflowExecutionAlreadyStartedError,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  type Client,
  type ScheduleDescription,
  type ScheduleHandle,
  type ScheduleOptions,
} from '@temporalio/client';
import {
  revalidationWorkflow,
  scheduleWorkflowId,
  type RevalidationInput,
} from '../domain/revalidation/contract.ts';
import { plannerTaskQueue } from '../domain/turn.ts';
import { revalidationLabels, type Described, type Visibility } from '../planner/visibility.ts';
import type { Looked, ScheduleRow } from '../store/revalidation-schedules.ts';
import type { ToStart } from '../store/revalidations.ts';

/** Milliseconds that the engine gets for one request. */
const requestMs = 10_000;
const inTime = <T>(client: Client, request: () => Promise<T>): Promise<T> =>
  client.withDeadline(Date.now() + requestMs, request);

const shared = {
  taskQueue: plannerTaskQueue,
  // Its runs may wait for their host a day each.
  workflowExecutionTimeout: '10d',
} as const;

/** Starts the workflow of one; again changes nothing. */
export async function startRevalidation(client: Client, visibility: Visibility, one: ToStart): Promise<void> {
  const { id, workflow_id } = one;
  const input: RevalidationInput = { validation: id };
  try {
    await visibility.start(revalidationLabels(one), (described) =>
      inTime(client, () =>
        client.workflow.start(revalidationWorkflow, {
          ...shared,
          ...described,
          workflowId: workflow_id,
          args: [input],
          workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
          workflowIdConflictPolicy: WorkflowIdConflictPolicy.FAIL,
        }),
      ),
    );
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

const handleOf = (client: Client, id: string): ScheduleHandle => client.schedule.getHandle(scheduleWorkflowId(id));

/**
 * Makes the engine's schedule what the row says, passes on what was asked for once, and returns what the engine says.
 * One that the engine has lost is made again.
 */
export async function syncSchedule(client: Client, visibility: Visibility, row: ScheduleRow): Promise<Looked> {
  const handle = handleOf(client, row.id);
  if (row.deleted) {
    await inTime(client, () => handle.delete()).catch((error: unknown) => {
      if (!(error instanceof ScheduleNotFoundError)) throw error;
    });
    return { next_times: [], missed_catchup: 0, overlap_skipped: 0 };
  }
  let there = await described(client, handle);
  const { project, created_by, role } = row;
  const labels = revalidationLabels({ project, created_by, role });
  if (!there) await visibility.start(labels, (described) => create(client, row, described));
  else if (row.version !== row.synced_version) {
    await visibility.start(labels, (described) => inTime(client, () => handle.update(() => optionsOf(row, described))));
  }
  for (let count = 0; count < row.triggers; count++) {
    await inTime(client, () => handle.trigger(ScheduleOverlapPolicy.SKIP));
  }
  for (const { from, to } of row.backfills) {
    // One after another: each is a re-validation of its own.
    const overlap = ScheduleOverlapPolicy.BUFFER_ALL;
    await inTime(client, () => handle.backfill({ start: new Date(from), end: new Date(to), overlap }));
  }
  there = await described(client, handle);
  return {
    next_times: (there?.info.nextActionTimes ?? []).slice(0, 5).map((time) => time.toISOString()),
    missed_catchup: there?.info.numActionsMissedCatchupWindow ?? 0,
    overlap_skipped: there?.info.numActionsSkippedOverlap ?? 0,
  };
}

async function described(client: Client, handle: ScheduleHandle): Promise<ScheduleDescription | undefined> {
  try {
    return await inTime(client, () => handle.describe());
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return undefined;
    throw error;
  }
}

async function create(client: Client, row: ScheduleRow, described: Described): Promise<void> {
  try {
    const options = { scheduleId: scheduleWorkflowId(row.id), ...optionsOf(row, described) };
    await inTime(client, () => client.schedule.create(options));
  } catch (error) {
    // Another worker was first.
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
}

function optionsOf(row: ScheduleRow, described: Described): Omit<ScheduleOptions, 'scheduleId' | 'action'> & {
  action: Extract<ScheduleOptions['action'], { type: 'startWorkflow' }>;
  state: { paused: boolean; note?: string };
} {
  const input: RevalidationInput = { schedule: row.id };
  return {
    spec: { cronExpressions: [row.cron], jitter: row.jitter_seconds * 1_000 },
    policies: {
      overlap: ScheduleOverlapPolicy.SKIP,
      catchupWindow: row.catchup_seconds * 1_000,
      pauseOnFailure: false,
    },
    // What somebody noted stays in the database: no text of anybody enters the engine.
    state: { paused: row.paused },
    action: {
      type: 'startWorkflow',
      workflowType: revalidationWorkflow,
      workflowId: scheduleWorkflowId(row.id),
      args: [input],
      ...shared,
      ...described,
    },
  };
}

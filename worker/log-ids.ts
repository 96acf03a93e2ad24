// What each activity's log lines carry: the ids of its input, its workflow, its attempt (docs/metrics.md).

import type { Info } from '@temporalio/activity';
import type { WorkerInterceptors } from '@temporalio/worker';
import { withIds, type LogIds } from '../telemetry/log.ts';

export const logInterceptors: WorkerInterceptors = {
  activity: [
    ({ info }) => ({
      inbound: { execute: (input, next) => withIds(idsOf(info, input.args[0]), () => next(input)) },
    }),
  ],
};

function idsOf({ activityType, attempt, workflowExecution }: Info, input: unknown): LogIds {
  const { session, turn, run } = (typeof input === 'object' && input !== null ? input : {}) as Record<string, unknown>;
  return {
    ...(typeof session === 'string' && typeof turn === 'string' ? { session, turn } : {}),
    ...(typeof run === 'string' ? { run } : {}),
    ...(workflowExecution ? { workflow: workflowExecution.workflowId, workflow_run: workflowExecution.runId } : {}),
    activity: activityType,
    attempt,
  };
}

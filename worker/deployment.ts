// Worker versioning, for clusters: turns and runs stay with the code that they began with, and a new version gets new
// ones when `planner deploy current` says so (spec: orchestration "Change without breakage").

import type { WorkerDeploymentOptions } from '@temporalio/worker';
import { deploymentName } from '../domain/deployment.ts';

/** What a worker of this queue is created with; nothing where it has no build, which is without versioning. */
export function deployed(
  queue: string,
  build: string | undefined,
): { workerDeploymentOptions?: WorkerDeploymentOptions } {
  if (build === undefined) return {};
  const version = { deploymentName: deploymentName(queue), buildId: build };
  return {
    workerDeploymentOptions: { useWorkerVersioning: true, version, defaultVersioningBehavior: 'PINNED' },
  };
}

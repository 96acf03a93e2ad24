// Worker deployments of Temporal: one a task queue (spec: orchestration "Change without breakage").

import { plannerTaskQueue } from './turn.ts';

/** Of a task queue; a host's name may hold dots, which a deployment's must not. */
export const deploymentName = (queue: string): string => queue.replace(/[^A-Za-z0-9_-]/g, '-');

/** True for the deployments of the planner's own queues. */
export const isOwnDeployment = (name: string): boolean => name === plannerTaskQueue || name.startsWith('bounded-');

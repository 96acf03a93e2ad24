// The floor: a workflow of seven activities that do nothing, one after the other.

import { proxyActivities } from '@temporalio/workflow';

const { nothing } = proxyActivities<{ nothing(): Promise<void> }>({ startToCloseTimeout: '10s' });

export async function bare(): Promise<void> {
  for (let step = 0; step < 7; step++) await nothing();
}

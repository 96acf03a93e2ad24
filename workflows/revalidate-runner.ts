// revalidateRunner: three near-limit bounded runs as child workflows, one of them ended on purpose and resumed in its
// session; then the verdict and the report. Ids, counts and classes only (spec: orchestration "Re-validation").

import {
  ActivityFailure,
  CancellationScope,
  ChildWorkflowFailure,
  defineQuery,
  executeChild,
  isCancellation,
  ParentClosePolicy,
  proxyActivities,
  setHandler,
  sleep,
  TimeoutFailure,
  WorkflowIdReusePolicy,
} from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  plannedRuns,
  type ChildRun,
  type Claim,
  type Opened,
  type RevalidationActivities,
  type RevalidationHostActivities,
  type RevalidationInput,
  type RevalidationStatus,
  type RunAt,
  type ValidationEnd,
} from '../domain/revalidation/contract.ts';
import { runWorkflow } from '../domain/run.ts';
import { cancelSignal } from './planner-turn.ts';

export const revalidationStatusQuery = defineQuery<RevalidationStatus>('status');

const patient = { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '5s' } as const;
const shared = proxyActivities<RevalidationActivities>({ startToCloseTimeout: '30s', retry: patient });

const lookAgain = '2s';

type Begun = Extract<Opened, { next: 'go' }>;

/** Returns the claim as it is at the end; null where there was nothing to do. */
export async function revalidateRunner(input: RevalidationInput): Promise<Claim | null> {
  const status: RevalidationStatus = { phase: 'opening', validation: null, runs: 0, cancelled: false };
  const work = new CancellationScope();
  setHandler(cancelSignal, () => {
    status.cancelled = true;
    work.cancel();
  });
  setHandler(revalidationStatusQuery, () => status);
  const opened = await CancellationScope.nonCancellable(() => shared.openValidation(input));
  if (opened.next === 'skipped') return null;
  const { validation } = opened;
  status.validation = validation;
  const end = await work.run(() => validated(opened, status)).catch((error: unknown): ValidationEnd => {
    if (isCancellation(error)) return 'cancelled';
    if (error instanceof HostGone || error instanceof ActivityFailure) return 'failed';
    throw error;
  });
  return CancellationScope.nonCancellable(async () => {
    status.phase = 'concluding';
    const claim = await shared.concludeValidation({ validation, end });
    status.phase = 'reporting';
    // A host that is away writes it when it is back.
    await hostOf(opened).writeValidationReport({ validation }).catch(onlyLate);
    status.phase = 'ended';
    return claim;
  });
}

/** No worker of the repository's host for as long as it may wait. */
class HostGone extends Error {}

function onlyLate(error: unknown): void {
  if (!(error instanceof ActivityFailure)) throw error;
}

async function validated(opened: Begun, status: RevalidationStatus): Promise<ValidationEnd> {
  const { validation } = opened;
  const host = hostOf(opened);
  const asked = <T>(ask: () => Promise<T>): Promise<T> => patiently(opened, ask);
  status.phase = 'preparing';
  const prepared = await asked(() => host.prepareValidation({ validation }));
  if (prepared === 'rejected') return 'rejected';
  for (const [index, purpose] of plannedRuns.entries()) {
    const at = { validation, position: index + 1 };
    status.phase = `run ${at.position}: ${purpose}`;
    await shared.tellValidation({ validation, phase: status.phase });
    await ran(await shared.openValidationRun(at), at, status);
    if (purpose !== 'recovery') continue;
    status.phase = `run ${at.position}: resuming`;
    await shared.tellValidation({ validation, phase: status.phase });
    await ran(await shared.resumeValidationRun(at), at, status);
  }
  status.phase = 'confirming';
  await asked(() => host.confirmValidation({ validation }));
  return 'completed';
}

/** Stays with a run to its end, whatever that is: the database knows it. */
async function ran(child: ChildRun, at: RunAt, status: RevalidationStatus): Promise<void> {
  if (child.next === 'none') return;
  status.runs += 1;
  try {
    await executeChild(runWorkflow, {
      workflowId: child.workflowId,
      args: [child.input],
      workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
      workflowExecutionTimeout: '3d',
      staticSummary: `re-validation, run ${at.position}`,
      memo: { run: child.input.run, cycle: child.input.cycle },
      // A stop of the re-validation is a stop of its run, which ends by itself.
      parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
    });
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return untilEnded(at);
    // However it failed is in the database; a stop is heard by what follows.
    if (!(error instanceof ChildWorkflowFailure) || isCancellation(error)) throw error;
  }
}

/** A sweep was faster and has started it. */
async function untilEnded(at: RunAt): Promise<void> {
  while (!(await shared.validationRunEnded(at))) await sleep(lookAgain);
}

function hostOf({ queue, timings }: Begun): RevalidationHostActivities {
  return proxyActivities<RevalidationHostActivities>({
    taskQueue: queue,
    scheduleToStartTimeout: timings.hostPatience,
    startToCloseTimeout: '5m',
    heartbeatTimeout: '30s',
    retry: { ...patient, maximumAttempts: 20 },
  });
}

async function patiently<T>({ validation, timings }: Begun, ask: () => Promise<T>): Promise<T> {
  for (let waited = 0; ; ) {
    try {
      return await ask();
    } catch (error) {
      if (!isUnheard(error)) throw error;
      waited += timings.hostPatience;
      if (waited >= timings.hostGiveUp) throw new HostGone();
      await shared.tellValidation({ validation, phase: "waiting for the repository's host" });
    }
  }
}

/** The activity was never started. */
const isUnheard = (error: unknown): boolean =>
  error instanceof ActivityFailure &&
  error.cause instanceof TimeoutFailure &&
  error.cause.timeoutType === 'SCHEDULE_TO_START';

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
  workflowInfo,
  WorkflowIdReusePolicy,
} from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError, type SearchAttributePair } from '@temporalio/common';
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
import { searchAttributes } from '../domain/search-attributes.ts';
import { cancelSignal } from './planner-turn.ts';
import { tellEnd, tellNow } from './story.ts';

export const revalidationStatusQuery = defineQuery<RevalidationStatus>('status');

/** Says what it does, to operators and to its query. */
function enter(status: RevalidationStatus, phase: string): { summary: string } {
  status.phase = phase;
  tellNow(phase);
  return { summary: phase };
}

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
  const opened = await CancellationScope.nonCancellable(() =>
    shared.openValidation.executeWithOptions({ summary: 'open' }, [input]),
  );
  if (opened.next === 'skipped') {
    tellEnd('skipped');
    return null;
  }
  const { validation } = opened;
  status.validation = validation;
  const end = await work.run(() => validated(opened, status)).catch((error: unknown): ValidationEnd => {
    if (isCancellation(error)) return 'cancelled';
    if (error instanceof HostGone || error instanceof ActivityFailure) return 'failed';
    throw error;
  });
  return CancellationScope.nonCancellable(async () => {
    const how = enter(status, `end: ${end}`);
    const claim = await shared.concludeValidation.executeWithOptions(how, [{ validation, end }]);
    // A host that is away writes it when it is back.
    const report = hostOf(opened).writeValidationReport;
    await report.executeWithOptions(enter(status, 'report'), [{ validation }]).catch(onlyLate);
    status.phase = 'ended';
    tellEnd(end === 'completed' ? claim : end);
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
  const prepared = await patiently(opened, () =>
    host.prepareValidation.executeWithOptions(enter(status, 'prepare'), [{ validation }]),
  );
  if (prepared === 'rejected') return 'rejected';
  for (const [index, purpose] of plannedRuns.entries()) {
    const at = { validation, position: index + 1 };
    const first = purpose === 'fresh' ? 'fresh' : 'ended on purpose after its first text';
    const begin = enter(status, `run ${at.position} of ${plannedRuns.length}: ${first}`);
    await tell(validation, status.phase);
    await ran(await shared.openValidationRun.executeWithOptions(begin, [at]), at, status);
    if (purpose !== 'recovery') continue;
    const again = enter(status, `run ${at.position} of ${plannedRuns.length}: resumed in its session`);
    await tell(validation, status.phase);
    await ran(await shared.resumeValidationRun.executeWithOptions(again, [at]), at, status);
  }
  await patiently(opened, () =>
    host.confirmValidation.executeWithOptions(enter(status, 'confirm the hashes'), [{ validation }]),
  );
  return 'completed';
}

const tell = (validation: string, phase: string): Promise<void> =>
  shared.tellValidation.executeWithOptions({ summary: phase }, [{ validation, phase }]);

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
      staticSummary: `${status.phase}, of re-validation ${at.validation}`,
      memo: { ...pageMemo(), run: child.input.run, cycle: child.input.cycle },
      typedSearchAttributes: ownAttributes(),
      // A stop of the re-validation is a stop of its run, which ends by itself.
      parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
    });
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return untilEnded(at);
    // However it failed is in the database; a stop is heard by what follows.
    if (!(error instanceof ChildWorkflowFailure) || isCancellation(error)) throw error;
  }
}

function pageMemo(): { page?: unknown } {
  const page = workflowInfo().memo?.['page'];
  return page === undefined ? {} : { page };
}

/** Those that it was started with itself: this server knows them. */
const ownAttributes = (): SearchAttributePair[] =>
  workflowInfo()
    .typedSearchAttributes.getAll()
    .filter(({ key }) => searchAttributes.some((name) => name === key.name));

/** A sweep was faster and has started it. */
async function untilEnded(at: RunAt): Promise<void> {
  while (!(await shared.validationRunEnded(at))) await sleep(lookAgain);
}

function hostOf({ queue, timings }: Begun) {
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
      await tell(validation, "waiting for the repository's host");
    }
  }
}

/** The activity was never started. */
const isUnheard = (error: unknown): boolean =>
  error instanceof ActivityFailure &&
  error.cause instanceof TimeoutFailure &&
  error.cause.timeoutType === 'SCHEDULE_TO_START';

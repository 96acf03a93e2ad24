// boundedClaudePlan: the order of a bounded run, its recovery and its end. Ids, counts and classes only; every fact is
// in the database, every artifact on the repository's host. (spec: orchestration "The bounded run")

import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  defineQuery,
  isCancellation,
  proxyActivities,
  setHandler,
  sleep,
  TimeoutFailure,
} from '@temporalio/workflow';
import { automaticResume } from '../domain/bounded/failures.ts';
import type {
  AttemptEnd,
  HostActivities,
  RunActivities,
  RunEnd,
  RunHeartbeat,
  RunInput,
  RunRef,
  RunResult,
  RunStatus,
  RunTimings,
  StartInput,
  TellRunInput,
} from '../domain/run.ts';
import { cancelSignal } from './planner-turn.ts';
import { tellEnd, tellNow } from './story.ts';

export const runStatusQuery = defineQuery<RunStatus>('status');

const patient = { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '5s' } as const;

const { tellRun: tell, endRun } = proxyActivities<RunActivities>({ startToCloseTimeout: '15s', retry: patient });

/** The run succeeded where this returns; every other end is a failure of the workflow, named by its kind. */
export async function boundedClaudePlan(input: RunInput): Promise<RunResult> {
  const { run, cycle } = input;
  const status: RunStatus = { phase: 'starting', attempt: 0, resumes: 0, cancelled: false };
  const work = new CancellationScope();
  setHandler(cancelSignal, () => {
    status.cancelled = true;
    work.cancel();
  }, { description: 'ends the run as a stop by its user does' });
  setHandler(runStatusQuery, () => status, { description: 'phase, attempt, resumes, whether a stop was asked for' });
  const end = await work.run(() => planned(input, status)).catch((error: unknown): RunEnd => {
    if (isCancellation(error)) return { status: 'cancelled' };
    if (error instanceof HostGone) return { status: 'failed', failure: 'host_unavailable' };
    // The host fails again and again; its log says why.
    if (error instanceof ActivityFailure) return { status: 'failed', failure: 'worker_lost' };
    throw error;
  });
  if (end.status === 'superseded') throw failed(end);
  status.phase = 'ending';
  const summary = `end: ${phrase(end)}`;
  tellNow(summary);
  const ended = await CancellationScope.nonCancellable(() =>
    endRun.executeWithOptions({ summary }, [{ run, cycle, end }]),
  );
  status.phase = 'ended';
  if (ended.status !== 'succeeded') throw failed(ended);
  tellEnd(ended.status);
  return { status: ended.status, attempt: status.attempt };
}

/** Tells people and operators what the run does. */
function tellRun(input: TellRunInput): Promise<void> {
  const summary = input.waitMs ? `${input.phase}, ${input.waitMs} ms` : input.phase;
  tellNow(summary);
  return tell.executeWithOptions({ summary }, [input]);
}

const phrase = (end: RunEnd): string => (end.status === 'failed' ? `failed, ${end.failure}` : end.status);

function failed(end: RunEnd): ApplicationFailure {
  const failure = end.status === 'failed' ? end.failure : undefined;
  tellEnd(end.status, failure);
  const kind = failure ?? end.status;
  return ApplicationFailure.create({ type: kind, message: kind, nonRetryable: true });
}

/** How often an attempt may be lost before it has written anything. */
const mostUnbegun = 5;

/** No worker of the repository's host for as long as the run may wait. */
class HostGone extends Error {}

async function planned(input: RunInput, status: RunStatus): Promise<RunEnd> {
  const ref = { run: input.run, cycle: input.cycle };
  const host = hostOf(input);
  status.phase = 'preflight';
  const first = await host.preflight(ref);
  if (first.next === 'rejected' || first.next === 'superseded') return { status: first.next };
  status.attempt = first.attempt;
  status.resumes = first.next === 'failed' ? first.resumes : 0;
  let freshTaken = false;
  let unbegun = 0;
  let end = await begin();
  for (;;) {
    if (end.kind === 'superseded') return { status: 'superseded' };
    if (end.kind === 'lost') {
      end = await recover(undefined);
      continue;
    }
    if (end.kind === 'not_begun') {
      if (status.cancelled) return { status: 'cancelled' };
      if (++unbegun > mostUnbegun) return { status: 'failed', failure: 'worker_lost' };
      await sleep(input.timings.backoff, { summary: `before attempt ${status.attempt}, which was not begun` });
      end = await supervise('go on');
      continue;
    }
    if (end.kind === 'plan') {
      status.phase = 'publishing';
      end = await CancellationScope.nonCancellable(() => host.publishPlan({ ...ref, attempt: status.attempt }));
      if (end.kind === 'plan') return { status: 'succeeded' };
      if (end.kind === 'failed') return { status: 'failed', failure: end.failure };
      continue;
    }
    const { failure } = end;
    if (failure === 'cancelled' || status.cancelled) return { status: 'cancelled' };
    const how = automaticResume[failure];
    const fresh = how === 'fresh' && !freshTaken;
    if (fresh) {
      freshTaken = true;
      await tellRun({ ...ref, phase: 'starting', waitMs: 0 });
    } else if (how === 'resume' && status.resumes < first.resumeAttempts) {
      await patience(end.retryAfterMs);
    } else {
      return { status: 'failed', failure };
    }
    status.attempt += 1;
    end = await supervise(fresh ? 'fresh' : 'go on');
  }

  async function begin(): Promise<AttemptEnd> {
    if (first.next === 'publish') return { kind: 'plan' };
    if (first.next === 'failed') return { kind: 'failed', failure: first.failure };
    return supervise('go on');
  }

  async function supervise(session: StartInput['session']): Promise<AttemptEnd> {
    status.phase = 'supervising';
    try {
      return await host.superviseClaude({ ...ref, attempt: status.attempt, session });
    } catch (error) {
      if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error;
      return recover(phaseOf(error));
    }
  }

  /** Also after a stop: the group must be gone, and a finished plan counts. */
  async function recover(phase: string | undefined): Promise<AttemptEnd> {
    status.phase = 'recovering';
    const lost = { ...ref, attempt: status.attempt, ...(phase === undefined ? {} : { phase }) };
    return CancellationScope.nonCancellable(() => host.recoverClaude(lost));
  }

  async function patience(retryAfterMs: number | undefined): Promise<void> {
    const waitMs = retryAfterMs ?? input.timings.backoff * 2 ** status.resumes;
    status.resumes += 1;
    status.phase = 'backing off';
    await tellRun({ ...ref, phase: 'backing off', waitMs });
    await sleep(waitMs, { summary: `before attempt ${status.attempt + 1}` });
  }
}

/** What the host is asked. While none of its workers listens, that is told, and asked again. */
function hostOf(input: RunInput): HostActivities {
  const { queue, timings, run, cycle } = input;
  const shared = {
    taskQueue: queue,
    scheduleToStartTimeout: timings.hostPatience,
    heartbeatTimeout: timings.heartbeat,
  };
  const again = proxyActivities<Omit<HostActivities, 'superviseClaude'>>({
    ...shared,
    startToCloseTimeout: '5m',
    retry: { ...patient, maximumAttempts: 100 },
  });
  const { superviseClaude } = proxyActivities<Pick<HostActivities, 'superviseClaude'>>({
    ...shared,
    startToCloseTimeout: '20m',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    // Only the workflow retries: an attempt that was lost is looked at before another CLI is started.
    retry: { maximumAttempts: 1 },
  });
  const asked = <T>(summary: string, ask: (how: { summary: string }) => Promise<T>): Promise<T> =>
    patiently({ run, cycle }, timings, () => {
      tellNow(summary);
      return ask({ summary });
    });
  return {
    preflight: (what) => asked('preflight', (how) => again.preflight.executeWithOptions(how, [what])),
    superviseClaude: (what) =>
      asked(claude(what), (how) => superviseClaude.executeWithOptions(how, [what])),
    recoverClaude: (what) =>
      asked(`recover attempt ${what.attempt}`, (how) => again.recoverClaude.executeWithOptions(how, [what])),
    publishPlan: (what) =>
      asked(`publish the plan of attempt ${what.attempt}`, (how) => again.publishPlan.executeWithOptions(how, [what])),
  };
}

const claude = ({ attempt, session }: StartInput): string =>
  session === 'fresh' ? `Claude, attempt ${attempt}, in a fresh session` : `Claude, attempt ${attempt}`;

async function patiently<T>(ref: RunRef, timings: RunTimings, ask: () => Promise<T>): Promise<T> {
  for (let waited = 0; ; ) {
    try {
      return await ask();
    } catch (error) {
      if (!isUnheard(error)) throw error;
      waited += timings.hostPatience;
      if (waited >= timings.hostGiveUp) throw new HostGone();
      await tellRun({ ...ref, phase: 'waiting for host', failure: 'host_unavailable' });
    }
  }
}

const timeoutOf = (error: unknown): TimeoutFailure | undefined =>
  error instanceof ActivityFailure && error.cause instanceof TimeoutFailure ? error.cause : undefined;

/** The activity was never started. */
const isUnheard = (error: unknown): boolean => timeoutOf(error)?.timeoutType === 'SCHEDULE_TO_START';

/** What the lost worker's last heartbeat told. */
const phaseOf = (error: unknown): string | undefined =>
  (timeoutOf(error)?.lastHeartbeatDetails as RunHeartbeat | undefined)?.phase;

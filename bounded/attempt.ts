// One attempt of a run under supervision: its row, its directory, its CLI, its end
// (spec: orchestration "The bounded run").

import { randomUUID } from 'node:crypto';
import {
  ArtifactError,
  createRunDir,
  promptFor,
  superviseAttempt,
  type AttemptOutcome,
  type AttemptState,
} from '../claude/index.ts';
import { budgetLeft } from '../domain/bounded/limits.ts';
import type { AttemptEnd, StartInput } from '../domain/run.ts';
import { insertAttempt, interruptsFirst, readAttempts, takeAttempt, type AttemptRow, type NewAttempt } from '../store/attempts.ts';
import { transaction, type Tx } from '../store/database.ts';
import { lockCycle, RunLost, setPhase, type RunRow } from '../store/runs.ts';
import { writeArtifacts } from './artifacts.ts';
import { closeAttempt, neverStarted, unstartedDetail } from './close.ts';
import { RunFeed } from './feed.ts';
import { environmentOf, planOf, type HostRoom } from './host.ts';

export interface Supervision {
  workflowRunId: string;
  /** Aborted by `cancel`, `lost`, or the engine. */
  signal: AbortSignal;
  /** Why the signal was aborted, where it does not say so itself: the asker's stop, or anything else. */
  stopped(): boolean;
  beat(state: AttemptState): void;
}

/** Starts the CLI of an attempt that has none yet, and stays with it to its end. */
export async function superviseClaude(
  room: HostRoom,
  input: StartInput,
  supervision: Supervision,
): Promise<AttemptEnd> {
  try {
    const opened = await transaction(room.database, (tx) => openAttempt(tx, input, supervision.workflowRunId));
    if ('end' in opened) return opened.end;
    const { run, attempt } = opened;
    const outcome = await runCli(room, run, attempt, supervision);
    // The guard ends the group; whoever recovers the attempt tells what came of it.
    if (!outcome.success && outcome.failure === 'worker_lost' && supervision.signal.aborted) return { kind: 'lost' };
    const end = await closeAttempt(room.database, attempt, outcome);
    await writeArtifacts(room, run.id);
    return end;
  } catch (error) {
    if (error instanceof RunLost) return { kind: 'superseded' };
    throw error;
  }
}

type Opened = { run: RunRow; attempt: AttemptRow } | { end: AttemptEnd };

async function openAttempt(tx: Tx, input: StartInput, workflowRunId: string): Promise<Opened> {
  const run = await lockCycle(tx, input);
  const attempts = await readAttempts(tx, run.id);
  // Somebody has begun it: what came of it is to be found out, never bought again.
  const begun = attempts.some((one) => one.status === 'running' || one.attempt >= input.attempt);
  if (begun) return { end: { kind: 'lost' } };
  if (run.cancel_requested_at !== null) return { end: { kind: 'failed', failure: 'cancelled' } };
  const budget = budgetLeft(run.budget_usd, run.cost_usd);
  if (budget === undefined || run.identity === null || run.cli === null) {
    return { end: { kind: 'failed', failure: 'budget_exceeded' } };
  }
  await insertAttempt(tx, {
    run: run.id,
    attempt: input.attempt,
    cycle: run.cycle,
    host: run.host,
    role: run.role,
    identity: run.identity,
    approval: run.approval,
    ...sessionOf(attempts, input.session),
    budget_usd: budget,
    cli: run.cli,
    workflow_run_id: workflowRunId,
  });
  const attempt = await takeAttempt(tx, run.id, input.attempt);
  const counted = { ...run, attempts: input.attempt };
  await setPhase(tx, counted, 'starting');
  return { run: counted, attempt };
}

/** The session of the last attempt where the CLI has it; a new one where it is lost or never was. */
function sessionOf(
  attempts: readonly AttemptRow[],
  session: StartInput['session'],
): Pick<NewAttempt, 'session_id' | 'session_kind' | 'packet_held'> {
  const last = attempts.at(-1);
  const known = last && attempts.some((one) => one.outcome?.observed.session_ids.includes(last.session_id));
  if (!last || !known || session === 'fresh' || last.failure_kind === 'session_lost') {
    return { session_id: randomUUID(), session_kind: 'fresh', packet_held: false };
  }
  return { session_id: last.session_id, session_kind: 'resume', packet_held: true };
}

async function runCli(
  room: HostRoom,
  run: RunRow,
  attempt: AttemptRow,
  supervision: Supervision,
): Promise<AttemptOutcome> {
  try {
    if (attempt.attempt > 1) await createRunDir(run.repo_path, run.run_id, attempt.attempt);
  } catch (error) {
    if (error instanceof ArtifactError) return neverStarted('host_unavailable', unstartedDetail(error.message));
    throw error;
  }
  const interrupt = attempt.attempt === 1 && (await interruptsFirst(room.database, run.id));
  const abort = new AbortController();
  const onAbort = (): void => abort.abort(supervision.stopped() ? 'cancel' : 'lost');
  if (supervision.signal.aborted) onAbort();
  supervision.signal.addEventListener('abort', onAbort);
  const { attempt: number, fence } = attempt;
  const feed = new RunFeed(room.database, { run: run.id, attempt: number, fence }, () => abort.abort('lost'));
  const { session_kind: kind, packet_held: held } = attempt;
  const prompt = promptFor(kind === 'fresh' ? { kind } : { kind, held }, run.packet);
  const { installation } = room;
  const plan = { ...planOf(run, attempt), prompt, environment: environmentOf(room, run), installation };
  try {
    return await superviseAttempt(plan, {
      signal: abort.signal,
      onChange(state) {
        supervision.beat(state);
        feed.state(state);
      },
      onText(change) {
        feed.text(change);
        if (interrupt) abort.abort('interrupt');
      },
    });
  } finally {
    supervision.signal.removeEventListener('abort', onAbort);
    await feed.close();
  }
}


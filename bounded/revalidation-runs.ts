// A re-validation on its way, in the database alone: its beginning, its runs, its end (spec: bounded-claude 9).

import { randomBytes } from 'node:crypto';
import { DomainError } from '../domain/errors.ts';
import { findingsOf, outcomeOf } from '../domain/revalidation/claim.ts';
import {
  nearLimit,
  plannedRuns,
  type ChildRun,
  type Claim,
  type Opened,
  type RevalidationInput,
  type RunAt,
  type ValidationEnd,
} from '../domain/revalidation/contract.ts';
import type { Principal } from '../domain/actor.ts';
import { runTaskQueue, runTimings, type RunTimings } from '../domain/run.ts';
import { transaction, type Database, type Tx } from '../store/database.ts';
import { findSchedule } from '../store/revalidation-schedules.ts';
import {
  attemptKind,
  findValidation,
  insertFailures,
  insertValidation,
  isUnderWay,
  knownOf,
  lockValidation,
  readPackets,
  validationEvent,
  validationOfWorkflow,
  type ValidationRow,
} from '../store/revalidations.ts';
import { findRun, isOpen, type RunRow } from '../store/runs.ts';
import { packetFile } from './revalidation-report.ts';
import { resumeRun, startRun } from './runs.ts';

/** `validation-20261130-120755-1a2b3c`. */
export function makeValidationId(now = new Date()): string {
  const digits = now.toISOString().replace(/\D/g, '');
  return `validation-${digits.slice(0, 8)}-${digits.slice(8, 14)}-${randomBytes(3).toString('hex')}`;
}

export interface WorkflowOf {
  workflowId: string;
  runId: string;
}

export type Timings = Partial<RunTimings>;

/** Begins it, once a workflow run; one that a schedule has started gets its row here. */
export async function openValidation(
  database: Database,
  input: RevalidationInput,
  workflow: WorkflowOf,
  timings: Timings = {},
): Promise<Opened> {
  const row =
    'validation' in input
      ? await findValidation(database, input.validation)
      : await scheduled(database, input.schedule, workflow);
  if (!row || !isUnderWay(row)) return { next: 'skipped' };
  const { hostPatience, hostGiveUp } = { ...runTimings, ...timings };
  const begun = `UPDATE revalidations SET workflow_run_id = coalesce(workflow_run_id, $2), dispatched_at =
       coalesce(dispatched_at, now()), progress_at = now(), phase = 'preparing' WHERE id = $1`;
  await database.query(begun, [row.id, workflow.runId]);
  const queue = runTaskQueue(row.machine);
  return { next: 'go', validation: row.id, queue, timings: { hostPatience, hostGiveUp } };
}

async function scheduled(
  database: Database,
  id: string,
  { workflowId, runId }: WorkflowOf,
): Promise<ValidationRow | undefined> {
  const known = await validationOfWorkflow(database, runId);
  if (known) return known;
  const schedule = await findSchedule(database, id);
  if (!schedule || schedule.deleted) return undefined;
  const { repository_id, project_id, host, role, budget_usd, demo, created_by } = schedule;
  const validation = makeValidationId();
  await transaction(database, async (tx) => {
    const row = { repository_id, project_id, host, role, budget_usd, demo, created_by };
    const workflow = { workflow_id: workflowId, workflow_run_id: runId };
    const fresh = await insertValidation(tx, { id: validation, schedule_id: id, ...row, ...workflow });
    if (!fresh) return;
    await tx.query('UPDATE revalidations SET dispatched_at = now() WHERE id = $1', [validation]);
  });
  return validationOfWorkflow(database, runId);
}

/** Whoever asked for it, as the runs' starter: what rights that is today counts. */
async function asker(database: Database, row: ValidationRow): Promise<Principal> {
  const sql = 'SELECT subject, kind FROM subjects WHERE subject = $1';
  const [found] = await database.query<Principal>(sql, [row.created_by]);
  return { subject: row.created_by, kind: found?.kind ?? 'service' };
}

/** The run of a position, created once and started by nobody else; none: why is in the database. */
export async function openValidationRun(database: Database, at: RunAt, timings: Timings = {}): Promise<ChildRun> {
  const row = await findValidation(database, at.validation);
  if (!row || !isUnderWay(row)) return { next: 'none' };
  const known = await runAt(database, at);
  if (known) return childOf(known, timings);
  const packet = (await readPackets(database, row.id)).find(({ position }) => position === at.position);
  const purpose = plannedRuns[at.position - 1];
  if (!packet || !purpose) return { next: 'none' };
  const asked = {
    repo: row.alias,
    host: row.host,
    role: row.role,
    packet: packet.text,
    packet_name: packetFile(row.id, at.position),
    run_id: `${row.id}-${at.position}-${purpose}`,
    // Each attempt stands for itself: what a passing failure has broken is told, not mended.
    resume_attempts: 0,
    max_budget_usd: row.budget_usd,
    max_input_chars: nearLimit.most,
    demo: row.demo,
  };
  try {
    await startRun(database, await asker(database, row), asked, (body) =>
      transaction(database, async (tx) => {
        await lockValidation(tx, row.id);
        const started = await body(tx);
        await own(tx, (started as { run: string }).run, at, purpose === 'recovery');
        return started;
      }),
    );
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    // Another worker was first.
    if (!(await runAt(database, at))) return refused(database, row, at, error.message);
  }
  const run = await runAt(database, at);
  return run ? childOf(run, timings) : { next: 'none' };
}

/** Its workflow is the re-validation's child: no dispatcher starts it. */
async function own(tx: Tx, run: string, at: RunAt, interrupted: boolean): Promise<void> {
  const set = 'UPDATE bounded_runs SET dispatched_at = now(), interrupt_first = $2 WHERE id = $1';
  await tx.query(set, [run, interrupted]);
  await tx.query('INSERT INTO revalidation_runs (validation, position, run) VALUES ($1, $2, $3)', [
    at.validation,
    at.position,
    run,
  ]);
}

async function refused(database: Database, row: ValidationRow, at: RunAt, why: string): Promise<ChildRun> {
  const problem = JSON.stringify([`Run ${at.position} was refused: ${why}`]);
  await database.query('UPDATE revalidations SET problems = problems || $2::jsonb WHERE id = $1', [row.id, problem]);
  return { next: 'none' };
}

async function runAt(database: Database, { validation, position }: RunAt): Promise<RunRow | undefined> {
  const sql = 'SELECT run FROM revalidation_runs WHERE validation = $1 AND position = $2';
  const [found] = await database.query<{ run: string }>(sql, [validation, position]);
  return found && findRun(database, found.run);
}

function childOf(run: RunRow, timings: Timings): ChildRun {
  const queue = runTaskQueue(run.machine);
  const input = { run: run.id, cycle: run.cycle, queue, timings: { ...runTimings, ...timings } };
  return { next: 'run', workflowId: run.workflow_id, input };
}

/** The interrupted run again, in its session; none where it was not interrupted. */
export async function resumeValidationRun(database: Database, at: RunAt, timings: Timings = {}): Promise<ChildRun> {
  const row = await findValidation(database, at.validation);
  const run = await runAt(database, at);
  if (!row || !isUnderWay(row) || !run) return { next: 'none' };
  if (run.cycle > 0) return childOf(run, timings);
  const [marked] = await database.query<{ interrupted: boolean }>(
    'SELECT interrupted FROM bounded_attempts WHERE run = $1 ORDER BY attempt DESC LIMIT 1',
    [run.id],
  );
  if (!marked?.interrupted || isOpen(run)) return { next: 'none' };
  try {
    await resumeRun(database, await asker(database, row), { run: run.id }, (body) =>
      transaction(database, async (tx) => {
        const resumed = await body(tx);
        await tx.query('UPDATE bounded_runs SET dispatched_at = now() WHERE id = $1', [run.id]);
        return resumed;
      }),
    );
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    if ((await findRun(database, run.id))?.cycle === 0) return refused(database, row, at, error.message);
  }
  const resumed = await findRun(database, run.id);
  return resumed ? childOf(resumed, timings) : { next: 'none' };
}

export async function validationRunEnded(database: Database, at: RunAt): Promise<boolean> {
  const run = await runAt(database, at);
  return !run || !isOpen(run);
}

/** Ends it, once: its failures are listed, its report is due. Returns its claim as it is now. */
export async function concludeValidation(
  database: Database,
  { validation, end }: { validation: string; end: ValidationEnd },
): Promise<Claim> {
  return transaction(database, (tx) => conclude(tx, validation, end));
}

async function conclude(tx: Tx, id: string, end: ValidationEnd): Promise<Claim> {
  const row = await lockValidation(tx, id);
  if (!isUnderWay(row)) return (await knownOf(tx, row)).verdict.claim;
  const before = await knownOf(tx, { ...row, status: end });
  await insertFailures(tx, id, findingsOf(before.judged));
  const { attempts, verdict } = await knownOf(tx, { ...row, status: end });
  const [ended] = await tx.query<{ seconds: number }>(
    `UPDATE revalidations SET status = $2, phase = 'ended', claim = $3, report_due = true, ended_at = now(),
       progress_at = now() WHERE id = $1
     RETURNING extract(epoch FROM now() - created_at)::float8 AS seconds`,
    [id, end, verdict.claim],
  );
  const cost_usd = attempts.reduce((sum, { cost_usd: cost }) => sum + cost, 0);
  const told = attempts.map((one) => ({ purpose: one.purpose, outcome: outcomeOf(one), failure: attemptKind(one) }));
  const facts = { status: end, claim: verdict.claim, attempts: told, cost_usd };
  tx.emit(validationEvent(row, 'revalidation.ended', { ...facts, reasons: verdict.reasons }));
  tx.fact({ kind: 'revalidation_ended', ids: { workflow: row.workflow_id }, ...facts, ...ended! });
  tx.notify({ channel: 'revalidations', id });
  return verdict.claim;
}


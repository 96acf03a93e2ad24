// Re-validations as people use them: start, cancel, acknowledge, read (spec: bounded-claude 9).

import { actorOf, type Principal } from '../domain/actor.ts';
import { secretProblem } from '../domain/bounded/free-text.ts';
import { conflict, invalid, notFound } from '../domain/errors.ts';
import { badCursor } from '../domain/input.ts';
import type { CurrentHashes } from '../domain/revalidation/claim.ts';
import { revalidationWorkflowId } from '../domain/revalidation/contract.ts';
import { reportText, type Report } from '../domain/revalidation/report.ts';
import { characters, isBlank, storable } from '../domain/text.ts';
import { transaction, type Database, type Tx } from '../store/database.ts';
import {
  findValidation,
  insertValidation,
  isUnderWay,
  knownOf,
  lockValidation,
  openValidationOf,
  readCurrent,
  readFailures,
  readPackets,
  selectValidations,
  validationEvent,
  type ValidationRow,
} from '../store/revalidations.ts';
import { hashRunner } from './metadata.ts';
import {
  here,
  named,
  readableProjects,
  visible,
  wantedRole,
  type Here,
  type RoleRequest,
} from './revalidation-access.ts';
import { concludeValidation, makeValidationId } from './revalidation-runs.ts';
import { reportOf } from './revalidation-report.ts';

type Write = <T>(body: (tx: Tx) => Promise<T>) => Promise<T>;

export interface ValidationView extends Report {
  project: string;
  machine: string;
  /** For people. */
  phase: string;
  cancel_requested: boolean;
}

/**
 * Checks a request and commits it: from here on it runs, whatever fails. Errors: not_found, forbidden,
 * invalid_argument (all problems together), conflict (one of the role is under way).
 */
export async function startRevalidation(
  database: Database,
  principal: Principal,
  request: RoleRequest,
  { write = (body) => transaction(database, body), place = here() }: { write?: Write; place?: Here } = {},
): Promise<{ validation_id: string; workflow_id: string }> {
  const { repository, ...wanted } = await wantedRole(database, principal, request, { place });
  const id = makeValidationId();
  const workflow_id = revalidationWorkflowId(id);
  return write(async (tx) => {
    const fresh = await insertValidation(tx, {
      id,
      repository_id: repository.id,
      project_id: repository.project_id,
      schedule_id: null,
      ...wanted,
      workflow_id,
      workflow_run_id: null,
      created_by: principal.subject,
    });
    if (!fresh) {
      const other = await openValidationOf(tx, { repository_id: repository.id, ...wanted });
      throw conflict(`Re-validation ${other ?? ''} of this role is under way. Wait for its end, or cancel it.`);
    }
    return { validation_id: id, workflow_id };
  });
}

/** Asks for a stop; a no-op on one that has ended. Errors: not_found, forbidden. */
export async function cancelRevalidation(database: Database, principal: Principal, id: string): Promise<void> {
  await visibleValidation(database, principal, id, 'bounded_run.cancel');
  const waits = await transaction(database, async (tx) => {
    const row = await lockValidation(tx, id);
    if (!isUnderWay(row)) return false;
    await tx.query(
      `UPDATE revalidations SET cancel_requested_at = coalesce(cancel_requested_at, now()),
         cancel_by = coalesce(cancel_by, $2) WHERE id = $1`,
      [id, principal.subject],
    );
    tx.notify({ channel: 'revalidations', id });
    const [begun] = await tx.query('SELECT 1 FROM revalidations WHERE id = $1 AND dispatched_at IS NOT NULL', [id]);
    return begun === undefined;
  });
  if (waits) await concludeValidation(database, { validation: id, end: 'cancelled' });
}

export interface Acknowledgement {
  /** One failure by its number; default: all that are open. */
  failure?: number | undefined;
  /** What was found, at most 500 characters, no secret-like text. */
  note?: string | undefined;
}

/**
 * Records who has inspected failures. Errors: not_found, forbidden, invalid_argument, conflict (it is under way, or
 * there is nothing to acknowledge).
 */
export async function acknowledgeRevalidation(
  database: Database,
  principal: Principal,
  id: string,
  { failure, note }: Acknowledgement,
  write: Write = (body) => transaction(database, body),
): Promise<void> {
  await visibleValidation(database, principal, id, 'bounded_run.start');
  const kept = note === undefined || isBlank(note) ? null : storable(note.trim());
  if (kept !== null && characters(kept) > 500) throw invalid('The note has more than 500 characters. Shorten it.');
  const problem = kept === null ? undefined : await secretProblem('The note', kept);
  if (problem) throw invalid(problem);
  await write(async (tx) => {
    const row = await lockValidation(tx, id);
    if (isUnderWay(row)) throw conflict(`Re-validation ${id} is under way; its failures are listed at its end.`);
    const failures = await readFailures(tx, id);
    const open = failures.filter(({ inspected_by }) => inspected_by === null);
    const meant = open.filter(({ number }) => number === (failure ?? number));
    if (meant.length === 0) throw nothing(id, failure, failures);
    const numbers = meant.map(({ number }) => number);
    await tx.query(
      `UPDATE revalidation_failures SET inspected_by = $3, inspected_at = now(), note = $4
       WHERE validation = $1 AND number = ANY ($2::integer[])`,
      [id, numbers, principal.subject, kept],
    );
    const { verdict } = await knownOf(tx, row);
    await tx.query('UPDATE revalidations SET report_due = true, claim = $2 WHERE id = $1', [id, verdict.claim]);
    const facts = { failures: numbers, claim: verdict.claim };
    tx.emit(validationEvent(row, 'revalidation.acknowledged', facts, actorOf(principal)));
    tx.notify({ channel: 'revalidations', id });
    return {};
  });
}

function nothing(id: string, failure: number | undefined, failures: { number: number; inspected_by: string | null }[]) {
  if (failures.length === 0) return conflict(`Re-validation ${id} has no failure: there is nothing to acknowledge.`);
  const one = failures.find(({ number }) => number === failure);
  if (failure === undefined) return conflict(`All failures of ${id} are acknowledged already.`);
  if (!one) return notFound(`Re-validation ${id} has no failure ${failure}. It has 1 to ${failures.length}.`);
  return conflict(`Failure ${failure} of ${id} was acknowledged already, by ${one.inspected_by}.`);
}

async function visibleValidation(
  database: Database,
  principal: Principal,
  id: string,
  action: 'bounded_run.read' | 'bounded_run.start' | 'bounded_run.cancel' = 'bounded_run.read',
): Promise<ValidationRow> {
  const found = await findValidation(database, storable(id));
  return visible(database, principal, found, action, `re-validation ${named(id)}`);
}

/** One, with its claim as it stands now. Errors: not_found. */
export async function readRevalidation(
  database: Database,
  principal: Principal,
  id: string,
  place: Here = here(),
): Promise<ValidationView> {
  return viewOf(database, await visibleValidation(database, principal, id), place);
}

async function viewOf(database: Database, row: ValidationRow, place: Here): Promise<ValidationView> {
  const known = await knownOf(database, row, await seenHere(database, row, place));
  const report = reportOf(known, await readPackets(database, row.id));
  const cancel_requested = row.cancel_requested_at !== null;
  return { ...report, project: row.project, machine: row.machine, phase: row.phase, cancel_requested };
}

/** Its worker looks from time to time; the runner's files are looked at now, where they are this process's own. */
async function seenHere(database: Database, row: ValidationRow, place: Here): Promise<CurrentHashes | undefined> {
  const looked = await readCurrent(database, row);
  if (!looked || row.machine !== place.machine) return looked;
  return { ...looked, runner_sha256: await hashRunner() };
}

/** Newest first. `after`: the id of one. Errors: not_found (the project), invalid_argument (the cursor). */
export async function listRevalidations(
  database: Database,
  principal: Principal,
  page: { project?: string | undefined; limit: number; after?: string | undefined },
  place: Here = here(),
): Promise<{ items: ValidationView[]; next?: string }> {
  const projects = await readableProjects(database, principal, page.project);
  const after = page.after === undefined ? undefined : await findValidation(database, storable(page.after));
  if (page.after !== undefined && (!after || !projects.includes(after.project_id))) throw badCursor(page.after);
  const rows = await selectValidations(database, { projects, limit: page.limit + 1, after });
  const items: ValidationView[] = [];
  for (const row of rows.slice(0, page.limit)) items.push(await viewOf(database, row, place));
  return { items, ...(rows.length > page.limit ? { next: items.at(-1)!.validation_id } : {}) };
}

/** report.md or report.json as it is to be now. Errors: not_found. */
export async function revalidationReport(
  database: Database,
  principal: Principal,
  id: string,
  form: 'md' | 'json',
  place: Here = here(),
): Promise<{ type: string; text: string }> {
  const row = await visibleValidation(database, principal, id);
  const known = await knownOf(database, row, await seenHere(database, row, place));
  const report = reportOf(known, await readPackets(database, id));
  if (form === 'json') return { type: 'application/json', text: `${JSON.stringify(report, null, 2)}\n` };
  return { type: 'text/markdown', text: reportText(report) };
}

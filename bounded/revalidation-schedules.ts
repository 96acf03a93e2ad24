// Schedules of re-validations as people use them; a worker tells the engine (spec: orchestration "Re-validation").

import { v7 as uuidv7 } from 'uuid';
import { actorOf, type Principal } from '../domain/actor.ts';
import { secretProblem } from '../domain/bounded/free-text.ts';
import { readLimits } from '../domain/bounded/limits.ts';
import { conflict, DomainError, invalid } from '../domain/errors.ts';
import { uuidPattern } from '../domain/input.ts';
import { nextTimes, readCron, type Cron } from '../domain/revalidation/cron.ts';
import { characters, storable } from '../domain/text.ts';
import { transaction, type Database, type Tx } from '../store/database.ts';
import {
  askSchedule,
  changeSchedule,
  findSchedule,
  insertSchedule,
  lockSchedule,
  selectSchedules,
  type ScheduleRow,
} from '../store/revalidation-schedules.ts';
import {
  here,
  named,
  readableProjects,
  refused,
  visible,
  wantedRole,
  type Here,
  type RoleRequest,
} from './revalidation-access.ts';

type Write = <T>(body: (tx: Tx) => Promise<T>) => Promise<T>;

export interface ScheduleRequest extends RoleRequest {
  /** Five fields of cron, UTC. */
  cron: string;
  /** 0-3,600: each time is late by up to as much, so that not all begin at once. Default 300. */
  jitter_seconds?: number | undefined;
  /** 60-604,800: a time that was missed, as the engine was away, is made up for within as much. Default 43,200. */
  catchup_seconds?: number | undefined;
  paused?: boolean | undefined;
  /** At most 500 characters. */
  note?: string | undefined;
}

export type SchedulePatch = Partial<
  Pick<ScheduleRequest, 'cron' | 'jitter_seconds' | 'catchup_seconds' | 'max_budget_usd' | 'paused' | 'note'>
>;

export interface ScheduleView {
  id: string;
  repo: string;
  project: string;
  machine: string;
  host: string;
  role: string;
  cron: string;
  jitter_seconds: number;
  catchup_seconds: number;
  max_budget_usd: number;
  demo: boolean;
  paused: boolean;
  note: string;
  /** The engine has it as it is here. */
  in_effect: boolean;
  /** UTC; none while it is paused. */
  next_times: string[];
  /** Times that were missed for good, and those at which another one was under way. */
  missed_catchup: number;
  overlap_skipped: number;
  created_by: string;
  created_at: string;
}

const defaultJitter = 300;
const defaultCatchup = 43_200;
const shownTimes = 5;

const viewOf = (row: ScheduleRow): ScheduleView => ({
  id: row.id,
  repo: row.alias,
  project: row.project,
  machine: row.machine,
  host: row.host,
  role: row.role,
  cron: row.cron,
  jitter_seconds: row.jitter_seconds,
  catchup_seconds: row.catchup_seconds,
  max_budget_usd: row.budget_usd,
  demo: row.demo,
  paused: row.paused,
  note: row.note,
  in_effect: row.version === row.synced_version,
  next_times: row.paused ? [] : row.next_times,
  missed_catchup: row.missed_catchup,
  overlap_skipped: row.overlap_skipped,
  created_by: row.created_by,
  created_at: row.created_at,
});

interface Checked {
  problems: string[];
  cron?: string;
  next_times?: string[];
  jitter_seconds?: number;
  catchup_seconds?: number;
  budget_usd?: number;
  paused?: boolean;
  note?: string;
}

async function check(given: SchedulePatch): Promise<Checked> {
  const found: Checked = { problems: [] };
  if (given.cron !== undefined) {
    const read = readCron(given.cron);
    if (!read.ok) found.problems.push(read.problem);
    else {
      found.cron = read.cron.text;
      found.next_times = nextTimes(read.cron, new Date(), shownTimes).map((time) => time.toISOString());
    }
  }
  const whole = (name: 'jitter_seconds' | 'catchup_seconds', least: number, most: number): void => {
    const value = given[name];
    if (value === undefined) return;
    if (Number.isInteger(value) && value >= least && value <= most) found[name] = value;
    else found.problems.push(`${name} must be a whole number from ${least} to ${most}.`);
  };
  whole('jitter_seconds', 0, 3_600);
  whole('catchup_seconds', 60, 604_800);
  if (given.max_budget_usd !== undefined) {
    const limits = readLimits({ max_budget_usd: given.max_budget_usd });
    if (limits.ok) found.budget_usd = limits.budget_usd;
    else found.problems.push(...limits.problems);
  }
  if (given.note !== undefined) {
    const note = storable(given.note.trim());
    const secret = await secretProblem('The note', note);
    if (secret) found.problems.push(secret);
    else if (characters(note) > 500) found.problems.push('The note has more than 500 characters. Shorten it.');
    else found.note = note;
  }
  if (given.paused !== undefined) found.paused = given.paused;
  return found;
}

/**
 * Schedules re-validations of a role: one schedule a role of a repository. Errors: as of `startRevalidation`;
 * already_exists.
 */
export async function createSchedule(
  database: Database,
  principal: Principal,
  request: ScheduleRequest,
  { write = (body) => transaction(database, body), place = here() }: { write?: Write; place?: Here } = {},
): Promise<ScheduleView> {
  const checked = await check(request);
  const { repository, ...wanted } = await wantedRole(database, principal, request, { place, more: checked.problems });
  const { cron = '', next_times = [], jitter_seconds = defaultJitter, catchup_seconds = defaultCatchup } = checked;
  const id = uuidv7();
  return write(async (tx) => {
    const fresh = await insertSchedule(tx, {
      id,
      repository_id: repository.id,
      project_id: repository.project_id,
      ...wanted,
      cron,
      jitter_seconds,
      catchup_seconds,
      paused: checked.paused ?? false,
      note: checked.note ?? '',
      next_times,
      created_by: principal.subject,
    });
    if (!fresh) {
      const how = 'Change that one, or delete it first.';
      const message = `${wanted.role} on ${wanted.host} has a schedule for ${repository.alias} already. ${how}`;
      throw new DomainError('already_exists', message);
    }
    const row = await lockSchedule(tx, id);
    tell(tx, principal, row, { change: 'created', cron });
    return viewOf(row);
  });
}

function tell(tx: Tx, principal: Principal, row: ScheduleRow, payload: Record<string, unknown>): void {
  tx.emit({
    type: 'revalidation_schedule.changed',
    organization_id: row.organization_id,
    project_id: row.project_id,
    entity_type: 'revalidation_schedule',
    entity_id: row.id,
    actor: actorOf(principal),
    payload: { repo: row.alias, host: row.host, role: row.role, ...payload },
  });
}

async function visibleSchedule(
  database: Database,
  principal: Principal,
  id: string,
  action: 'bounded_run.read' | 'bounded_run.start',
): Promise<ScheduleRow> {
  const row = uuidPattern.test(id) ? await findSchedule(database, id) : undefined;
  return visible(database, principal, row?.deleted ? undefined : row, action, `schedule ${named(id)}`);
}

/** Errors: not_found. */
export async function readSchedule(database: Database, principal: Principal, id: string): Promise<ScheduleView> {
  return viewOf(await visibleSchedule(database, principal, id, 'bounded_run.read'));
}

/** Of a project, or of all whose runs the principal may read. */
export async function listSchedules(
  database: Database,
  principal: Principal,
  project: string | undefined,
): Promise<ScheduleView[]> {
  const projects = await readableProjects(database, principal, project);
  return (await selectSchedules(database, projects)).map(viewOf);
}

/** Errors: not_found, forbidden, invalid_argument. */
export async function updateSchedule(
  database: Database,
  principal: Principal,
  id: string,
  patch: SchedulePatch,
): Promise<ScheduleView> {
  await visibleSchedule(database, principal, id, 'bounded_run.start');
  const { problems, ...changes } = await check(patch);
  if (problems.length > 0) throw refused(problems);
  return transaction(database, async (tx) => {
    await lockSchedule(tx, id);
    await changeSchedule(tx, id, changes);
    const row = await lockSchedule(tx, id);
    const { note: _note, next_times: _times, ...told } = changes;
    tell(tx, principal, row, { change: 'updated', ...told });
    return viewOf(row);
  });
}

/** One that is under way goes on. Errors: not_found, forbidden. */
export async function deleteSchedule(database: Database, principal: Principal, id: string): Promise<void> {
  await visibleSchedule(database, principal, id, 'bounded_run.start');
  await transaction(database, async (tx) => {
    const row = await lockSchedule(tx, id);
    await changeSchedule(tx, id, { deleted: true, next_times: [] });
    tell(tx, principal, row, { change: 'deleted' });
  });
}

/** Now, besides its times; skipped where another one of the role is under way. Errors: not_found, forbidden. */
export async function triggerSchedule(
  database: Database,
  principal: Principal,
  id: string,
  write: Write = (body) => transaction(database, body),
): Promise<void> {
  await visibleSchedule(database, principal, id, 'bounded_run.start');
  await write(async (tx) => {
    const row = await lockSchedule(tx, id);
    await askSchedule(tx, id, 'trigger');
    tell(tx, principal, row, { change: 'triggered' });
    return {};
  });
}

/** Re-validations that one backfill may ask for. */
const mostBackfilled = 10;

/**
 * Makes up for the times between `from` and `to`, both past, one after another. Errors: not_found, forbidden,
 * invalid_argument (no time in between, or more than 10), conflict.
 */
export async function backfillSchedule(
  database: Database,
  principal: Principal,
  id: string,
  { from, to }: { from: string; to: string },
  write: Write = (body) => transaction(database, body),
): Promise<{ times: string[] }> {
  const { cron } = await visibleSchedule(database, principal, id, 'bounded_run.start');
  const [start, end] = [new Date(from), new Date(to)];
  if (!(start.getTime() < end.getTime())) throw invalid('`from` must be earlier than `to`.');
  if (end.getTime() > Date.now()) throw invalid('`to` must not lie in the future: the schedule does what comes.');
  const read = readCron(cron);
  if (!read.ok) throw conflict(read.problem);
  // The engine counts both ends.
  const times = nextTimes(read.cron, new Date(start.getTime() - 60_000), mostBackfilled + 2, end)
    .filter((time) => time >= start);
  if (times.length === 0) throw invalid('The schedule has no time between `from` and `to`.');
  if (times.length > mostBackfilled) {
    const most = `The schedule has more than ${mostBackfilled} times between \`from\` and \`to\``;
    throw invalid(`${most}: each is paid. Choose less.`);
  }
  return write(async (tx) => {
    const row = await lockSchedule(tx, id);
    await askSchedule(tx, id, asTheEngineCounts(read.cron, times));
    tell(tx, principal, row, { change: 'backfilled', times: times.length });
    return { times: times.map((time) => time.toISOString()) };
  });
}

/**
 * The range in which the engine finds these times, and no other: it moves each by the schedule's jitter, though never past
 * the next one. What it has moved into the future it does by itself.
 */
function asTheEngineCounts(cron: Cron, times: readonly Date[]): { from: string; to: string } {
  const last = times.at(-1)!;
  const [next = last] = nextTimes(cron, last, 1);
  const to = Math.min(Math.max(next.getTime() - 1, last.getTime()), Date.now());
  return { from: new Date(times[0]!.getTime() - 1).toISOString(), to: new Date(to).toISOString() };
}

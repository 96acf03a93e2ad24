// Bounded runs as they are shown: one, a project's, their outputs (spec: bounded-claude 1, planner 10 and 11).

import type { Principal } from '../domain/actor.ts';
import type { FailureKind } from '../domain/bounded/failures.ts';
import type { Limits } from '../domain/bounded/limits.ts';
import { attemptName } from '../domain/bounded/run-id.ts';
import { badCursor, uuidPattern } from '../domain/input.ts';
import type { StoredRunOutput } from '../domain/run-output.ts';
import { readAttempts, type AttemptRow } from '../store/attempts.ts';
import type { Database, Queryable } from '../store/database.ts';
import { listProjects, visibleProject } from '../store/projects.ts';
import { rightsOf } from '../store/rights.ts';
import { findRun, isOpen, selectRuns, type RunRow, type RunStatusName } from '../store/runs.ts';
import { scopeOf, visibleRun } from './access.ts';

export interface RunView {
  id: string;
  run_id: string;
  /** Alias of the repository. */
  repo: string;
  /** Project key. */
  project: string;
  /** The computer that holds the repository. */
  machine: string;
  host: string;
  role: string;
  status: RunStatusName;
  /** For people; of a running CLI: starting, waiting, thinking, writing, retrying, settling, ending. */
  phase: string;
  /** While it runs: why it waits. */
  failure_kind?: FailureKind;
  failure_detail?: string;
  /** Why it was rejected. */
  problems?: string[];
  attempts: number;
  /** Relative to the repository; there is a plan only where `status` is `succeeded`. */
  output: string;
  budget_usd: number;
  cost_usd: number;
  cost_estimated: boolean;
  model?: string;
  effort?: string;
  demo: boolean;
  cancel_requested: boolean;
  created_by: string;
  created_at: string;
  started_at?: string;
  ended_at?: string;
  workflow_id: string;
  workflow_run_id?: string;
}

export interface AttemptView {
  attempt: number;
  /** Name of its directory under `.partner/runs`. */
  directory: string;
  role: string;
  model: string;
  effort: string;
  verified: boolean;
  session_id: string;
  session_kind: 'fresh' | 'resume';
  status: AttemptRow['status'];
  failure_kind?: FailureKind;
  failure_detail?: string;
  warnings: string[];
  cost_usd: number;
  cost_estimated: boolean;
  approval?: string;
  /** Visible text once it has ended; redacted. */
  checkpoint: string;
  started_at: string;
  ended_at?: string;
}

export interface RunDetails extends RunView {
  packet: string;
  packet_sha256: string;
  packet_chars: number;
  limits: Limits;
  lowered_limits: string[];
  allow_unverified: boolean;
  attempt_list: AttemptView[];
  /** recovery.md of the last attempt. */
  recovery?: string;
  /** The newest output number: watch from here to miss nothing after this view. */
  output_number: number;
}

/** Errors: not_found, conflict (several repositories have that run id; name one by `repo`). */
export async function readRun(
  database: Database,
  principal: Principal,
  id: string,
  repo?: string,
): Promise<RunDetails> {
  const row = await visibleRun(database, principal, id, 'bounded_run.read', repo);
  const output_number = (await counterOf(database, row.id)).number;
  const attempts = await readAttempts(database, row.id);
  const recovery = isOpen(row) || row.status === 'succeeded' ? null : attempts.at(-1)?.recovery;
  return {
    ...toView(row),
    packet: row.packet,
    packet_sha256: row.packet_sha256,
    packet_chars: row.packet_chars,
    limits: row.limits,
    lowered_limits: row.lowered,
    allow_unverified: row.allow_unverified,
    attempt_list: attempts.map((attempt) => toAttemptView(row, attempt)),
    ...(recovery ? { recovery } : {}),
    output_number,
  };
}

/** Runs of a project, or of all projects whose runs the principal may read; newest first. `after`: a run's own id. */
export async function listRuns(
  database: Database,
  principal: Principal,
  page: { project?: string | undefined; limit: number; after?: string | undefined },
): Promise<{ items: RunView[]; next?: string }> {
  const projects = page.project === undefined
    ? await readableProjects(database, principal)
    : [(await visibleProject(database, principal, page.project, 'bounded_run.read')).id];
  const { after } = page;
  if (after !== undefined) await checkCursor(database, principal, after);
  const rows = await selectRuns(database, { projects, limit: page.limit + 1, after });
  const items = rows.slice(0, page.limit).map(toView);
  return { items, ...(rows.length > page.limit ? { next: items.at(-1)!.id } : {}) };
}

async function checkCursor(database: Database, principal: Principal, after: string): Promise<void> {
  const known = uuidPattern.test(after) ? await findRun(database, after) : undefined;
  const rights = await rightsOf(database, principal);
  if (!known || !rights('bounded_run.read', scopeOf(known))) throw badCursor(after);
}

async function readableProjects(q: Queryable, principal: Principal): Promise<string[]> {
  const rights = await rightsOf(q, principal);
  const projects = await listProjects(q, principal);
  return projects
    .filter(({ id, organization_id }) => rights('bounded_run.read', { project_id: id, organization_id }))
    .map((project) => project.id);
}

export interface RunWatch {
  run: string;
  scope: ReturnType<typeof scopeOf>;
  status: RunStatusName;
  running: boolean;
  /** The newest output's number. */
  output: number;
  /** Where the present attempt begins. */
  from: number;
  /** Outputs up to this number may be gone. */
  pruned: number;
}

/** Whether a principal may watch a run, and where its outputs stand. Errors: not_found. */
export async function authorizeRunWatch(
  database: Database,
  principal: Principal,
  id: string,
): Promise<RunWatch> {
  const row = await visibleRun(database, principal, id, 'bounded_run.read');
  const { number, pruned } = await counterOf(database, row.id);
  const running = isOpen(row);
  const from = running ? Math.max(pruned, await attemptStart(database, row)) : number;
  return { run: row.id, scope: scopeOf(row), status: row.status, running, output: number, from, pruned };
}

async function attemptStart(q: Queryable, row: RunRow): Promise<number> {
  const [first] = await q.query<{ number: number | null }>(
    'SELECT min(number) AS number FROM planner_outputs WHERE session_id = $1 AND attempt >= $2',
    [row.id, row.attempts],
  );
  return first?.number ? first.number - 1 : 0;
}

async function counterOf(q: Queryable, run: string): Promise<{ number: number; pruned: number }> {
  const [counter] = await q.query<{ number: number; pruned: number }>(
    'SELECT number, pruned FROM planner_output_counters WHERE session_id = $1',
    [run],
  );
  return counter ?? { number: 0, pruned: 0 };
}

/** The outputs of a run after a number, in order. */
export async function readRunOutputs(q: Queryable, run: string, after = 0, limit = 10_000): Promise<StoredRunOutput[]> {
  return q.query<StoredRunOutput>(
    `SELECT session_id AS run, attempt, number AS output, body FROM planner_outputs
     WHERE session_id = $1 AND number > $2 ORDER BY number LIMIT $3`,
    [run, after, limit],
  );
}

function toView(row: RunRow): RunView {
  return {
    id: row.id,
    run_id: row.run_id,
    repo: row.alias,
    project: row.project,
    machine: row.machine,
    host: row.host,
    role: row.role,
    status: row.status,
    phase: row.phase,
    ...defined({ failure_kind: row.failure_kind, failure_detail: row.failure_detail, problems: row.problems }),
    attempts: row.attempts,
    output: row.output,
    budget_usd: row.budget_usd,
    cost_usd: row.cost_usd,
    cost_estimated: row.cost_estimated,
    ...defined({ model: row.identity?.model, effort: row.identity?.effort }),
    demo: row.demo,
    cancel_requested: row.cancel_requested_at !== null,
    created_by: row.created_by,
    created_at: row.created_at,
    ...defined({ started_at: row.started_at, ended_at: row.ended_at }),
    workflow_id: row.workflow_id,
    ...defined({ workflow_run_id: row.workflow_run_id }),
  };
}

function toAttemptView(run: RunRow, row: AttemptRow): AttemptView {
  return {
    attempt: row.attempt,
    directory: attemptName(run.run_id, row.attempt),
    role: row.role,
    model: row.identity.model,
    effort: row.identity.effort,
    verified: row.identity.verified,
    session_id: row.session_id,
    session_kind: row.session_kind,
    status: row.status,
    ...defined({ failure_kind: row.failure_kind, failure_detail: row.failure_detail, approval: row.approval?.text }),
    warnings: row.warnings,
    cost_usd: row.cost_usd,
    cost_estimated: row.cost_estimated,
    checkpoint: row.checkpoint,
    started_at: row.started_at,
    ...defined({ ended_at: row.ended_at }),
  };
}

type Defined<T> = { [K in keyof T]?: NonNullable<T[K]> };

function defined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)) as Defined<T>;
}

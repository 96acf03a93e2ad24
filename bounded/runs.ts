// Starting, stopping and resuming bounded runs (spec: bounded-claude 1, 2, 5, 8).

import { v7 as uuidv7 } from 'uuid';
import { randomBytes } from 'node:crypto';
import type { Principal } from '../domain/actor.ts';
import { approvalProblem, secretProblem } from '../domain/bounded/free-text.ts';
import { hosts, isHost, isRole, roles, type Role } from '../domain/bounded/identity.ts';
import { budgetLeft, readLimits, type RunLimits } from '../domain/bounded/limits.ts';
import { readPacket, type Packet } from '../domain/bounded/packet.ts';
import { makeRunId, parseOutputPath, planPath, runIdProblem, runKey } from '../domain/bounded/run-id.ts';
import { conflict, DomainError, forbidden, invalid } from '../domain/errors.ts';
import { runWorkflowId } from '../domain/run.ts';
import { firstCharacters, isBlank, storable } from '../domain/text.ts';
import { readAttempts } from '../store/attempts.ts';
import { transaction, type Database, type Tx } from '../store/database.ts';
import { authorizeVisible, projectById } from '../store/projects.ts';
import { noRepository, repositoryByAlias, type Repository } from '../store/repositories.ts';
import { finishRun, findRunsByKey, insertRun, isOpen, lockRun, type RunRow } from '../store/runs.ts';
import { currentTrace } from '../telemetry/trace.ts';
import { visibleRun } from './access.ts';

export interface NewRunRequest {
  /** A registered alias. */
  repo: string;
  host: string;
  role: string;
  /** The packet's text. */
  packet: string;
  /** The file that it comes from, for the command in recovery.md. Default `PACKET`. */
  packet_name?: string | undefined;
  run_id?: string | undefined;
  /** Relative to the repository, inside of it; default `.partner/plans/<run-id>.md`. */
  output?: string | undefined;
  /** 0-3, default 1. */
  resume_attempts?: number | undefined;
  /** USD, more than 0, at most 10, default 2. */
  max_budget_usd?: number | undefined;
  /** Code points, at most 24,000. */
  max_input_chars?: number | undefined;
  /** Seconds, at most 600. */
  wall_timeout?: number | undefined;
  /** Seconds, at most 180. */
  idle_timeout?: number | undefined;
  allow_unverified?: boolean | undefined;
  /** A scripted CLI answers, by rule; no model is asked, nothing is paid. */
  demo?: boolean | undefined;
}

type Write = <T>(body: (tx: Tx) => Promise<T>) => Promise<T>;

/**
 * Checks a request and commits its run: from here on it runs, whatever fails. All problems of the request are told
 * together (`data.problems`). Errors: not_found (the repository), forbidden, invalid_argument, already_exists (the run
 * id), conflict (the output). What only the repository's host knows is checked there, before anything is paid.
 */
export async function startRun(
  database: Database,
  principal: Principal,
  request: NewRunRequest,
  write: Write = (body) => transaction(database, body),
): Promise<{ run: string; run_id: string; workflow_id: string }> {
  const repository = await repositoryByAlias(database, request.repo);
  const project = await projectById(database, repository.project_id);
  await authorizeVisible(database, principal, project, 'bounded_run.start', () => noRepository(request.repo));
  const checked = await checkRequest(request, repository);
  const id = uuidv7();
  const workflow_id = runWorkflowId(repository.path_hash, checked.run_id);
  return write(async (tx) => {
    await assertOutputFree(tx, repository, checked);
    const { packet, limits, ...facts } = checked;
    const fresh = await insertRun(tx, {
      ...facts,
      id,
      repository_id: repository.id,
      project_id: repository.project_id,
      run_key: runKey(checked.run_id),
      packet: packet.text,
      packet_sha256: packet.sha256,
      packet_chars: packet.characters,
      limits: limits.limits,
      lowered: limits.lowered,
      budget_usd: limits.budget_usd,
      workflow_id,
      created_by: principal.subject,
      trace_id: currentTrace(),
    });
    if (!fresh) throw await taken(tx, repository, checked.run_id);
    return { run: id, run_id: checked.run_id, workflow_id };
  });
}

type Checked = Pick<RunRow, 'run_id' | 'host' | 'role' | 'packet_name' | 'output' | 'allow_unverified' | 'demo'> & {
  packet: Packet;
  limits: RunLimits;
};

async function checkRequest(request: NewRunRequest, repository: Repository): Promise<Checked> {
  const problems: string[] = [];
  const { host, role } = request;
  const run_id = request.run_id ?? makeRunId(new Date().toISOString(), randomBytes(3).toString('hex'));
  const idProblem = runIdProblem(run_id);
  if (!isHost(host)) problems.push(`host must be one of ${hosts.join(', ')}.`);
  if (!isRole(role)) problems.push(`role must be one of ${roles.join(', ')}.`);
  if (idProblem) problems.push(`The run id is refused: ${idProblem}.`);
  const limits = readLimits(askedLimits(request));
  if (!limits.ok) problems.push(...limits.problems);
  const packet_name = firstCharacters(storable(request.packet_name ?? 'PACKET'), 1_000);
  const named = { 'The run id': request.run_id, 'The output': request.output, "The packet's name": packet_name };
  for (const [what, text] of Object.entries(named)) {
    const problem = text === undefined ? undefined : await secretProblem(what, text);
    if (problem) problems.push(problem);
  }
  let output = planPath(run_id);
  try {
    // Nobody learns by it where the repository lies.
    if (request.output?.startsWith('/')) throw invalid('output is refused: it must be relative to the repository.');
    if (request.output !== undefined) output = parseOutputPath(storable(request.output), repository.path);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    problems.push(error.message);
  }
  const most = limits.ok ? { maxCharacters: limits.limits.max_input_chars } : {};
  const packet = await readPacket(new TextEncoder().encode(request.packet), most);
  if (!packet.ok) {
    problems.push(...packet.problems.map(({ line, message }) => (line ? `Packet, line ${line}: ${message}` : message)));
  }
  if (!isHost(host) || !isRole(role) || !limits.ok || !packet.ok || problems.length > 0) {
    throw new DomainError('invalid_argument', problems.join('\n'), { problems });
  }
  return {
    run_id,
    host,
    role,
    output,
    packet: packet.packet,
    limits,
    packet_name,
    allow_unverified: request.allow_unverified === true,
    demo: request.demo === true,
  };
}

function askedLimits(request: NewRunRequest): Parameters<typeof readLimits>[0] {
  const { resume_attempts, max_budget_usd, max_input_chars, wall_timeout, idle_timeout } = request;
  return {
    ...(resume_attempts === undefined ? {} : { resume_attempts }),
    ...(max_budget_usd === undefined ? {} : { max_budget_usd }),
    ...(max_input_chars === undefined ? {} : { max_input_chars }),
    ...(wall_timeout === undefined ? {} : { wall_timeout_seconds: wall_timeout }),
    ...(idle_timeout === undefined ? {} : { idle_timeout_seconds: idle_timeout }),
  };
}

/** An early word; the claim file beside the plan decides, also against runs that this database does not know. */
async function assertOutputFree(tx: Tx, repository: Repository, { output, run_id }: Checked): Promise<void> {
  const [other] = await tx.query<{ run_id: string }>(
    `SELECT run_id FROM bounded_runs WHERE repository_id = $1 AND lower(output) = lower($2) AND run_key <> $3
       AND status IN ('pending', 'running') LIMIT 1`,
    [repository.id, output, runKey(run_id)],
  );
  if (!other) return;
  const how = `Wait for its end, cancel it (\`partner cancel ${other.run_id}\`), or choose another --output.`;
  throw conflict(`Run "${other.run_id}" is about to write ${output}. ${how}`);
}

async function taken(tx: Tx, repository: Repository, runId: string): Promise<DomainError> {
  const [first] = await findRunsByKey(tx, runKey(runId), repository.alias);
  const state = first && isOpen(first) ? 'is under way' : `has ended${first ? ` (${first.status})` : ''}`;
  const name = first?.run_id ?? runId;
  const resumable = first?.status === 'failed' || first?.status === 'cancelled';
  const how = `Choose another --run-id${resumable ? `, or resume it: --resume ${name}` : ''}.`;
  const message = `A run "${name}" of ${repository.alias} ${state}; nothing is overwritten. ${how}`;
  return new DomainError('already_exists', message);
}

/**
 * Asks for a stop of a run; returns its id where there is something to stop. A no-op on a run that has ended. One that
 * has not begun ends right here.
 */
export async function cancelRun(
  database: Database,
  principal: Principal,
  input: { run: string; repo?: string | undefined },
): Promise<{ run?: string }> {
  const { id } = await visibleRun(database, principal, input.run, 'bounded_run.cancel', input.repo);
  return transaction(database, async (tx) => {
    const row = await lockRun(tx, id);
    if (!isOpen(row)) return {};
    if (row.status === 'pending') {
      await finishRun(tx, row, { status: 'cancelled' });
    } else {
      await tx.query(
        `UPDATE bounded_runs SET cancel_requested_at = coalesce(cancel_requested_at, now()),
           cancel_by = coalesce(cancel_by, $2) WHERE id = $1`,
        [id, principal.subject],
      );
    }
    tx.notify({ channel: 'run_cancels', id });
    return { run: id };
  });
}

export interface ResumeRequest {
  run: string;
  repo?: string | undefined;
  /** Another role, with `approval`. */
  role?: string | undefined;
  /** Who approved it, and why; 1-500 characters, no secret-like text. */
  approval?: string | undefined;
}

/**
 * Lets a failed or cancelled run go on, in the same session where there is one, as its next attempt. Another role only
 * with an approval, which is recorded. Errors: not_found, forbidden, invalid_argument, conflict (it has not ended or
 * succeeded; too little of the budget is left).
 */
export async function resumeRun(
  database: Database,
  principal: Principal,
  request: ResumeRequest,
  write: Write = (body) => transaction(database, body),
): Promise<{ run: string; run_id: string; workflow_id: string }> {
  const { id } = await visibleRun(database, principal, request.run, 'bounded_run.start', request.repo);
  const problem = isGiven(request.approval) ? await approvalProblem(request.approval) : undefined;
  if (problem) throw invalid(problem);
  return write(async (tx) => {
    const row = await lockRun(tx, id);
    const finished = (await readAttempts(tx, id)).at(-1)?.status === 'succeeded';
    assertResumable(row, finished);
    const change = roleChange(row, request);
    if (finished && change) throw conflict(`The plan of ${row.run_id} is finished. Resume it without --approve-role.`);
    const approval = change ?? row.approval;
    await tx.query(
      `UPDATE bounded_runs SET status = 'pending', phase = 'starting', cycle = cycle + 1, role = $2, approval = $3,
         failure_kind = NULL, failure_detail = NULL, problems = NULL, cancel_requested_at = NULL, cancel_by = NULL,
         dispatched_at = NULL, ended_at = NULL, outputs_kept = true, progress_at = now(), trace_id = $4
       WHERE id = $1`,
      [id, change?.role ?? row.role, approval && JSON.stringify(approval), currentTrace()],
    );
    tx.output({ run: id, attempt: row.attempts, body: { type: 'status', phase: 'starting' } });
    tx.notify({ channel: 'runs', id });
    return { run: id, run_id: row.run_id, workflow_id: row.workflow_id };
  });
}

/** `finished`: the plan is only to be published, which costs nothing. */
function assertResumable(row: RunRow, finished: boolean): void {
  if (isOpen(row)) throw conflict(`Run ${row.run_id} is under way. Watch it, or cancel it first.`);
  if (row.status === 'succeeded') throw conflict(`Run ${row.run_id} has succeeded: its plan is ${row.output}.`);
  if (row.status === 'rejected') throw conflict(`Run ${row.run_id} was rejected before it began. Start it again.`);
  if (!finished && budgetLeft(row.budget_usd, row.cost_usd) === undefined) {
    const spent = `${row.cost_usd.toFixed(2)} of ${row.budget_usd} USD are spent`;
    throw conflict(`budget_exceeded: ${spent}, too little is left for a resume. Start a fresh run.`);
  }
}

/** A blank approval is none. */
const isGiven = (approval: string | undefined): approval is string => approval !== undefined && !isBlank(approval);

function roleChange(row: RunRow, request: ResumeRequest): { role: Role; text: string } | undefined {
  const { role, approval } = request;
  if (role === undefined && approval === undefined) return undefined;
  if (role === undefined) throw invalid('An approval names the role that it approves: --approve-role ROLE.');
  if (!isRole(role)) throw invalid(`role must be one of ${roles.join(', ')}.`);
  if (role === row.role) throw conflict(`Run ${row.run_id} runs as ${role} already. Resume it without --approve-role.`);
  if (!isGiven(approval)) {
    throw forbidden(`Another role needs an explicit approval: --approve-role ${role} --approval "who, why".`);
  }
  return { role, text: approval };
}

// Before anything is paid: packet, identity, CLI, paths, space, claim; all problems together, and nothing written where
// there is one (spec: bounded-claude 1-4, 7).

import { access, readdir } from 'node:fs/promises';
import {
  ArtifactError,
  assertInside,
  claimPlan,
  CliError,
  createRunDir,
  releaseClaim,
  type CliIdentity,
} from '../claude/index.ts';
import { assertSpace } from '../claude/artifacts.ts';
import { resolveIdentity, type Identity } from '../domain/bounded/identity.ts';
import { readPacket } from '../domain/bounded/packet.ts';
import { runKey, runPath } from '../domain/bounded/run-id.ts';
import type { PreflightOutcome, RunRef } from '../domain/run.ts';
import { readAttempts, type AttemptRow } from '../store/attempts.ts';
import { transaction } from '../store/database.ts';
import { findRun, findRunsByKey, isOpen, lockCycle, runEvent, RunLost, setPhase, type RunRow } from '../store/runs.ts';
import { cliOf, outputOf, runDirOf, targetOf, type HostRoom } from './host.ts';
import { demoIdentity, readIdentityFiles } from './identity-files.ts';
import { recoverAll } from './recover.ts';
import { makeWorkDir } from './work-dir.ts';

/** Everything that a run needs before its first CLI, or why it gets none. Idempotent for its owner. */
export async function preflight(room: HostRoom, ref: RunRef, workflowRunId: string): Promise<PreflightOutcome> {
  const { database } = room;
  try {
    const row = await transaction(database, async (tx) => {
      const locked = await lockCycle(tx, ref);
      await setPhase(tx, locked, 'preflight');
      return locked;
    });
    await recoverAll(room, row.id);
    const attempts = await readAttempts(database, row.id);
    const last = attempts.at(-1);
    if (last?.status !== 'succeeded' && last?.cycle === row.cycle) return await goOn(room, row, attempts);
    const checked = (await finished(row, last)) ?? (await check(room, row, attempts));
    if (checked.problems.length > 0) return await reject(room, ref, checked.problems);
    const unclaimed = await claim(room, row);
    if (unclaimed !== undefined) return await reject(room, ref, [unclaimed]);
    return await accept(room, ref, { ...checked, workflowRunId, last });
  } catch (error) {
    if (!(error instanceof RunLost)) throw error;
    // It was ended meanwhile; what was claimed for it since is given back with the rest of its files.
    const set = `UPDATE bounded_runs SET artifacts_done = false WHERE id = $1 AND status NOT IN ('pending', 'running')`;
    await database.query(set, [ref.run]);
    return { next: 'superseded' };
  }
}

/** The cycle had begun before, and the engine has forgotten it. */
async function goOn(room: HostRoom, row: RunRow, attempts: readonly AttemptRow[]): Promise<PreflightOutcome> {
  const last = attempts.at(-1)!;
  const resumes = attempts.filter((one) => one.cycle === row.cycle && one.session_kind === 'resume').length;
  const more = { attempt: last.attempt, resumeAttempts: row.limits.resume_attempts };
  const set = `UPDATE bounded_runs SET status = 'running' WHERE id = $1 AND status = 'pending'`;
  await room.database.query(set, [row.id]);
  return { next: 'failed', ...more, resumes, failure: last.failure_kind ?? 'worker_lost' };
}

interface Checked {
  problems: string[];
  identity: Identity;
  cli: CliIdentity;
}

/** A plan that is only to be published needs no CLI, so nothing about one is asked; its place must be there. */
async function finished(row: RunRow, last: AttemptRow | undefined): Promise<Checked | undefined> {
  if (last?.status !== 'succeeded' || !row.cli) return undefined;
  const problems: string[] = [];
  await collected(problems, targetOf(row));
  return { problems, identity: last.identity, cli: row.cli };
}

async function check(room: HostRoom, row: RunRow, attempts: readonly AttemptRow[]): Promise<Checked> {
  const problems: string[] = [];
  const packet = await readPacket(new TextEncoder().encode(row.packet), { maxCharacters: row.limits.max_input_chars });
  if (!packet.ok) problems.push(...packet.problems.map((problem) => problem.message));
  const identity = row.demo ? demoIdentity : await identityOf(room, row, attempts.length > 0, problems);
  if (identity) problems.push(...changedIdentity(row, identity, attempts));
  const cli = await cliOf(room, row).catch((error: unknown) => {
    if (!(error instanceof CliError)) throw error;
    return void problems.push(error.message);
  });
  await checkPaths(row, attempts.length === 0, problems);
  return { problems, identity: identity ?? demoIdentity, cli: cli ?? { path: '', version: '', sha256: '' } };
}

async function identityOf(
  room: HostRoom,
  row: RunRow,
  goesOn: boolean,
  problems: string[],
): Promise<Identity | undefined> {
  try {
    const files = await readIdentityFiles(row.repo_path, room.env);
    const resolved = resolveIdentity(files, row.host, row.role, { allowUnverified: row.allow_unverified, goesOn });
    if (resolved.ok) return resolved.identity;
    problems.push(...resolved.problems.map((problem) => problem.message));
  } catch (error) {
    problems.push(`The configuration can't be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  return undefined;
}

/** A resume goes on with the model that it began with, unless another role was approved. */
function changedIdentity(row: RunRow, now: Identity, attempts: readonly AttemptRow[]): string[] {
  const before = attempts.filter((one) => one.role === row.role).at(-1)?.identity;
  if (!before || (before.model === now.model && before.effort === now.effort)) return [];
  const was = `${before.model} at effort ${before.effort}`;
  return [
    `${row.role} on ${row.host} was ${was} when this run began, and is ${now.model} at effort ${now.effort} now. `
      + 'A resume changes no model: restore it with `partner config set`, or start a fresh run.',
  ];
}

async function collected(problems: string[], work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!(error instanceof ArtifactError)) throw error;
    problems.push(error.message);
  });
}

async function checkPaths(row: RunRow, first: boolean, problems: string[]): Promise<void> {
  const told = (work: Promise<unknown>): Promise<void> => collected(problems, work);
  await told(targetOf(row));
  await told(assertInside(row.repo_path, runPath(row.run_id)));
  if (problems.length === 0) await told(assertSpace(await deepestFolder(row.repo_path, '.partner/runs')));
  if (!first || row.dir_claimed || problems.length > 0) return;
  const names = await readdir(`${row.repo_path}/.partner/runs`).catch(() => []);
  const twin = names.find((name) => runKey(name) === runKey(row.run_id));
  if (twin !== undefined) {
    const where = `${row.repo_path}/.partner/runs`;
    problems.push(`A run "${twin}" is in ${where} already; nothing is overwritten. Choose another --run-id.`);
  }
}

async function deepestFolder(repo: string, inside: string): Promise<string> {
  for (const folder of [`${repo}/${inside}`, `${repo}/${inside.split('/')[0]}`]) {
    if (await access(folder).then(() => true, () => false)) return folder;
  }
  return repo;
}

/** The plan's claim, then the first attempt's directory; undefined when both are this run's, else why not. */
async function claim(room: HostRoom, row: RunRow): Promise<string | undefined> {
  const output = outputOf(row);
  try {
    await claimPlan(output, row.run_id, (owner) => hasEnded(room, row, owner));
    if (!(await hasDirectory(row))) {
      await room.database.query('UPDATE bounded_runs SET dir_claimed = true WHERE id = $1', [row.id]);
      await createRunDir(row.repo_path, row.run_id);
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof ArtifactError)) throw error;
    await releaseClaim(output, row.run_id).catch((failure: unknown) => {
      room.warn('giving a claim back failed', failure);
    });
    await room.database.query('UPDATE bounded_runs SET dir_claimed = false WHERE id = $1 AND attempts = 0', [row.id]);
    return error.message;
  }
}

const hasDirectory = async (row: RunRow): Promise<boolean> =>
  row.dir_claimed && (await access(runDirOf(row, 1)).then(() => true, () => false));

/** Whether the run that claims a plan is over; one that this database does not know is. */
async function hasEnded(room: HostRoom, row: RunRow, owner: string): Promise<boolean> {
  const runs = await findRunsByKey(room.database, runKey(owner), row.alias);
  return !runs.some((run) => isOpen(run) && run.id !== row.id);
}

interface Accepted extends Checked {
  workflowRunId: string;
  last: AttemptRow | undefined;
}

async function accept(room: HostRoom, ref: RunRef, accepted: Accepted): Promise<PreflightOutcome> {
  const { identity, cli, workflowRunId, last } = accepted;
  const known = await findRun(room.database, ref.run);
  const workDir = await makeWorkDir(room.env, ref.run, known?.work_dir ?? null);
  return transaction(room.database, async (tx) => {
    const row = await lockCycle(tx, ref);
    await tx.query(
      `UPDATE bounded_runs SET status = 'running', phase = 'starting', identity = $2, cli = $3, work_dir = $4,
         workflow_run_id = $5, started_at = coalesce(started_at, now()), progress_at = now() WHERE id = $1`,
      [row.id, JSON.stringify(identity), JSON.stringify(cli), workDir, workflowRunId],
    );
    if (row.status === 'pending') {
      const { role, host, approval, allow_unverified, lowered, demo } = row;
      const { model, effort, verified } = identity;
      const facts = { host, role, model, effort, verified, allow_unverified, demo, cycle: row.cycle };
      const more = { lowered_limits: lowered, ...(approval ? { approval } : {}) };
      tx.emit(runEvent(row, 'bounded_run.started', { ...facts, ...more }));
    }
    const more = { resumeAttempts: row.limits.resume_attempts };
    if (last?.status === 'succeeded') return { next: 'publish', attempt: last.attempt, ...more };
    return { next: 'start', attempt: (last?.attempt ?? 0) + 1, ...more };
  });
}

async function reject(room: HostRoom, ref: RunRef, problems: string[]): Promise<PreflightOutcome> {
  await transaction(room.database, async (tx) => {
    const row = await lockCycle(tx, ref);
    await tx.query('UPDATE bounded_runs SET problems = $2 WHERE id = $1', [row.id, JSON.stringify(problems)]);
  });
  // They may quote what was asked for, and are in the run's row.
  room.warn(`bounded run ${ref.run} was rejected for ${problems.length} reasons`);
  return { next: 'rejected' };
}

// A run's files on its host: metadata and recovery of all attempts, the plan, and what is completed later
// (spec: bounded-claude 7).

import { access, mkdir, open, readdir, readFile, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import {
  ArtifactError,
  completeOrphanedRuns,
  publishPlan,
  releaseClaim,
  removeRaw,
  writeMetadata,
  writeRecovery,
} from '../claude/index.ts';
import { claimFile, writeWhole, type ArtifactCode } from '../claude/artifacts.ts';
import { runKey } from '../domain/bounded/run-id.ts';
import type { AttemptEnd, AttemptInput } from '../domain/run.ts';
import { readAttempts, type AttemptRow } from '../store/attempts.ts';
import { transaction } from '../store/database.ts';
import {
  findRun,
  findRunsByKey,
  isOpen,
  lockCycle,
  lockRun,
  RunLost,
  setPhase,
  untidyRuns,
  type RunRow,
} from '../store/runs.ts';
import { outputOf, runDirOf, targetOf, type HostRoom } from './host.ts';
import { metadataOf, recoveryOf } from './metadata.ts';

/**
 * Writes metadata.json and recovery.md of every attempt that has a directory, and removes what only a recovery needs.
 * Returns whether all of it is there; a disk that refuses is told, and tried again later.
 */
export async function writeArtifacts(room: HostRoom, id: string): Promise<boolean> {
  const run = await findRun(room.database, id);
  if (!run) return true;
  const attempts = await readAttempts(room.database, id);
  let whole = true;
  for (const attempt of attempts) {
    const recovery = recoveryOf(run, attempt);
    await room.database.query('UPDATE bounded_attempts SET recovery = $3 WHERE run = $1 AND attempt = $2', [
      id,
      attempt.attempt,
      recovery ?? null,
    ]);
    try {
      await writeAttempt(run, attempt, attempts, recovery);
    } catch (error) {
      if (!(error instanceof ArtifactError)) throw error;
      room.warn(`artifacts of bounded run ${run.run_id} are not complete`, error);
      whole = false;
    }
  }
  return whole;
}

async function writeAttempt(
  run: RunRow,
  attempt: AttemptRow,
  attempts: readonly AttemptRow[],
  recovery: string | undefined,
): Promise<void> {
  const folder = runDirOf(run, attempt.attempt);
  if (!(await exists(folder))) return;
  if (attempt.status !== 'running') {
    const checkpoint = path.join(folder, 'checkpoint.md');
    const written = await readFile(checkpoint, 'utf8').catch(() => undefined);
    if (written !== attempt.checkpoint) await writeWhole(checkpoint, attempt.checkpoint);
    await cutUnfinishedLine(path.join(folder, 'events.jsonl'));
  }
  if (recovery !== undefined) await writeRecovery(folder, recovery);
  else await rm(path.join(folder, 'recovery.md'), { force: true });
  await writeMetadata(folder, await metadataOf(run, attempt, attempts));
  if (attempt.status !== 'running') await removeRaw(folder);
}

/** What a full disk left behind the last whole line. */
async function cutUnfinishedLine(file: string): Promise<void> {
  const handle = await open(file, 'r+').catch(() => undefined);
  if (!handle) return;
  try {
    const { size } = await handle.stat();
    if (size === 0) return;
    const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
    if (buffer[0] === 0x0a) return;
    const bytes = await readFile(file);
    await handle.truncate(bytes.lastIndexOf(0x0a) + 1);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Temporary files of writers that were ended in mid-write: all in an attempt's directory, the plan's own beside it. */
async function removeDrafts(run: RunRow): Promise<void> {
  const output = outputOf(run);
  const drafts = [output, claimFile(output)].map((file) => `.${path.basename(file)}.`);
  const places = new Map([[path.dirname(output), (name: string) => drafts.some((draft) => name.startsWith(draft))]]);
  for (let attempt = 1; attempt <= run.attempts; attempt++) places.set(runDirOf(run, attempt), () => true);
  for (const [folder, isOurs] of places) {
    const names = await readdir(folder).catch(() => []);
    const left = names.filter((name) => name.endsWith('.tmp') && isOurs(name));
    for (const name of left) await rm(path.join(folder, name), { force: true });
  }
}

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

/** Creates the plan's file from the finished attempt; again changes nothing. */
export async function publish(room: HostRoom, input: AttemptInput): Promise<AttemptEnd> {
  try {
    const run = await transaction(room.database, async (tx) => {
      const row = await lockCycle(tx, input);
      await setPhase(tx, row, 'publishing');
      return row;
    });
    const attempt = (await readAttempts(room.database, run.id)).find((one) => one.attempt === input.attempt);
    if (attempt?.status !== 'succeeded') return { kind: 'failed', failure: 'protocol_error' };
    // A folder that was removed meanwhile is made again, but never the repository itself.
    await mkdir(path.dirname(await targetOf(run)), { recursive: true }).catch(() => undefined);
    await publishPlan(run.repo_path, run.output, attempt.checkpoint);
    await room.database.query('UPDATE bounded_attempts SET failure_detail = NULL WHERE run = $1 AND attempt = $2', [
      input.run,
      input.attempt,
    ]);
    await writeArtifacts(room, run.id);
    await releaseClaim(outputOf(run), run.run_id);
    return { kind: 'plan' };
  } catch (error) {
    if (error instanceof RunLost) return { kind: 'superseded' };
    if (error instanceof ArtifactError) return await unpublished(room, input, error);
    throw error;
  }
}

/** How to go on where the words of the artifact's own error are for a run that has not begun. */
const ways: Record<ArtifactCode, string> = {
  exists: 'Move that file away, then resume.',
  claimed: 'Wait for the end of that run, then resume.',
  outside: 'Put a folder of the repository back in its place, then resume.',
  disk_full: 'Then resume.',
  read_only: 'Then resume.',
  missing: 'Bring it back, then resume.',
  io: 'See to the disk, then resume.',
};

/**
 * The plan is kept in PostgreSQL, and in checkpoint.md where there was room; a resume publishes it and pays nothing.
 * Nothing of it is Claude's fault: the kind is `host_unavailable`, and the detail says what kept the file away.
 */
async function unpublished(room: HostRoom, input: AttemptInput, error: ArtifactError): Promise<AttemptEnd> {
  const kept = 'The plan is finished and kept in PostgreSQL, but its file could not be created';
  const after = 'The resume creates the file, starts no CLI and costs nothing.';
  const detail = `${kept}: ${error.message} ${ways[error.code]} ${after}`;
  await room.database.query('UPDATE bounded_attempts SET failure_detail = $3 WHERE run = $1 AND attempt = $2', [
    input.run,
    input.attempt,
    detail,
  ]);
  room.warn(detail);
  return { kind: 'failed', failure: 'host_unavailable' };
}

/** What tidying needs of the room beside the files. */
export interface Tidying {
  /** Ends what an attempt of an ended run may have left. */
  recover(run: string): Promise<void>;
  /** The run's working directory, if it got one, is needed no more. */
  forget(run: RunRow): Promise<void>;
}

const unreleased = 'giving a claim back failed';

/** Completes the directories of this computer's runs that have ended, and gives their claims back. */
export async function tidyRuns(room: HostRoom, { recover, forget }: Tidying): Promise<void> {
  for (const run of await untidyRuns(room.database, room.machine)) {
    await recover(run.id);
    const whole = await writeArtifacts(room, run.id);
    await transaction(room.database, async (tx) => {
      // Held meanwhile: a resume must not find its claim or its directory taken away.
      const row = await lockRun(tx, run.id);
      if (isOpen(row) || row.cycle !== run.cycle) return;
      // A rejected run frees its id: claim and directory may be those of the next one by now.
      const [heir] = await findRunsByKey(tx, runKey(run.run_id), run.alias);
      const isLast = !heir || heir.id === run.id;
      if (isLast) await releaseClaim(outputOf(run), run.run_id).catch((error: unknown) => room.warn(unreleased, error));
      if (isLast && run.attempts === 0) await rmdir(runDirOf(run, 1)).catch(() => undefined);
      if (run.status === 'succeeded' || run.status === 'rejected' || run.attempts === 0) await forget(run);
      await removeDrafts(run).catch((error: unknown) => room.warn('removing temporary files failed', error));
      if (whole) await tx.query('UPDATE bounded_runs SET artifacts_done = true WHERE id = $1', [run.id]);
    });
  }
}

/** At a worker's start: directories of this computer's repositories that have no metadata, of runs that have ended. */
export async function completeOrphans(room: HostRoom): Promise<void> {
  const repositories = await room.database.query<{ path: string; alias: string }>(
    'SELECT path, alias FROM repositories WHERE machine = $1 ORDER BY alias',
    [room.machine],
  );
  for (const { path: repo, alias } of repositories) {
    const work = completeOrphanedRuns(repo, async ({ runId, attempt }) => {
      const [run] = await findRunsByKey(room.database, runKey(runId), alias);
      if (!run || isOpen(run)) return undefined;
      const attempts = await readAttempts(room.database, run.id);
      const known = attempts.find((one) => one.attempt === attempt);
      if (!known || known.status === 'running') return undefined;
      const recovery = recoveryOf(run, known);
      return { metadata: await metadataOf(run, known, attempts), ...(recovery === undefined ? {} : { recovery }) };
    });
    await work.catch((error: unknown) => room.warn(`completing the runs of ${alias} failed`, error));
  }
}

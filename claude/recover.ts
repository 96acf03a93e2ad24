// The outcome of an attempt whose worker was lost, from what its guard stored (spec: bounded-claude 4).

import { createReadStream } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { createEventReader } from '../domain/bounded/events.ts';
import { isFailureKind } from '../domain/bounded/failures.ts';
import { Checkpoint, EventLog } from './attempt-files.ts';
import { guardFiles, killMs, type GuardExit, type GuardFile } from './guard-protocol.ts';
import { keepOutcome, keptOutcome, outcomeOf, readerOptions, retryAfter, type EndCause } from './outcome.ts';
import { bootId, isRunning, killAll, tryKill, within } from './proc.ts';
import type { AttemptOutcome, LostAttempt } from './types.ts';
import { createFile } from './whole-file.ts';

const workerLost: EndCause = { kind: 'worker_lost', detail: 'The worker that supervised the CLI was lost.' };

/**
 * Makes sure that guard and group are gone, then judges what the guard stored. A finished plan is a success, whoever
 * was lost after it; what ended by itself, or by a recorded cause, keeps its kind; everything else is `cause`. Again
 * gives the same.
 * Undefined: no CLI was ever started, nothing was paid.
 */
export async function recoverAttempt(attempt: LostAttempt, cause = workerLost): Promise<AttemptOutcome | undefined> {
  const kept = await keptOutcome(attempt.runDir);
  if (kept) return kept;
  const guard = await readGuard(attempt.runDir);
  if (!guard || isSeal(guard)) return undefined;
  const warnings = await endGroup(guard);
  const exit = await readJson<GuardExit>(path.join(attempt.runDir, guardFiles.exit));
  const outcome = await replay(attempt, guard, exit, cause, warnings);
  if (outcome) await keepOutcome(attempt.runDir, outcome);
  else await rm(path.join(attempt.runDir, guardFiles.guard));
  return outcome;
}

/** A guard that never was. */
const seal: GuardFile = { boot_id: '', pid: 0, start_time: '', group: null, attempt: 0, marker: 'sealed' };

const isSeal = (guard: GuardFile): boolean => guard.pid === 0 && guard.group === null;

/**
 * No CLI was started for this attempt; from now on none can be: a guard refuses where its file is there already. A
 * worker that was stopped at the worst moment and wakes later starts nothing. Again changes nothing. False: a guard
 * came first. Throws where the disk refuses, unless no guard could write there either.
 */
export async function sealAttempt(runDir: string): Promise<boolean> {
  try {
    if (createFile(path.join(runDir, guardFiles.guard), `${JSON.stringify(seal)}\n`)) return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EROFS') return true;
    throw error;
  }
  const guard = await readGuard(runDir);
  return guard !== undefined && isSeal(guard);
}

/**
 * Undefined: no guard has begun. A file that can't be read, as after a damage of the disk, is one of a guard that may
 * have paid and is gone.
 */
async function readGuard(runDir: string): Promise<GuardFile | undefined> {
  try {
    return JSON.parse(await readFile(path.join(runDir, guardFiles.guard), 'utf8')) as GuardFile;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : { ...seal, group: 0, marker: '' };
  }
}

/** A guard of another boot is gone with its group. */
async function endGroup(guard: GuardFile): Promise<string[]> {
  if (guard.pid === 0 || guard.boot_id !== bootId()) return [];
  const gone = (): boolean => !isRunning(guard.pid, guard.start_time);
  if (!gone()) {
    // It ends its group at once, stores the exit and leaves.
    tryKill(guard.pid, 'SIGTERM');
    if (!(await within(killMs + 5_000, gone))) {
      tryKill(guard.pid, 'SIGKILL');
      await within(2_000, gone);
    }
  }
  const left = await killAll(0, guard.marker);
  return left.length > 0 ? [`The kernel did not let go of process ${left.join(', ')}.`] : [];
}

async function replay(
  attempt: LostAttempt,
  guard: GuardFile,
  exit: GuardExit | undefined,
  cause: EndCause,
  warnings: string[],
): Promise<AttemptOutcome | undefined> {
  const warn = (warning: string): void => void warnings.push(warning);
  const reader = createEventReader(readerOptions(attempt));
  const log = new EventLog(attempt.runDir, warn);
  let retryAfterMs: number | undefined;
  let bytes = 0;
  const take: Parameters<typeof reader.push>[1] = (fact) => {
    if (fact.kind === 'event') log.add(fact.envelope, undefined);
    retryAfterMs = retryAfter(fact, Date.now()) ?? retryAfterMs;
  };
  try {
    for await (const chunk of createReadStream(path.join(attempt.runDir, guardFiles.stdout))) {
      bytes += (chunk as Buffer).length;
      reader.push(chunk as Buffer, take);
      log.flush();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  if (!exit && bytes === 0 && guard.group === null) return undefined;
  // A line that the loss cut off is no fault of the CLI.
  if (exit) reader.end(take);
  log.close();
  const ended = exit ?? { code: null, signal: null, stderr_tail: '', duration_ms: 0 };
  const known = retryAfterMs === undefined ? {} : { retryAfterMs };
  const outcome = await outcomeOf(reader, { ended, cause: causeOf(exit, cause), warnings, ...known });
  await new Checkpoint(attempt.runDir, (warning) => outcome.warnings.push(warning)).write(outcome.text);
  return outcome;
}

/** A cause that was recorded before the first signal stays, also where the worker was lost after it. */
export function causeOf(exit: GuardExit | undefined, otherwise: EndCause): EndCause | undefined {
  if (!exit) return otherwise;
  if (exit.cause === null) return exit.stored === exit.bytes ? undefined : otherwise;
  const { kind, detail } = exit.cause;
  return kind === 'lingered' || kind === 'interrupted' || (isFailureKind(kind) && kind !== 'worker_lost')
    ? { kind, detail }
    : otherwise;
}

async function readJson<T>(file: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as T;
  } catch {
    return undefined;
  }
}

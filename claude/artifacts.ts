// What a bounded run leaves in the repository: directory, metadata, recovery, claim, plan (spec: bounded-claude 7).

import { randomUUID } from 'node:crypto';
import {
  access,
  constants,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  statfs,
} from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export type ArtifactCode = 'exists' | 'claimed' | 'outside' | 'disk_full' | 'read_only' | 'missing' | 'io';

/** An artifact can't be written: what, where and how to mend it. `code` says which kind. */
export class ArtifactError extends Error {
  override readonly name = 'ArtifactError';
  readonly code: ArtifactCode;

  constructor(code: ArtifactCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** Bytes that must be free before the CLI starts: what one attempt writes, with room to spare. */
export const neededBytes = 64 * 1024 * 1024;

/** The directory's name of an attempt: the run's id, from the second attempt on with `.r<attempt>`. */
export const runDirName = (runId: string, attempt: number): string => (attempt > 1 ? `${runId}.r${attempt}` : runId);

/**
 * Creates the directory of an attempt, mode 0700, and returns its absolute path.
 * @throws ArtifactError exists (a run has the id, whatever its case), outside, disk_full, read_only, missing
 */
export async function createRunDir(repo: string, runId: string, attempt = 1, needed = neededBytes): Promise<string> {
  const name = runDirName(runId, attempt);
  const runs = await partnerFolder(repo, 'runs');
  await assertSpace(runs, needed);
  await assertNewName(runs, name);
  const folder = path.join(runs, name);
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw taken(runs, name);
    throw told(error, folder);
  }
  await syncFolder(runs);
  return folder;
}

const taken = (runs: string, name: string): ArtifactError => {
  const why = `A run "${name}" is in ${runs} already; nothing is overwritten.`;
  return new ArtifactError('exists', `${why} Choose another --run-id.`);
};

/** No run has the name, whatever its case. */
async function assertNewName(runs: string, name: string): Promise<void> {
  const twin = (await readdir(runs).catch(() => [])).find((one) => one.toLowerCase() === name.toLowerCase());
  if (twin !== undefined) throw taken(runs, twin);
}

export interface Foreseen {
  /** Undefined: one will be made that is new. */
  runId?: string | undefined;
  /** Relative to the repository; undefined: its name will be new, or it is a run that goes on. */
  plan?: string | undefined;
  /** Relative to the repository: what it will write in. */
  folders: readonly string[];
  /** Whether a run that claims the plan is known to be open; nobody knows: its claim is not looked at. */
  isOpen?: (runId: string) => Promise<boolean>;
}

/**
 * What would keep a run from writing its artifacts and its plan, as far as the file system tells; creates nothing.
 */
export async function foresee(repo: string, { runId, plan, folders, isOpen }: Foreseen): Promise<ArtifactError[]> {
  const found: ArtifactError[] = [];
  const attempt = async (work: () => Promise<void>): Promise<void> =>
    work().catch((error: unknown) => {
      if (!(error instanceof ArtifactError)) throw error;
      if (!found.some(({ message }) => message === error.message)) found.push(error);
    });
  for (const folder of folders) await attempt(async () => assertFolder(await assertInside(repo, folder)));
  if (plan !== undefined) {
    await attempt(async () => {
      const file = await assertInside(repo, plan);
      await assertUnwritten(file);
      const owner = await ownerOf(claimFile(file)).catch(() => undefined);
      if (owner && owner !== runId && (await isOpen?.(owner))) throw claimed(owner, file);
      await assertFolder(path.dirname(file));
    });
  }
  if (runId !== undefined) await attempt(() => assertNewName(path.join(repo, '.partner', 'runs'), runId));
  return found;
}

async function assertFolder(folder: string): Promise<void> {
  const at = await deepest(folder);
  if (!(await stat(at)).isDirectory()) throw new ArtifactError('io', blockedText(folder, at));
  await assertSpace(at);
}

/** The folder, or the deepest one above it that exists. */
async function deepest(folder: string): Promise<string> {
  for (let at = folder; ; at = path.dirname(at)) {
    if ((await exists(at)) || at === path.dirname(at)) return at;
  }
}

async function assertUnwritten(output: string): Promise<void> {
  if (!(await exists(output))) return;
  const how = 'Move it away, or choose another --output.';
  throw new ArtifactError('exists', `${output} exists already; a plan is never overwritten. ${how}`);
}

/**
 * Free space and the right to write, told before anything is paid.
 * @throws ArtifactError disk_full, read_only, missing
 */
export async function assertSpace(folder: string, needed = neededBytes): Promise<void> {
  try {
    await access(folder, constants.W_OK);
    const { bavail, bsize } = await statfs(folder);
    if (bavail * bsize >= needed) return;
    const mega = (bytes: number): number => Math.floor(bytes / 1024 / 1024);
    const free = `${folder} has ${mega(bavail * bsize)} MiB free, a run needs ${mega(needed)} MiB.`;
    throw new ArtifactError('disk_full', `${free} Free some space first.`);
  } catch (error) {
    throw told(error, folder);
  }
}

/** `.partner/runs` or `.partner/plans` of a repository, created if need be; neither may be a link that leads out. */
export async function partnerFolder(repo: string, name: 'runs' | 'plans'): Promise<string> {
  const folder = await assertInside(repo, path.join('.partner', name));
  await makeFolder(folder);
  return folder;
}

/** @throws ArtifactError */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (error) {
    // Of several folders that are missing on a file system that refuses, the system says only that they are missing.
    await access(await deepest(folder), constants.W_OK).catch((why: unknown) => {
      throw told(why, folder);
    });
    throw told(error, folder);
  }
}

/**
 * The absolute path of `output` (relative to the repository), if it lies inside with every link resolved, and is itself
 * no link.
 * @throws ArtifactError outside, missing (no such repository)
 */
export async function assertInside(repo: string, output: string): Promise<string> {
  const root = await realpath(repo).catch((error: unknown) => {
    throw told(error, repo);
  });
  const wanted = path.resolve(root, output);
  const how = /^\.partner\/(?:runs|plans)\b/.test(path.relative(root, wanted))
    ? 'Replace the symbolic link by a folder of its own.'
    : 'Choose a path inside of it.';
  const outside = new ArtifactError('outside', `${output} leads out of the repository ${root}. ${how}`);
  const from = (await isLink(wanted)) ? undefined : await resolved(wanted);
  if (from === undefined || !isWithin(root, from)) throw outside;
  return from;
}

/**
 * The path with the links of its deepest existing folder resolved; undefined: a link on the way leads nowhere.
 * @throws ArtifactError io: a file is where a folder is needed
 */
async function resolved(wanted: string): Promise<string | undefined> {
  const rest: string[] = [];
  let blocked = false;
  for (let at = wanted; ; at = path.dirname(at)) {
    try {
      const real = await realpath(at);
      if (blocked) throw new ArtifactError('io', blockedText(wanted, at));
      return path.join(real, ...rest);
    } catch (error) {
      if (error instanceof ArtifactError) throw error;
      const code = codeOf(error);
      if ((code !== 'ENOENT' && code !== 'ENOTDIR') || (await isLink(at))) return undefined;
      blocked ||= code === 'ENOTDIR';
      rest.unshift(path.basename(at));
    }
  }
}

const blockedText = (wanted: string, at: string): string =>
  `${wanted} can't be written: ${at} is a file where a folder is needed. ` +
  (path.basename(at) === '.partner' || /\/\.partner\/(?:runs|plans)\b/.test(wanted)
    ? 'Move that file away.'
    : 'Move that file away, or choose another --output.');

const isLink = async (file: string): Promise<boolean> =>
  lstat(file).then(
    (found) => found.isSymbolicLink(),
    () => false,
  );

const isWithin = (root: string, file: string): boolean => {
  const relative = path.relative(root, file);
  return relative !== '' && relative !== '..' && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative);
};

/** Writes a file whole or not at all: temporary file, fsync, rename, mode 0600. @throws ArtifactError */
export async function writeWhole(file: string, text: string): Promise<void> {
  try {
    await rename(await draft(file, text), file);
    await syncFolder(path.dirname(file));
  } catch (error) {
    throw told(error, file);
  }
}

async function draft(file: string, text: string): Promise<string> {
  const name = path.join(path.dirname(file), `.${path.basename(file)}.${randomUUID().slice(0, 8)}.tmp`);
  const handle = await open(name, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } catch (error) {
    await rm(name, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
  return name;
}

/** `metadata.json` of a run's directory. Replaced only to name a later attempt. @throws ArtifactError */
export async function writeMetadata(runDir: string, metadata: object): Promise<void> {
  await writeWhole(path.join(runDir, 'metadata.json'), `${JSON.stringify(metadata, null, 2)}\n`);
}

/** `recovery.md` of a run's directory. @throws ArtifactError */
export async function writeRecovery(runDir: string, text: string): Promise<void> {
  await writeWhole(path.join(runDir, 'recovery.md'), text);
}

/** The claim file beside a plan; without case, so that `Plan.md` and `plan.md` are one. */
export const claimFile = (output: string): string =>
  path.join(path.dirname(output), `.${path.basename(output).toLowerCase()}.claim`);

/**
 * Takes the right to write a plan, before anything is paid; again for the same run changes nothing. A claim whose run
 * has ended, as `hasEnded` tells, is stale and replaced.
 * @throws ArtifactError claimed (by which run), exists (the plan), disk_full, read_only
 */
export async function claimPlan(
  output: string,
  runId: string,
  hasEnded: (runId: string) => Promise<boolean>,
): Promise<void> {
  const claim = claimFile(output);
  try {
    await makeFolder(path.dirname(output));
    await locked(claim, async () => {
      const owner = await ownerOf(claim);
      if (owner === runId) return;
      await assertUnwritten(output);
      if (owner !== undefined && !(await hasEnded(owner))) {
        throw claimed(owner, output);
      }
      await writeWhole(claim, `${JSON.stringify({ run_id: runId })}\n`);
    });
  } catch (error) {
    throw told(error, output);
  }
}

const claimed = (owner: string, output: string): ArtifactError => {
  const how = `Wait for its end, cancel it (\`partner cancel ${owner}\`), or choose another --output.`;
  return new ArtifactError('claimed', `Run "${owner}" is about to write ${output}. ${how}`);
};

/** Gives the claim back, if the run has it. */
export async function releaseClaim(output: string, runId: string): Promise<void> {
  const claim = claimFile(output);
  if ((await ownerOf(claim)) !== runId) return;
  await locked(claim, async () => {
    if ((await ownerOf(claim)) === runId) await rm(claim, { force: true });
  });
}

async function ownerOf(claim: string): Promise<string | undefined> {
  try {
    const { run_id: owner } = JSON.parse(await readFile(claim, 'utf8')) as { run_id?: unknown };
    return typeof owner === 'string' ? owner : '';
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    if (error instanceof SyntaxError) return '';
    throw error;
  }
}

const lockStaleMs = 10_000;
/** Longer than a lock that was left by a crash counts, whatever the clock says. */
const lockWaitMs = 15_000;

/** A short critical section between processes: a lock file beside the claim; one left by a crash counts for 10 s. */
async function locked<T>(claim: string, work: () => Promise<T>): Promise<T> {
  const lock = `${claim}.lock`;
  const until = performance.now() + lockWaitMs;
  for (;;) {
    try {
      await (await open(lock, 'wx', 0o600)).close();
      break;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      if (performance.now() > until) {
        throw new ArtifactError('io', `${lock} is held by another process. Remove it if no run starts at this moment.`);
      }
      const { mtimeMs } = await stat(lock).catch(() => ({ mtimeMs: Date.now() }));
      if (Math.abs(Date.now() - mtimeMs) > lockStaleMs) await rm(lock, { force: true });
      else await sleep(20);
    }
  }
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

/**
 * Creates the plan by link: of two that race exactly one wins. Again with the same text changes nothing.
 * @throws ArtifactError exists (another text), outside (a folder became a link that leads out), disk_full, read_only
 */
export async function publishPlan(repo: string, output: string, text: string): Promise<void> {
  const file = await assertInside(repo, output);
  let temporary: string | undefined;
  try {
    temporary = await draft(file, text);
    await link(temporary, file);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw told(error, file);
    if ((await readFile(file, 'utf8').catch(() => undefined)) !== text) {
      throw new ArtifactError(
        'exists',
        `${file} exists already; a plan is never overwritten. The text is in checkpoint.md.`,
      );
    }
  } finally {
    if (temporary !== undefined) await rm(temporary, { force: true });
  }
  await syncFolder(path.dirname(file));
}

/** A run's directory without metadata. */
export interface OrphanedRun {
  path: string;
  runId: string;
  attempt: number;
}

/**
 * Completes directories whose run ended without metadata, from what `tell` knows of it (undefined: it still runs, or
 * belongs to nobody known: left alone). Returns the completed directories.
 */
export async function completeOrphanedRuns(
  repo: string,
  tell: (run: OrphanedRun) => Promise<{ metadata: object; recovery?: string } | undefined>,
): Promise<string[]> {
  const runs = await partnerFolder(repo, 'runs');
  const completed: string[] = [];
  for (const entry of await readdir(runs, { withFileTypes: true })) {
    const folder = path.join(runs, entry.name);
    if (!entry.isDirectory() || (await exists(path.join(folder, 'metadata.json')))) continue;
    const [, runId = entry.name, attempt = '1'] = /^(.+)\.r(\d+)$/.exec(entry.name) ?? [];
    const known = await tell({ path: folder, runId, attempt: Number(attempt) });
    if (!known) continue;
    if (known.recovery !== undefined) await writeRecovery(folder, known.recovery);
    await writeMetadata(folder, known.metadata);
    await removeRaw(folder);
    completed.push(folder);
  }
  return completed;
}

/** Removes what only a recovery needs, once a run's artifacts are complete: raw output, outcome, the guard's files. */
export async function removeRaw(runDir: string): Promise<void> {
  for (const name of ['stdout.jsonl', 'exit.json', 'guard.json', 'outcome.json'])
    await rm(path.join(runDir, name), { force: true });
}

const exists = async (file: string): Promise<boolean> =>
  lstat(file).then(
    () => true,
    () => false,
  );

export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException | undefined)?.code;

/** What the file system's error means for whoever wants the file written, and how to mend it. */
export function told(error: unknown, file: string): ArtifactError {
  if (error instanceof ArtifactError) return error;
  const code = codeOf(error);
  const failed = (kind: ArtifactCode, why: string): ArtifactError => new ArtifactError(kind, why, error);
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return failed('disk_full', `The disk that holds ${file} is full. Free some space.`);
    case 'EROFS': {
      const how = 'Make it writable, or use a copy of the repository elsewhere.';
      return failed('read_only', `${file} can't be written: its file system is read-only. ${how}`);
    }
    case 'EACCES':
    case 'EPERM':
      return failed('read_only', `${file} can't be written by this user. Give the right to write.`);
    case 'ENOENT':
      return failed('missing', `${file} does not exist.`);
    case 'ENOTDIR':
    case 'EEXIST':
      return failed('io', `${file} can't be written: a file is where a folder is needed. Move that file away.`);
    default:
      return failed('io', `${file} can't be written (${code ?? 'unknown error'}).`);
  }
}

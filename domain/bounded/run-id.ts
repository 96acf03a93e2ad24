// Names of runs and of their attempts (spec: bounded-claude 1 and 7).

import { invalid } from '../errors.ts';

/** Most characters of a run id. */
export const maxRunIdCharacters = 80;

/**
 * Checks a run id: letters, digits, dot, underscore and hyphen, at most 80, the first a letter or a digit, no `..`, not
 * ending in a dot or in `.r<digits>`, which names attempts. Throws `invalid_argument`. Returns it as written.
 */
export function parseRunId(id: string): string {
  const problem = runIdProblem(id);
  if (problem) throw invalid(`The run id is refused: ${problem}.`);
  return id;
}

/** What is wrong with a run id and how to mend it; undefined when nothing is. */
export function runIdProblem(id: string): string | undefined {
  if (id === '') return 'it is empty; leave it out to have one made';
  if (id.length > maxRunIdCharacters) {
    return `it has ${id.length} characters; at most ${maxRunIdCharacters} are allowed`;
  }
  if (!/^[A-Za-z0-9]/.test(id)) return 'it must begin with a letter or a digit';
  if (!/^[A-Za-z0-9._-]+$/.test(id)) return 'only letters A to Z, digits, dot, underscore and hyphen are allowed';
  if (id.includes('..')) return 'it must not contain `..`';
  if (id.endsWith('.')) return 'it must not end in a dot';
  if (/\.r\d+$/i.test(id)) return 'it must not end in `.r` and digits, which name the attempts of a run';
  return undefined;
}

/** Two run ids are the same run when their keys are equal: they are compared without case. */
export const runKey = (id: string): string => id.toLowerCase();

/** The directory of an attempt: the run id, then `<run-id>.r2`, `.r3`. Attempts count from 1. */
export const attemptName = (id: string, attempt: number): string => (attempt === 1 ? id : `${id}.r${attempt}`);

/** Run id and attempt of a directory's name. */
export function readAttemptName(name: string): { id: string; attempt: number } {
  const match = /^(.+)\.r([1-9]\d*)$/i.exec(name);
  if (!match) return { id: name, attempt: 1 };
  return { id: match[1]!, attempt: Number(match[2]) };
}

/** A run id for who gave none: `plan-20261130-120755-1a2b3c`, from an ISO time and six hexadecimal digits. */
export function makeRunId(isoTime: string, random: string): string {
  const digits = isoTime.replace(/\D/g, '').slice(0, 14);
  return parseRunId(`plan-${digits.slice(0, 8)}-${digits.slice(8)}-${random.slice(0, 6)}`);
}

/** Where a plan goes without `--output`, relative to the repository. */
export const planPath = (id: string): string => `.partner/plans/${id}.md`;

/** Where an attempt's artifacts are, relative to the repository. */
export const runPath = (id: string, attempt = 1): string => `.partner/runs/${attemptName(id, attempt)}`;

/**
 * An `--output` path as far as its text goes: inside the repository, no directory, nothing of git's, and of `.partner`
 * only what lies in `plans`: a plan must never become a configuration. Compared without case, as some disks do.
 * Symbolic links are checked where files are. Both paths absolute or `output` relative to `repo`; returns the path
 * relative to the repository. Throws `invalid_argument`.
 */
export function parseOutputPath(output: string, repo: string): string {
  const refuse = (why: string): never => {
    throw invalid(`--output is refused: ${why}. Name a file inside the repository, such as docs/plan.md.`);
  };
  if (output.trim() === '' || /[\0-\x1f\x7f]/.test(output)) return refuse('it is empty or holds control characters');
  if (output.includes('\\')) return refuse('it holds a backslash');
  if (/(?:^|\/)\.{0,2}$/.test(output)) return refuse('it names a directory');
  const root = segments(repo);
  const target = output.startsWith('/') ? segments(output) : segments(`${repo}/${output}`);
  if (!root || !target || target.length <= root.length || root.some((segment, index) => segment !== target[index])) {
    return refuse('it leads out of the repository');
  }
  const inside = target.slice(root.length);
  const folded = inside.map(fold);
  if (folded.includes('.git')) return refuse("it lies in git's own directory");
  if (folded[0] === '.partner' && (folded[1] !== 'plans' || folded.length < 3)) {
    return refuse('of .partner only files in .partner/plans may be written');
  }
  return inside.join('/');
}

/** A name as a disk may compare it: without case, compatibility forms, ignorable characters, dots and blanks behind. */
const fold = (segment: string): string =>
  segment
    .normalize('NFKC')
    .replace(/[\p{Cf}\p{DI}]/gu, '')
    .toLowerCase()
    .replace(/[. ]+$/, '');

/** The parts of an absolute path with `.` and `..` resolved; undefined when it climbs above the root. */
function segments(path: string): string[] | undefined {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return undefined;
  }
  return parts;
}

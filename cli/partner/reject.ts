// How a `partner` command ends when it does not end well: rejected, failed, cancelled (spec: bounded-claude 1).

import { errorCode } from '../../client/index.ts';
import { CliError } from '../../claude/index.ts';
import { DomainError } from '../../domain/errors.ts';
import { clean, UsageError } from '../print.ts';

/** created: the plan is there; failed: recovery.md tells how to go on; broken: the command itself could not go on. */
export const exitCodes = { created: 0, broken: 1, rejected: 2, failed: 4, cancelled: 130 } as const;

/** One thing that is wrong: what, where, and how to mend it. Never a secret's value. */
export interface Fault {
  code: string;
  message: string;
  path?: string;
  /** 1-based. */
  line?: number;
  column?: number;
}

/** Rejected before anything was paid or written, with all that is wrong. The process exits with 2. */
export class Rejection extends Error {
  override readonly name = 'Rejection';
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(faults.map(faultText).join('\n'));
    this.faults = faults;
  }
}

export const reject = (code: string, message: string): Rejection => new Rejection([{ code, message }]);

/** `file:line: message` where the place is known and the message does not begin with it. */
export function faultText({ path, line, message }: Fault): string {
  const place = path === undefined ? '' : line === undefined ? `${path}: ` : `${path}:${line}: `;
  return place === '' || (path && message.startsWith(path)) ? clean(message) : clean(`${place}${message}`);
}

/** A sentence for what a file system refused. */
export function whyNot(error: unknown): string {
  const { code = 'unknown error' } = error as NodeJS.ErrnoException;
  const known: Readonly<Record<string, string>> = {
    ENOTDIR: 'a file is where a folder is needed.',
    EEXIST: 'a file is where a folder is needed.',
    EROFS: 'its file system is read-only.',
    ENOSPC: 'the disk is full.',
    EDQUOT: 'the disk is full.',
    EACCES: 'this user has no right to write there.',
    EPERM: 'this user has no right to write there.',
  };
  return known[code] ?? `${code}.`;
}

/** What an error rejects, when it is one that rejects: a wrong call, an answer of the API that refuses. */
export function faultsOf(error: unknown): readonly Fault[] | undefined {
  if (error instanceof Rejection) return error.faults;
  const { message } = error instanceof Error ? error : { message: '' };
  if (error instanceof CliError) return [{ code: 'claude_cli', message }];
  if (error instanceof UsageError) return [{ code: 'usage', message }];
  if (error instanceof DomainError) return [{ code: error.code, message }];
  const code = errorCode(error);
  return code === undefined || passing.has(code) ? undefined : [{ code, message }];
}

const passing = new Set(['unavailable', 'internal', 'unreachable', 'timeout', 'lost', 'closed', 'http']);

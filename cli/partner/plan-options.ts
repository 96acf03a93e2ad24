// The options of `partner plan` as they were typed, and what they say: what is wrong is told with all other problems
// (spec: bounded-claude 1).

import { hosts, roles } from '../../domain/bounded/identity.ts';
import { cleanLine } from '../print.ts';
import { nearest } from './nearest.ts';
import { quoted } from './repo.ts';
import type { Fault } from './reject.ts';
import type { PlanOptions } from './request.ts';

const numbers = ['resumeAttempts', 'maxBudgetUsd', 'maxInputChars', 'wallTimeout', 'idleTimeout'] as const;
type Numbers = (typeof numbers)[number];
type Others = Omit<PlanOptions, Numbers | 'host' | 'role' | 'packet'>;

export interface TypedOptions extends Others, Partial<Record<Numbers | 'repo' | 'host' | 'role' | 'packet', string>> {
  /** Arguments that belong to no option, and options that there are not. */
  unknown?: readonly string[];
  /** Names of all options, with their dashes. */
  known?: readonly string[];
}

export const flag = (name: string): string => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** Undefined where a required option is missing or wrong; each wrong one is added to those found. */
export function readOptions(typed: TypedOptions, found: Fault[]): Partial<PlanOptions> {
  const { repo: _repo, host, role, unknown = [], known = [], ...others } = typed;
  found.push(...unknownFaults(unknown, known));
  const [hostRead, roleRead] = [oneOf('host', host, hosts, found), oneOf('role', role, roles, found)];
  if (others.packet === undefined) {
    const message =
      others.resume === undefined
        ? '--packet FILE is missing; it is required ("partner packet init" makes a packet to fill).'
        : '--packet FILE is missing; a resume needs it too: the packet that the run began with. ' +
          `The whole command is in its recovery.md: partner artifacts ${quoted(others.resume)} recovery.md`;
    found.push({ code: 'usage', message });
  }
  const { resumeAttempts: _1, maxBudgetUsd: _2, maxInputChars: _3, wallTimeout: _4, idleTimeout: _5, ...rest } = others;
  const read: Partial<Record<Numbers, number>> = {};
  for (const name of numbers) {
    const text = typed[name];
    if (text === undefined) continue;
    const value = /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
    const message = `${flag(name)} is refused: "${shown(text)}" is none. A number is needed.`;
    if (Number.isFinite(value)) read[name] = value;
    else found.push({ code: 'usage', message });
  }
  return { ...rest, ...read, ...(hostRead ? { host: hostRead } : {}), ...(roleRead ? { role: roleRead } : {}) };
}

function oneOf<T extends string>(
  name: string,
  text: string | undefined,
  values: readonly T[],
  found: Fault[],
): T | undefined {
  const value = values.find((each) => each === text);
  if (value !== undefined) return value;
  const given = text === undefined ? 'is missing; it is required' : `is refused: "${shown(text)}" is not known`;
  const near = text === undefined ? undefined : nearest(text, values);
  const hint = near === undefined ? '' : ` Did you mean ${near}?`;
  found.push({ code: 'usage', message: `--${name} ${given}. Give one of ${values.join(', ')}.${hint}` });
  return undefined;
}

function unknownFaults(unknown: readonly string[], known: readonly string[]): Fault[] {
  const options = unknown.filter((each) => each.startsWith('-')).map((each) => each.split('=')[0] ?? each);
  // What follows an unknown option is most likely its value.
  const named = options.length > 0 ? options : unknown;
  return named.map((each) => {
    const near = nearest(each, known);
    const hint = near === undefined ? '"partner plan --help" names all.' : `Did you mean ${near}?`;
    const what = each.startsWith('-') ? 'unknown option' : 'unknown argument';
    return { code: 'usage', message: `${what} "${shown(each)}": leave it out. ${hint}` };
  });
}

const shown = (text: string): string => cleanLine(text, 60);

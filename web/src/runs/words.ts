// Words for what a run's wire names, and its times and costs as people read them. Pure.

import type { FailureKind } from '../../../domain/bounded/failures.ts';
import type { Host, Role } from '../../../domain/bounded/identity.ts';
import { budgetLeft } from '../../../domain/bounded/limits.ts';
import type { Run, RunDetails } from '../../../client/index.ts';

export type { FailureKind, Host, Role };
export type Status = Run['status'];

export const statuses = [
  'pending',
  'running',
  'succeeded',
  'failed',
  'cancelled',
  'rejected',
] as const satisfies readonly Status[];

export const statusWords: Record<Status, string> = {
  pending: 'Starting',
  running: 'Running',
  succeeded: 'Plan created',
  failed: 'Failed',
  cancelled: 'Cancelled',
  rejected: 'Rejected',
};

export const statusTones: Record<Status, string | false> = {
  pending: 'badge-accent',
  running: 'badge-accent',
  succeeded: 'badge-good',
  failed: 'badge-bad',
  cancelled: false,
  rejected: 'badge-warn',
};

const roleNames: Record<Role, string> = {
  deep_reasoner: 'Deep reasoner',
  fast_worker: 'Fast worker',
  arbiter: 'Arbiter',
};

const hostNames: Record<Host, string> = { claude_code: 'Claude Code', codex: 'Codex' };

export const roles = Object.keys(roleNames) as Role[];
export const hosts = Object.keys(hostNames) as Host[];

export const roleWords = (role: string): string => (roleNames as Record<string, string>)[role] ?? role;
export const hostWords = (host: string): string => (hostNames as Record<string, string>)[host] ?? host;

export const isOpen = ({ status }: Pick<Run, 'status'>): boolean => status === 'pending' || status === 'running';

/** "0.12 USD"; less than a cent with four places. */
export function money(usd: number): string {
  return `${usd > 0 && usd < 0.01 ? usd.toFixed(4) : usd.toFixed(2)} USD`;
}

export function costWords({ cost_usd, cost_estimated }: Pick<Run, 'cost_usd' | 'cost_estimated'>): string {
  return cost_estimated ? `about ${money(cost_usd)}` : money(cost_usd);
}

/** "0:42", "12:03", "1:02:03". */
export function clock(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1_000));
  const two = (number: number): string => String(number).padStart(2, '0');
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

/** A limit in seconds, as a clock. */
export const limitClock = ({ limits }: Pick<RunDetails, 'limits'>, name: keyof RunDetails['limits']): string =>
  clock(limits[name] * 1_000);

const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always', style: 'short' });

/** "3 min. ago", "2 days ago", "just now". */
export function ageWords(milliseconds: number): string {
  const [unit, length] = units.find(([, size]) => milliseconds >= size) ?? [];
  return unit ? relative.format(-Math.floor(milliseconds / length), unit) : 'just now';
}

export type Resumable = { yes: true; left: number } | { yes: false; why: string };

/** Whether a person may let the run go on, and what it may spend then, in USD; undefined: that is no question. */
export function resumable(run: Pick<Run, 'status' | 'budget_usd' | 'cost_usd'>): Resumable | undefined {
  if (run.status !== 'failed' && run.status !== 'cancelled') return undefined;
  const left = budgetLeft(run.budget_usd, run.cost_usd);
  if (left !== undefined) return { yes: true, left };
  const spent = `${money(run.cost_usd)} of ${money(run.budget_usd)} are spent`;
  return { yes: false, why: `${spent}: too little is left for a resume. Start a new run with this packet.` };
}

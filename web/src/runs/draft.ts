// A run before it is started: what was typed, and what is sent of it. Pure.

import type { NewRun, RunDetails } from '../../../client/index.ts';
import type { Host, Role } from '../../../domain/bounded/identity.ts';

/** Numbers as they were typed; '' takes the default. */
export interface RunDraft {
  packet: string;
  repo: string;
  host: Host;
  role: Role;
  run_id: string;
  output: string;
  max_budget_usd: string;
  max_input_chars: string;
  wall_timeout: string;
  idle_timeout: string;
  resume_attempts: string;
  allow_unverified: boolean;
  demo: boolean;
}

export const emptyDraft: RunDraft = {
  packet: '',
  repo: '',
  host: 'codex',
  role: 'deep_reasoner',
  run_id: '',
  output: '',
  max_budget_usd: '',
  max_input_chars: '',
  wall_timeout: '',
  idle_timeout: '',
  resume_attempts: '',
  allow_unverified: false,
  demo: false,
};

export const isUntouched = ({ packet }: RunDraft): boolean => packet.trim() === '';

/** The packet and the people's choices of a run that was; a new run has a name and a plan of its own. */
export function draftOf(run: Pick<RunDetails, 'packet' | 'repo' | 'host' | 'role' | 'demo'>): RunDraft {
  const { packet, repo, demo } = run;
  return { ...emptyDraft, packet, repo, demo, host: run.host as Host, role: run.role as Role };
}

const numbers = ['max_budget_usd', 'max_input_chars', 'wall_timeout', 'idle_timeout', 'resume_attempts'] as const;
export type NumberField = (typeof numbers)[number];

export function newRunOf(draft: RunDraft): NewRun {
  const body: NewRun = { repo: draft.repo, host: draft.host, role: draft.role, packet: draft.packet };
  for (const name of ['run_id', 'output'] as const) {
    if (draft[name].trim() !== '') body[name] = draft[name].trim();
  }
  for (const name of numbers) {
    if (draft[name].trim() !== '') body[name] = Number(draft[name]);
  }
  if (draft.allow_unverified) body.allow_unverified = true;
  if (draft.demo) body.demo = true;
  return body;
}

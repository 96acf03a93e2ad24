// Bounded runs, their repositories and artifacts (spec: bounded-claude 1 and 7, planner 10).

import { z } from 'zod';
import { failureKinds } from '../../domain/bounded/failures.ts';
import { hosts, roles } from '../../domain/bounded/identity.ts';
import { pageQuery, time, uuid } from './common.ts';

export const repository = z.strictObject({
  alias: z.string(),
  /** The project's key. */
  project: z.string(),
  /** The computer that holds it. */
  machine: z.string(),
  /** Real and absolute there. */
  path: z.string(),
}).meta({ id: 'Repository' });
export type RepositoryBody = z.infer<typeof repository>;

/** POST /bounded-runs. `repo` is a registered alias; limits may be lowered, never raised. */
export const newRun = z.strictObject({
  repo: z.string(),
  host: z.enum(hosts),
  role: z.enum(roles),
  /** The packet's text. */
  packet: z.string(),
  /** The file that it comes from, for the command in recovery.md. */
  packet_name: z.string().optional(),
  run_id: z.string().optional(),
  /** Relative to the repository, inside of it; default `.partner/plans/<run-id>.md`. */
  output: z.string().optional(),
  resume_attempts: z.number().optional(),
  max_budget_usd: z.number().optional(),
  max_input_chars: z.number().optional(),
  /** Seconds. */
  wall_timeout: z.number().optional(),
  idle_timeout: z.number().optional(),
  allow_unverified: z.boolean().optional(),
  /** A scripted CLI answers by rule; no model is asked. */
  demo: z.boolean().optional(),
}).meta({ id: 'NewRun' });
export type NewRunBody = z.infer<typeof newRun>;

export const startedRun = z.strictObject({
  /** The run's own id. */
  run: uuid,
  run_id: z.string(),
  workflow_id: z.string(),
  /** The workflow in the Temporal UI, where its address is known. */
  workflow_url: z.string().optional(),
  /** The newest output's number: watch from here. */
  output_number: z.number().int(),
}).meta({ id: 'StartedRun' });
export type StartedRunBody = z.infer<typeof startedRun>;

export const runStatus = z.enum(['pending', 'running', 'succeeded', 'failed', 'cancelled', 'rejected']);
const failureKind = z.enum(failureKinds);

export const run = z.strictObject({
  id: uuid,
  run_id: z.string(),
  /** The repository's alias. */
  repo: z.string(),
  project: z.string(),
  machine: z.string(),
  host: z.string(),
  role: z.string(),
  status: runStatus,
  /** For people. */
  phase: z.string(),
  /** Of a run that goes on: why it waits. */
  failure_kind: failureKind.optional(),
  failure_detail: z.string().optional(),
  /** Why it, or its last resume, was rejected before anything was paid. */
  problems: z.array(z.string()).optional(),
  attempts: z.number().int(),
  /** Where the plan is or will be, relative to the repository. */
  output: z.string(),
  budget_usd: z.number(),
  cost_usd: z.number(),
  cost_estimated: z.boolean(),
  model: z.string().optional(),
  effort: z.string().optional(),
  demo: z.boolean(),
  cancel_requested: z.boolean(),
  created_by: z.string(),
  created_at: time,
  started_at: time.optional(),
  ended_at: time.optional(),
  workflow_id: z.string(),
  workflow_run_id: z.string().optional(),
  workflow_url: z.string().optional(),
}).meta({ id: 'Run' });
export type RunBody = z.infer<typeof run>;

const attempt = z.strictObject({
  attempt: z.number().int(),
  /** Its directory's name under `.partner/runs`. */
  directory: z.string(),
  role: z.string(),
  model: z.string(),
  effort: z.string(),
  verified: z.boolean(),
  session_id: uuid,
  session_kind: z.enum(['fresh', 'resume']),
  status: z.enum(['running', 'succeeded', 'failed']),
  failure_kind: failureKind.optional(),
  failure_detail: z.string().optional(),
  warnings: z.array(z.string()),
  cost_usd: z.number(),
  cost_estimated: z.boolean(),
  approval: z.string().optional(),
  /** Visible text once it has ended; redacted. */
  checkpoint: z.string(),
  started_at: time,
  ended_at: time.optional(),
}).meta({ id: 'RunAttempt' });
export type RunAttemptBody = z.infer<typeof attempt>;

export const runDetails = run.extend({
  packet: z.string(),
  packet_sha256: z.string(),
  packet_chars: z.number().int(),
  /** Per attempt; see the same names in metadata.json. */
  limits: z.strictObject({
    wall_timeout_seconds: z.number(),
    idle_timeout_seconds: z.number(),
    upstream_idle_seconds: z.number(),
    max_input_chars: z.number(),
    max_line_bytes: z.number(),
    max_visible_chars: z.number(),
    max_log_bytes: z.number(),
    resume_attempts: z.number(),
  }),
  lowered_limits: z.array(z.string()),
  allow_unverified: z.boolean(),
  attempt_list: z.array(attempt),
  /** recovery.md of the last attempt. */
  recovery: z.string().optional(),
  /** The newest output's number. */
  output_number: z.number().int(),
}).meta({ id: 'RunDetails' });
export type RunDetailsBody = z.infer<typeof runDetails>;

export const runsQuery = pageQuery.extend({ project: z.string().optional() });
export type RunsQuery = z.input<typeof runsQuery>;

/** `repo`: an alias, where several repositories have that run id. */
export const runQuery = z.strictObject({ repo: z.string().optional() });
export type RunQuery = z.input<typeof runQuery>;

/** POST /bounded-runs/{run}/resume: another role only with an approval, "who, why", of 1-500 characters. */
export const resume = z.strictObject({ role: z.enum(roles).optional(), approval: z.string().optional() }).meta({ id: 'ResumeRun' });
export type ResumeBody = z.infer<typeof resume>;

/** GET /bounded-runs/{run}/artifacts/{name}: the last attempt's by default. Answered as it is, no JSON around it. */
export const artifactQuery = runQuery.extend({ attempt: z.coerce.number().int().min(1).optional() });
export type ArtifactQuery = z.input<typeof artifactQuery>;

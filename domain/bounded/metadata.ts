// metadata.json: what a run's attempt was, did and cost (spec: bounded-claude 7). Its JSON Schema lies beside it.

import { z } from 'zod';
import { failureKinds } from './failures.ts';
import { efforts, hosts, roles } from './identity.ts';

const time = z.iso.datetime({ offset: true });
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const usd = z.number().nonnegative();
const count = z.number().int().nonnegative();

export const runStatuses = ['running', 'succeeded', 'failed', 'cancelled'] as const;

export const metadataSchema = z.strictObject({
  schema_version: z.literal(1),
  run_id: z.string().max(80),
  attempt: z.number().int().min(1),
  resumes: z.array(z.string()).describe('Names of the other attempts, by directory, oldest first.'),
  status: z.enum(runStatuses),
  failure_kind: z.enum(failureKinds).nullable(),
  failure_detail: z.string().nullable(),
  warnings: z.array(z.string()).describe('Notes of the stream, redactions, the use of --allow-unverified.'),
  repo: z.string(),
  host: z.enum(hosts),
  role: z.enum(roles),
  backend: z.literal('claude'),
  configured: z.strictObject({
    model: z.string(),
    effort: z.enum(efforts),
    verified: z.boolean(),
    source: z.enum(['repo', 'user', 'repo over user', 'demo']),
    allow_unverified: z.boolean(),
  }),
  requested_session_id: z.string(),
  observed: z.strictObject({
    session_ids: z.array(z.string()),
    models: z.array(z.string()),
    cli_version: z.string().nullable(),
  }),
  limits: z.strictObject({
    wall_timeout_seconds: z.number().positive(),
    idle_timeout_seconds: z.number().positive(),
    upstream_idle_seconds: z.number().positive(),
    max_input_chars: count,
    max_line_bytes: count,
    max_visible_chars: count,
    max_log_bytes: count,
    resume_attempts: z.number().int().min(0).max(3),
  }),
  lowered_limits: z.array(z.string()),
  budget_enforced_by: z.literal('claude_cli'),
  budget_usd: z.number().positive().max(10),
  total_cost_usd: usd.nullable().describe('Cumulative over the session, as the CLI reports it.'),
  attempt_cost_usd: usd.nullable().describe("This attempt's share."),
  cost_estimated: z.boolean().describe('True when no result told the cost.'),
  num_turns: count.nullable(),
  usage: z.record(z.string(), z.unknown()).nullable(),
  packet_sha256: sha256,
  packet_chars: count,
  runner_sha256: sha256,
  cli_sha256: sha256.nullable(),
  returncode: z.number().int().nullable(),
  signal: z.string().nullable(),
  duration_ms: count,
  stderr_tail: z.string().describe('Redacted.'),
  workflow: z.strictObject({ id: z.string(), run_id: z.string() }),
  started_at: time,
  ended_at: time.nullable(),
  approval: z.strictObject({ role: z.enum(roles), text: z.string(), previous_run_id: z.string() }).nullable(),
});

export type Metadata = z.infer<typeof metadataSchema>;

/** The JSON Schema of metadata.json; committed as metadata.schema.json. */
export function metadataJsonSchema(): Record<string, unknown> {
  return { title: 'metadata.json of a bounded Claude planning run', ...z.toJSONSchema(metadataSchema) };
}

// The report of a re-validation from what PostgreSQL knows, and where its files lie (spec: bounded-claude 9).

import { outcomeOf } from '../domain/revalidation/claim.ts';
import type { Report } from '../domain/revalidation/report.ts';
import { attemptKind, type Known, type PacketRow } from '../store/revalidations.ts';

/** Relative to the repository. */
export const validationFolder = (id: string): string => `.partner/validations/${id}`;
export const packetFile = (id: string, position: number): string =>
  `${validationFolder(id)}/packets/packet-${position}.md`;

/** What `partner revalidate --ack` takes: all failures of a re-validation by its id, one by `<id>.<number>`. */
export const failureId = (validation: string, number: number): string => `${validation}.${number}`;

export function reportOf({ row, attempts, failures, verdict }: Known, packets: readonly PacketRow[]): Report {
  const { id, identity, cli, runner_sha256, identity_sha256 } = row;
  const hashes = runner_sha256 !== null && identity_sha256 !== null && cli && {
    runner_sha256,
    identity_sha256,
    cli_sha256: cli.sha256,
    cli_version: cli.version,
    packets: packets.map(({ position, sha256, characters }) => ({
      file: packetFile(id, position),
      sha256,
      characters,
    })),
  };
  return {
    schema_version: 1,
    validation_id: id,
    repo: row.alias,
    host: row.host,
    role: row.role,
    model: identity?.model ?? null,
    effort: identity?.effort ?? null,
    demo: row.demo,
    status: row.status,
    claim: verdict.claim,
    reasons: verdict.reasons,
    problems: row.problems,
    hashes: hashes || null,
    attempts: attempts.map((one) => ({
      number: one.number,
      purpose: one.purpose,
      outcome: outcomeOf(one),
      kind: attemptKind(one),
      detail: one.failure_detail,
      run_id: one.run_id,
      run: one.run,
      attempt: one.attempt,
      packet: packetFile(id, one.position),
      packet_sha256: one.packet_sha256,
      packet_characters: one.packet_chars,
      same_hashes: one.same_hashes,
      session_id: one.session_id,
      session: one.session_kind,
      cost_usd: one.cost_usd,
      cost_estimated: one.cost_estimated,
      started_at: one.started_at,
      ended_at: one.ended_at,
      duration_ms: Math.max(0, Date.parse(one.ended_at ?? one.started_at) - Date.parse(one.started_at)),
    })),
    failures: failures.map(({ number, ...failure }) => ({ id: failureId(id, number), number, ...failure })),
    cost_usd: attempts.reduce((sum, { cost_usd }) => sum + cost_usd, 0),
    cost_estimated: attempts.some(({ cost_estimated }) => cost_estimated),
    asked_by: row.created_by,
    schedule: row.schedule_id,
    workflow: { id: row.workflow_id, run_id: row.workflow_run_id },
    created_at: row.created_at,
    started_at: row.started_at,
    ended_at: row.ended_at,
  };
}

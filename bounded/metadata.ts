// metadata.json and recovery.md of an attempt, from what PostgreSQL knows (spec: bounded-claude 7).

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { budgetLeft } from '../domain/bounded/limits.ts';
import type { Metadata } from '../domain/bounded/metadata.ts';
import { recoveryText } from '../domain/bounded/recovery.ts';
import { attemptName } from '../domain/bounded/run-id.ts';
import type { AttemptRow } from '../store/attempts.ts';
import { isOpen, type RunRow } from '../store/runs.ts';

/** metadata.json of one attempt; it names the others. */
export async function metadataOf(run: RunRow, attempt: AttemptRow, attempts: readonly AttemptRow[]): Promise<Metadata> {
  const { outcome, identity } = attempt;
  return {
    schema_version: 1,
    run_id: run.run_id,
    attempt: attempt.attempt,
    resumes: attempts.filter((one) => one !== attempt).map((one) => attemptName(run.run_id, one.attempt)),
    ...verdictOf(run, attempt, attempts),
    warnings: attempt.warnings,
    repo: run.repo_path,
    host: attempt.host,
    role: attempt.role,
    backend: 'claude',
    configured: {
      model: identity.model,
      effort: identity.effort,
      verified: identity.verified,
      source: identity.source,
      allow_unverified: run.allow_unverified,
    },
    requested_session_id: attempt.session_id,
    observed: outcome?.observed ?? { session_ids: [], models: [], cli_version: null },
    limits: run.limits,
    lowered_limits: run.lowered,
    budget_enforced_by: 'claude_cli',
    budget_usd: run.budget_usd,
    total_cost_usd: attempt.session_cost_usd,
    attempt_cost_usd: attempt.cost_usd,
    cost_estimated: attempt.cost_estimated,
    num_turns: outcome?.numTurns ?? null,
    usage: outcome?.usage ?? null,
    packet_sha256: run.packet_sha256,
    packet_chars: run.packet_chars,
    runner_sha256: await runnerHash(),
    cli_sha256: attempt.cli.sha256,
    returncode: outcome?.returncode ?? null,
    signal: outcome?.signal ?? null,
    duration_ms: Math.round(outcome?.durationMs ?? 0),
    stderr_tail: outcome?.stderrTail ?? '',
    workflow: { id: run.workflow_id, run_id: attempt.workflow_run_id },
    started_at: attempt.started_at,
    ended_at: attempt.ended_at,
    approval: attempt.approval
      ? { ...attempt.approval, previous_run_id: attemptName(run.run_id, attempt.attempt - 1) }
      : null,
  };
}

/** The last attempt of a run that has ended says what became of the run; every other one what became of itself. */
function verdictOf(
  run: RunRow,
  attempt: AttemptRow,
  attempts: readonly AttemptRow[],
): Pick<Metadata, 'status' | 'failure_kind' | 'failure_detail'> {
  const final = attempt === attempts.at(-1) && !isOpen(run);
  const { failure_kind, failure_detail } = final ? run : attempt;
  if (final) {
    const status = run.status === 'succeeded' || run.status === 'cancelled' ? run.status : 'failed';
    return { status, failure_kind, failure_detail };
  }
  if (attempt.status === 'running') return { status: 'running', failure_kind: null, failure_detail: null };
  const failed = failure_kind === 'cancelled' ? 'cancelled' : 'failed';
  return { status: attempt.status === 'succeeded' ? 'succeeded' : failed, failure_kind, failure_detail };
}

/** recovery.md of a failed attempt; undefined where nothing failed. */
export function recoveryOf(run: RunRow, attempt: AttemptRow): string | undefined {
  const known = isOpen(run) ? attempt : run;
  const failure_kind = known.failure_kind ?? attempt.failure_kind;
  if (!failure_kind || run.status === 'succeeded') return undefined;
  return recoveryText({
    run_id: run.run_id,
    repo: run.repo_path,
    host: run.host,
    role: attempt.role,
    packet: run.packet_name,
    model: attempt.identity.model,
    effort: attempt.identity.effort,
    session_id: attempt.session_id,
    failure_kind,
    failure_detail: known.failure_detail ?? attempt.failure_detail ?? '',
    attempts: run.attempts,
    total_cost_usd: run.cost_usd,
    estimated: run.cost_estimated,
    budget_usd: run.budget_usd,
    budget_left_usd: budgetLeft(run.budget_usd, run.cost_usd) ?? null,
    has_checkpoint: attempt.checkpoint !== '',
    allow_unverified: run.allow_unverified,
    demo: run.demo,
    finished: attempt.status === 'succeeded',
  });
}

const root = fileURLToPath(new URL('../', import.meta.url));
/** The runner and its contracts. */
const runnerFolders = ['bounded', 'claude', 'domain/bounded', 'domain/secrets'];
let hash: Promise<string> | undefined;

/** SHA-256 over the sorted files of the runner and its contracts: names and bytes. */
export function runnerHash(): Promise<string> {
  hash ??= hashRunner();
  return hash;
}

/** As the files are now; what was started from them earlier may be older. */
export async function hashRunner(): Promise<string> {
  const sum = createHash('sha256');
  for (const folder of runnerFolders) {
    const names = (await readdir(path.join(root, folder))).filter((name) => /\.(?:ts|mjs|json)$/.test(name)).sort();
    for (const name of names) sum.update(`${folder}/${name}\0`).update(await readFile(path.join(root, folder, name)));
  }
  return sum.digest('hex');
}

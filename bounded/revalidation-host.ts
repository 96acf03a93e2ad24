// What the repository's computer does for re-validations: checks, packets, hashes, reports (spec: bounded-claude 9).

import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { ArtifactError, assertInside } from '../claude/index.ts';
import { assertSpace, told, writeWhole } from '../claude/artifacts.ts';
import { sha256 } from '../domain/bounded/packet.ts';
import { reportText } from '../domain/revalidation/report.ts';
import { transaction } from '../store/database.ts';
import {
  findValidation,
  isUnderWay,
  knownOf,
  latestValidations,
  lockValidation,
  readPackets,
  reportsDue,
  validationEvent,
  type Known,
  type PacketRow,
  type ValidationRow,
} from '../store/revalidations.ts';
import type { HostRoom } from './host.ts';
import { currentHashes, examine, identityHash, type ToExamine } from './revalidation-check.ts';
import { hashRunner } from './metadata.ts';
import { packetFile, reportOf, validationFolder } from './revalidation-report.ts';

const placeOf = (room: HostRoom, row: ValidationRow): ToExamine => ({
  repo: row.repo_path,
  name: row.alias,
  host: row.host,
  role: row.role,
  demo: row.demo,
  env: room.env,
});

/** Checks all that it needs, makes and keeps its packets, and binds it to what there is. Idempotent. */
export async function prepareValidation(room: HostRoom, id: string, workflowRunId: string): Promise<'go' | 'rejected'> {
  const row = await findValidation(room.database, id);
  if (!row || !isUnderWay(row)) return 'rejected';
  if (row.runner_sha256 !== null) {
    await keepPackets(row, await readPackets(room.database, id));
    return 'go';
  }
  const found = await examine(placeOf(room, row));
  const { identity, cli, packets } = found;
  const rows: PacketRow[] = (packets ?? []).map(({ text, sha256: hash, characters }, index) => {
    return { position: index + 1, text, sha256: hash, characters };
  });
  const kept = found.problems.length > 0 ? undefined : await problemOf(keepPackets(row, rows));
  const problems = [...found.problems, ...(kept === undefined ? [] : [kept])];
  if (problems.length > 0 || !identity || !cli) return reject(room, id, problems);
  const runner = await hashRunner();
  const identity_sha256 = await identityHash(identity);
  await transaction(room.database, async (tx) => {
    const now = await lockValidation(tx, id);
    if (!isUnderWay(now) || now.runner_sha256 !== null) return;
    for (const { position, text, sha256: hash, characters } of rows) {
      await tx.query(
        `INSERT INTO revalidation_packets (validation, position, text, sha256, characters)
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
        [id, position, text, hash, characters],
      );
    }
    await tx.query(
      `UPDATE revalidations SET identity = $2, cli = $3, runner_sha256 = $4, identity_sha256 = $5, status = 'running',
         workflow_run_id = $6, started_at = coalesce(started_at, now()), progress_at = now() WHERE id = $1`,
      [id, JSON.stringify(identity), JSON.stringify(cli), runner, identity_sha256, workflowRunId],
    );
    const { model, effort } = identity;
    const facts = { model, effort, demo: now.demo, runner_sha256: runner, cli_sha256: cli.sha256 };
    tx.emit(validationEvent(now, 'revalidation.started', { ...facts, schedule: now.schedule_id }));
  });
  await lookAtRole(room, row);
  return 'go';
}

async function problemOf(work: Promise<void>): Promise<string | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (error instanceof ArtifactError) return error.message;
    throw error;
  }
}

async function reject(room: HostRoom, id: string, problems: string[]): Promise<'rejected'> {
  const sql = `UPDATE revalidations SET problems = $2 WHERE id = $1 AND status IN ('pending', 'running')`;
  await room.database.query(sql, [id, JSON.stringify(problems)]);
  room.warn(`re-validation ${id} was rejected: ${problems.join(' ')}`);
  return 'rejected';
}

/** Writes the packets where they are kept; again changes nothing. @throws ArtifactError */
async function keepPackets(row: ValidationRow, packets: readonly PacketRow[]): Promise<void> {
  const folder = await assertInside(row.repo_path, `${validationFolder(row.id)}/packets`);
  await made(folder);
  for (const { position, text } of packets) {
    const file = path.join(row.repo_path, packetFile(row.id, position));
    if ((await readFile(file, 'utf8').catch(() => undefined)) !== text) await writeWhole(file, text);
  }
}

async function made(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw told(error, folder);
  }
  await assertSpace(folder);
}

/** Whether all that it is bound to is still what it was. */
export async function confirmValidation(room: HostRoom, id: string): Promise<void> {
  const row = await findValidation(room.database, id);
  if (!row || !isUnderWay(row)) return;
  const now = await currentHashes(placeOf(room, row));
  const same =
    now.runner_sha256 === row.runner_sha256 &&
    now.identity_sha256 === row.identity_sha256 &&
    now.cli_sha256 === row.cli?.sha256;
  const confirmed = same && (await packetsIntact(room, row));
  await room.database.query('UPDATE revalidations SET confirmed = $2, progress_at = now() WHERE id = $1', [
    id,
    confirmed,
  ]);
}

async function packetsIntact(room: HostRoom, row: ValidationRow): Promise<boolean> {
  for (const packet of await readPackets(room.database, row.id)) {
    const bytes = await readFile(path.join(row.repo_path, packetFile(row.id, packet.position))).catch(() => undefined);
    if (!bytes || (await sha256(bytes)) !== packet.sha256) return false;
  }
  return true;
}

/**
 * Writes report.json and report.md as they are to be now. Its row is locked meanwhile: of two writers the second one
 * knows what was acknowledged before the first. A repository that is gone has no report any more.
 */
export async function writeReport(room: HostRoom, id: string): Promise<void> {
  await transaction(room.database, async (tx) => {
    const known = await knownOf(tx, await lockValidation(tx, id));
    const whole = await writeReportFiles(room, known, await readPackets(tx, id));
    const set = 'UPDATE revalidations SET claim = $2, report_due = $3 WHERE id = $1';
    await tx.query(set, [id, known.verdict.claim, !whole]);
  });
}

/** False: the disk refuses now, and may take it later. */
async function writeReportFiles(room: HostRoom, known: Known, packets: readonly PacketRow[]): Promise<boolean> {
  const { id, repo_path } = known.row;
  const report = reportOf(known, packets);
  try {
    const folder = await assertInside(repo_path, validationFolder(id));
    await made(folder);
    await writeWhole(path.join(folder, 'report.md'), reportText(report));
    await writeWhole(path.join(folder, 'report.json'), `${JSON.stringify(report, null, 2)}\n`);
    return true;
  } catch (error) {
    if (!(error instanceof ArtifactError)) throw error;
    room.warn(`the report of re-validation ${id} was not written`, error);
    return error.code === 'missing' || error.code === 'outside';
  }
}

/** Stores what this computer has now for a role. */
async function lookAtRole(room: HostRoom, row: ValidationRow): Promise<void> {
  const { runner_sha256, identity_sha256, cli_sha256 } = await currentHashes(placeOf(room, row));
  await room.database.query(
    `INSERT INTO revalidation_current
       (repository_id, host, role, demo, runner_sha256, identity_sha256, cli_sha256)
     VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (repository_id, host, role, demo) DO UPDATE SET runner_sha256 = excluded.runner_sha256,
       identity_sha256 = excluded.identity_sha256, cli_sha256 = excluded.cli_sha256, looked_at = now()`,
    [row.repository_id, row.host, row.role, row.demo, runner_sha256, identity_sha256, cli_sha256],
  );
}

/**
 * At a worker's start and from time to time: are the newest claims of this computer's roles still of what is there? A
 * claim that has become stale, or holds again, gets its report anew.
 */
export async function lookAtClaims(room: HostRoom): Promise<void> {
  for (const row of await latestValidations(room.database, room.machine)) {
    await lookAtRole(room, row);
    const intact = await packetsIntact(room, row);
    await room.database.query('UPDATE revalidations SET packets_intact = $2 WHERE id = $1', [row.id, intact]);
    const { verdict } = await knownOf(room.database, { ...row, packets_intact: intact });
    if (verdict.claim === row.claim) continue;
    const due = `UPDATE revalidations SET report_due = true WHERE id = $1 AND claim = $2`;
    await room.database.query(due, [row.id, row.claim]);
    if (verdict.claim === 'stale') {
      room.warn(`the claim of re-validation ${row.id} is stale: ${verdict.reasons.join(' ')}`);
    }
  }
}

/** Reports that are to be written anew: something was acknowledged, or became stale. */
export async function writeDueReports(room: HostRoom): Promise<void> {
  for (const id of await reportsDue(room.database, room.machine)) await writeReport(room, id);
}

// A run's artifacts by name, for the API: from PostgreSQL, which has them on every computer; events.jsonl alone, which
// may be 10 MiB, only from the disk of the repository's computer (spec: bounded-claude 7).

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Principal } from '../domain/actor.ts';
import { runPath } from '../domain/bounded/run-id.ts';
import { notFound } from '../domain/errors.ts';
import { readAttempts, type AttemptRow } from '../store/attempts.ts';
import type { Database } from '../store/database.ts';
import type { RunRow } from '../store/runs.ts';
import { visibleRun } from './access.ts';
import { machineName } from './machine.ts';
import { metadataOf } from './metadata.ts';

export const artifactNames = ['metadata.json', 'checkpoint.md', 'recovery.md', 'events.jsonl', 'plan.md'] as const;
export type ArtifactName = (typeof artifactNames)[number];

export interface Artifact {
  name: ArtifactName;
  type: 'application/json' | 'application/x-ndjson' | 'text/markdown';
  text: string;
}

/** The last attempt's, or that of `attempt`. Errors: not_found, which says where else it may be. */
export async function readArtifact(
  database: Database,
  principal: Principal,
  wanted: { run: string; repo?: string | undefined; name: string; attempt?: number | undefined },
): Promise<Artifact> {
  const row = await visibleRun(database, principal, wanted.run, 'bounded_run.read', wanted.repo);
  const name = artifactNames.find((known) => known === wanted.name);
  if (!name) throw notFound(`There is no such artifact; there are ${artifactNames.join(', ')}.`);
  const attempts = await readAttempts(database, row.id);
  const number = wanted.attempt;
  const attempt = number === undefined ? attempts.at(-1) : attempts.find((one) => one.attempt === number);
  if (!attempt) throw notFound(`Run ${row.run_id} has no attempt${number === undefined ? ' yet' : ` ${number}`}.`);
  const text = await textOf(name, row, attempt, attempts);
  const why = name === 'plan.md' ? ': it has not succeeded' : '';
  if (text === undefined) throw notFound(`Run ${row.run_id} has no ${name}${why}.`);
  return { name, type: typeOf(name), text };
}

async function textOf(
  name: ArtifactName,
  row: RunRow,
  attempt: AttemptRow,
  attempts: readonly AttemptRow[],
): Promise<string | undefined> {
  switch (name) {
    case 'metadata.json':
      return `${JSON.stringify(await metadataOf(row, attempt, attempts), null, 2)}\n`;
    case 'checkpoint.md':
      return attempt.checkpoint;
    case 'recovery.md':
      return attempt.recovery ?? undefined;
    case 'plan.md':
      return row.status === 'succeeded' && attempt.status === 'succeeded' ? attempt.checkpoint : undefined;
    case 'events.jsonl':
      return events(row, attempt.attempt);
  }
}

async function events(row: RunRow, attempt: number): Promise<string> {
  const file = path.join(row.repo_path, runPath(row.run_id, attempt), 'events.jsonl');
  const elsewhere = notFound(`events.jsonl is kept on ${row.machine} only: ${file}.`);
  if (row.machine !== machineName()) throw elsewhere;
  return readFile(file, 'utf8').catch(() => {
    throw elsewhere;
  });
}

const typeOf = (name: ArtifactName): Artifact['type'] =>
  name.endsWith('.json') ? 'application/json' : name.endsWith('.jsonl') ? 'application/x-ndjson' : 'text/markdown';

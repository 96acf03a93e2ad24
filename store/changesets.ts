// Changesets: proposed, shown, applied whole or not at all, rejected (spec: planner 2).

import { v7 as uuidv7 } from 'uuid';
import { actorOf, type Action, type Actor, type Principal } from '../domain/actor.ts';
import {
  approval,
  approvalViolations,
  effectViolations,
  humanChangeset,
  namedKeys,
  plannerChangeset,
  tellOperation,
  type Approval,
  type Changeset,
  type ChangesetStatus,
  type ChangesetSummary,
  type Operation,
  type OperationResult,
  type World,
} from '../domain/changeset.ts';
import { DomainError, conflict, forbidden, notFound } from '../domain/errors.ts';
import { badCursor, isUuid, parse, quoted, violations } from '../domain/input.ts';
import { applyOperations } from './changeset-effects.ts';
import type { Queryable, Tx } from './database.ts';
import { edgesOf } from './edges.ts';
import { itemWritesAfter } from './events.ts';
import { itemRows, lockedItemRows } from './item-rows.ts';
import { authorizeVisible, lockProject, projectById, visibleProject, type Project } from './projects.ts';

interface ChangesetRow {
  id: string;
  project_id: string;
  title: string;
  summary: string;
  operations: Operation[];
  base_versions: Record<string, number>;
  status: ChangesetStatus;
  proposed_by: Actor;
  created_at: string;
  decided_by: Actor | null;
  decided_at: string | null;
  approved: number[] | null;
  results: OperationResult[] | null;
  version: number;
}

/**
 * Stores a proposal and changes nothing else. Needs tracker.write. A human proposes `policy` too, nobody else does.
 * Errors: invalid_argument with every violation, each under its operation's 1-based number.
 */
export async function proposeChangeset(
  tx: Tx,
  { project, actor, principal }: { project: Project; actor: Actor; principal: Principal },
  input: unknown,
): Promise<Changeset> {
  await visibleProject(tx, principal, project.key, 'tracker.write');
  const { title, summary, operations } = parse(actor.kind === 'human' ? humanChangeset : plannerChangeset, input);
  const found = effectViolations(operations, [...operations.keys()], await worldOf(tx, project, operations));
  if (found.length > 0) throw violations(found.map(tellOperation));
  const updated = operations.flatMap((each) => (each.kind === 'update_item' ? [each.update.item] : []));
  const versions = (await itemRows(tx, project, updated)).map(({ key, version }) => [key, version]);
  const id = uuidv7();
  await tx.query(
    `INSERT INTO changesets (id, project_id, title, summary, operations, base_versions, proposed_by)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [
      id,
      project.id,
      title,
      summary,
      JSON.stringify(operations),
      JSON.stringify(Object.fromEntries(versions)),
      JSON.stringify(actor),
    ],
  );
  emitChangeset(tx, project, actor, 'changeset.proposed', id, { title, operations: operations.length });
  return view(tx, project, (await changesetRow(tx, id))!);
}

/** The changeset; while it is proposed, `stale` names the operations whose item has changed since. */
export async function getChangeset(q: Queryable, principal: Principal, id: string): Promise<Changeset> {
  const { project, row } = await visibleChangeset(q, principal, id, 'tracker.read');
  return view(q, project, row);
}

export interface ChangesetFilter {
  status?: ChangesetStatus | undefined;
  /** 1-500, default 50. */
  limit?: number | undefined;
  /** The `next` of the page before. */
  after?: string | undefined;
}

export interface ChangesetPage {
  items: ChangesetSummary[];
  next?: string;
}

export async function listChangesets(
  q: Queryable,
  principal: Principal,
  projectKey: string,
  filter: ChangesetFilter = {},
): Promise<ChangesetPage> {
  return changesetsOf(q, await visibleProject(q, principal, projectKey, 'tracker.read'), filter);
}

/** One page of a project's changesets, newest first. */
export async function changesetsOf(q: Queryable, project: Project, filter: ChangesetFilter): Promise<ChangesetPage> {
  const limit = Math.min(Math.max(filter.limit ?? 50, 1), 500);
  const after = filter.after ?? null;
  if (after !== null) {
    const known = await changesetRow(q, after);
    if (known?.project_id !== project.id) throw badCursor(after);
  }
  const rows = await q.query<ChangesetSummary>(
    `SELECT id, title, status, jsonb_array_length(operations) AS operations,
            coalesce(jsonb_array_length(approved), 0) AS approved, proposed_by, created_at
     FROM changesets
     WHERE project_id = $1 AND ($2::text IS NULL OR status = $2)
       AND ($3::uuid IS NULL OR (created_at, id) < (SELECT created_at, id FROM changesets WHERE id = $3))
     ORDER BY created_at DESC, id DESC LIMIT $4`,
    [project.id, filter.status ?? null, after, limit + 1],
  );
  const items = rows.slice(0, limit);
  return { items, ...(rows.length > limit ? { next: items.at(-1)!.id } : {}) };
}

/**
 * Applies the operations with these 0-based indices, all or none. Humans with changeset.decide only. Errors: forbidden,
 * invalid_argument (indices, `$ref`s left out), conflict (decided already, stale items, an operation that fails).
 * Run it through `transaction`, which repeats it where PostgreSQL reports a conflict.
 */
export async function applyChangeset(tx: Tx, principal: Principal, id: string, input: Approval): Promise<Changeset> {
  const { project } = await decidable(tx, principal, id);
  const { operations: indices, accept_stale: acceptStale } = parse(approval, input);
  await lockProject(tx, project.id);
  const row = await undecided(tx, id);
  const refused = approvalViolations(row.operations, indices);
  if (refused.length > 0) throw violations(refused);
  const approved = [...indices].sort((a, b) => a - b);
  const updated = approved.flatMap((index) => {
    const operation = row.operations[index]!;
    return operation.kind === 'update_item' ? [operation.update.item] : [];
  });
  const locked = await lockedItemRows(tx, project, updated);
  if (!acceptStale) await refuseStale(tx, project, row, locked);
  await refuseEffects(tx, project, row.operations, approved);
  const actor = actorOf(principal);
  const results = await applyOperations(tx, project, actor, row.operations, approved, locked);
  await decide(tx, row.id, actor, 'applied', approved, results);
  emitChangeset(tx, project, actor, 'changeset.applied', row.id, { title: row.title, approved, results });
  return view(tx, project, (await changesetRow(tx, id))!);
}

/** Humans with changeset.decide only. Errors: forbidden, conflict (decided already). */
export async function rejectChangeset(tx: Tx, principal: Principal, id: string): Promise<Changeset> {
  const { project } = await decidable(tx, principal, id);
  const row = await undecided(tx, id);
  const actor = actorOf(principal);
  await decide(tx, row.id, actor, 'rejected');
  emitChangeset(tx, project, actor, 'changeset.rejected', row.id, { title: row.title });
  return view(tx, project, (await changesetRow(tx, id))!);
}

/** What the operations are judged against, as it stands now. */
async function worldOf(q: Queryable, project: Project, operations: readonly Operation[]): Promise<World> {
  const rows = await itemRows(q, project, namedKeys(operations));
  const edges = operations.some(({ kind }) => kind === 'add_dependency') ? await edgesOf(q, project) : [];
  return { project: project.key, kinds: new Map(rows.map(({ key, kind }) => [key, kind])), edges };
}

async function refuseEffects(
  tx: Tx,
  project: Project,
  operations: readonly Operation[],
  approved: readonly number[],
): Promise<void> {
  const found = effectViolations(operations, approved, await worldOf(tx, project, operations));
  if (found.length === 0) return;
  throw conflict(`Nothing was applied. ${violations(found.map(tellOperation)).message}`);
}

async function refuseStale(
  tx: Tx,
  project: Project,
  row: ChangesetRow,
  items: readonly { key: string; version: number }[],
): Promise<void> {
  const lines: string[] = [];
  for (const { key, version } of items) {
    const base = row.base_versions[key];
    if (base === undefined || base === version) continue;
    const number = 1 + row.operations.findIndex((each) => each.kind === 'update_item' && each.update.item === key);
    const changed = await changedSince(tx, project, key, base);
    const versions = `version ${base}, now ${version}`;
    lines.push(`operation ${number}: ${key} has changed since the proposal (${versions}): ${changed}`);
  }
  if (lines.length === 0) return;
  const way = 'To apply all the same, over the current version, send accept_stale: true.';
  throw conflict(`Nothing was applied. ${violations(lines).message}\n${way}`);
}

/** "title, state from ready to done; by alice": the fields written since a version, and by whom. */
async function changedSince(q: Queryable, project: Project, key: string, version: number): Promise<string> {
  const events = await itemWritesAfter(q, project.id, key, version);
  const fields = events.flatMap(({ type, payload }) =>
    type === 'item.state_changed'
      ? [`state from ${String(payload['from'])} to ${String(payload['to'])}`]
      : Object.keys((payload['changes'] ?? {}) as object),
  );
  const subjects = events.map(({ actor }) => actor.subject);
  const what = fields.length > 0 ? [...new Set(fields)].join(', ') : 'written without a difference';
  return subjects.length > 0 ? `${what}; by ${[...new Set(subjects)].join(', ')}` : what;
}

async function visibleChangeset(
  q: Queryable,
  principal: Principal,
  id: string,
  action: Action,
): Promise<{ project: Project; row: ChangesetRow }> {
  const hidden = (): DomainError => notFound(`There is no changeset ${quoted(id)}.`);
  const row = await changesetRow(q, id);
  if (!row) throw hidden();
  const project = await projectById(q, row.project_id);
  await authorizeVisible(q, principal, project, action, hidden);
  return { project, row };
}

async function decidable(tx: Tx, principal: Principal, id: string): Promise<{ project: Project }> {
  const { project } = await visibleChangeset(tx, principal, id, 'changeset.decide');
  if (principal.kind !== 'human') throw forbidden('Only a human may apply or reject a changeset.');
  return { project };
}

/** The changeset, locked, when it is still proposed. */
async function undecided(tx: Tx, id: string): Promise<ChangesetRow> {
  await tx.query('SELECT 1 FROM changesets WHERE id = $1 FOR UPDATE', [id]);
  const row = (await changesetRow(tx, id))!;
  if (row.status === 'proposed') return row;
  throw conflict(`The changeset was ${row.status} already, by ${row.decided_by?.subject} at ${row.decided_at}.`);
}

async function changesetRow(q: Queryable, id: string): Promise<ChangesetRow | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await q.query<ChangesetRow>('SELECT * FROM changesets WHERE id = $1', [id]);
  return row;
}

async function decide(
  tx: Tx,
  id: string,
  actor: Actor,
  status: 'applied' | 'rejected',
  approved?: readonly number[],
  results?: readonly OperationResult[],
): Promise<void> {
  await tx.query(
    `UPDATE changesets SET status = $2, decided_by = $3, decided_at = clock_timestamp(), approved = $4, results = $5,
       version = version + 1 WHERE id = $1`,
    [
      id,
      status,
      JSON.stringify(actor),
      approved ? JSON.stringify(approved) : null,
      results ? JSON.stringify(results) : null,
    ],
  );
}

async function view(q: Queryable, project: Project, row: ChangesetRow): Promise<Changeset> {
  return {
    id: row.id,
    project: project.key,
    title: row.title,
    summary: row.summary,
    operations: row.operations,
    status: row.status,
    proposed_by: row.proposed_by,
    created_at: row.created_at,
    ...(row.decided_by ? { decided_by: row.decided_by } : {}),
    ...(row.decided_at ? { decided_at: row.decided_at } : {}),
    ...(row.approved ? { approved: row.approved } : {}),
    ...(row.results ? { results: row.results } : {}),
    version: row.version,
    ...(row.status === 'proposed' ? { stale: await staleOperations(q, project, row) } : {}),
  };
}

async function staleOperations(q: Queryable, project: Project, row: ChangesetRow): Promise<number[]> {
  const rows = await itemRows(q, project, Object.keys(row.base_versions));
  const stale = new Set(rows.filter(({ key, version }) => row.base_versions[key] !== version).map(({ key }) => key));
  return [...row.operations.entries()]
    .filter(([, operation]) => operation.kind === 'update_item' && stale.has(operation.update.item))
    .map(([index]) => index);
}

function emitChangeset(
  tx: Tx,
  project: Project,
  actor: Actor,
  type: 'changeset.proposed' | 'changeset.applied' | 'changeset.rejected',
  id: string,
  payload: Record<string, unknown>,
): void {
  tx.emit({
    type,
    organization_id: project.organization_id,
    project_id: project.id,
    entity_type: 'changeset',
    entity_id: id,
    actor,
    payload,
  });
}

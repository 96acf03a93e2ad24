// The knowledge base: entries of an organization, each update a new version that stays (spec: planner 4).
// Readers are shown the keys of those projects and items only that they may see; a write keeps the hidden ones.

import { isDeepStrictEqual } from 'node:util';
import { v7 as uuidv7 } from 'uuid';
import { actorOf, type Actor, type Principal } from '../domain/actor.ts';
import { conflict, notFound } from '../domain/errors.ts';
import { badCursor, parse, quoted, uuidPattern, violations } from '../domain/input.ts';
import { projectOfKey } from '../domain/item.ts';
import {
  knowledgePatch,
  newKnowledge,
  type KnowledgeEntry,
  type KnowledgeKind,
  type KnowledgePatch,
  type KnowledgeSummary,
  type KnowledgeVersion,
  type KnowledgeVersionSummary,
  type NewKnowledge,
} from '../domain/knowledge.ts';
import type { Queryable, Tx } from './database.ts';
import { visibleOrganization, visibleProject } from './projects.ts';
import { rightsOf } from './rights.ts';

/** Whose knowledge, and who looks at it. */
export interface KnowledgeReader {
  organization: { id: string; key: string };
  /** Whose rights decide which keys are shown and may be named. */
  principal: Principal;
}

export interface KnowledgeWriter extends KnowledgeReader {
  /** Who is recorded. The author is the principal. */
  actor: Actor;
}

/** The keys that entries and their versions name. */
interface Named {
  projects: string[];
  items: string[];
}

const summaryColumns = 'e.id, e.kind, e.title, e.projects, e.items, e.version, e.author, e.created_at, e.updated_at';
type SummaryRow = Omit<KnowledgeSummary, 'organization'>;
type EntryRow = Omit<KnowledgeEntry, 'organization'>;

export interface KnowledgeFilter {
  kind?: KnowledgeKind | undefined;
  /** A key: entries that name this project. */
  project?: string | undefined;
  /** 1-500, default 50. */
  limit?: number | undefined;
  /** The `next` of the page before. */
  after?: string | undefined;
}

/** One page of an organization's entries, newest first, without their bodies. */
export async function listKnowledge(
  q: Queryable,
  principal: Principal,
  organizationKey: string,
  filter: KnowledgeFilter = {},
): Promise<{ items: KnowledgeSummary[]; next?: string }> {
  const organization = await visibleOrganization(q, principal, organizationKey, 'knowledge.read');
  const { kind, project, after } = filter;
  if (project !== undefined) {
    const { organization_id } = await visibleProject(q, principal, project, 'project.read');
    if (organization_id !== organization.id) throw notFound(absent('project', project, organization));
  }
  if (after !== undefined && !(await entryRow(q, organization, after))) throw badCursor(after);
  const limit = Math.min(Math.max(filter.limit ?? 50, 1), 500);
  const rows = await q.query<SummaryRow>(
    `SELECT ${summaryColumns} FROM knowledge_entries e
     WHERE e.organization_id = $1 AND ($2::text IS NULL OR e.kind = $2)
       AND ($3::text IS NULL OR e.projects @> ARRAY[$3::text]) AND ($4::uuid IS NULL OR e.id < $4)
     ORDER BY e.id DESC LIMIT $5`,
    [organization.id, kind ?? null, project ?? null, after ?? null, limit + 1],
  );
  const page = await shown(q, { organization, principal }, rows.slice(0, limit));
  const items = page.map((row) => ({ ...row, organization: organization.key }));
  return { items, ...(rows.length > limit ? { next: items.at(-1)!.id } : {}) };
}

export async function getKnowledge(
  q: Queryable,
  principal: Principal,
  organizationKey: string,
  id: string,
): Promise<KnowledgeEntry> {
  const organization = await visibleOrganization(q, principal, organizationKey, 'knowledge.read');
  return knowledgeEntry(q, { organization, principal }, id);
}

/** Errors: invalid_argument (projects and items that the principal can't see included), not_found, forbidden. */
export async function createKnowledge(
  tx: Tx,
  principal: Principal,
  organizationKey: string,
  input: NewKnowledge,
): Promise<KnowledgeEntry> {
  const organization = await visibleOrganization(tx, principal, organizationKey, 'knowledge.write');
  return insertKnowledge(tx, { organization, principal, actor: actorOf(principal) }, input);
}

/** Errors: as `createKnowledge`; conflict (a stale version). */
export async function updateKnowledge(
  tx: Tx,
  principal: Principal,
  organizationKey: string,
  id: string,
  input: KnowledgePatch,
): Promise<KnowledgeEntry> {
  const organization = await visibleOrganization(tx, principal, organizationKey, 'knowledge.write');
  return writeKnowledge(tx, { organization, principal, actor: actorOf(principal) }, id, input);
}

/** One page of an entry's versions, newest first, without bodies. limit: 1-500, default 50; `after`: a version. */
export async function listKnowledgeVersions(
  q: Queryable,
  principal: Principal,
  organizationKey: string,
  id: string,
  window: { limit?: number | undefined; after?: number | undefined } = {},
): Promise<{ items: KnowledgeVersionSummary[]; next?: number }> {
  const organization = await visibleOrganization(q, principal, organizationKey, 'knowledge.read');
  const entry = await knownEntry(q, organization, id);
  const limit = Math.min(Math.max(window.limit ?? 50, 1), 500);
  const rows = await q.query<KnowledgeVersionSummary>(
    `SELECT version, kind, title, projects, items, author, actor, created_at FROM knowledge_versions
     WHERE entry_id = $1 AND ($2::bigint IS NULL OR version < $2) ORDER BY version DESC LIMIT $3`,
    [entry.id, window.after ?? null, limit + 1],
  );
  const items = await shown(q, { organization, principal }, rows.slice(0, limit));
  return { items, ...(rows.length > limit ? { next: items.at(-1)!.version } : {}) };
}

export async function getKnowledgeVersion(
  q: Queryable,
  principal: Principal,
  organizationKey: string,
  id: string,
  version: number,
): Promise<KnowledgeVersion> {
  const organization = await visibleOrganization(q, principal, organizationKey, 'knowledge.read');
  const entry = await knownEntry(q, organization, id);
  const rows = await q.query<KnowledgeVersion>(
    `SELECT version, kind, title, body, projects, items, author, actor, created_at FROM knowledge_versions
     WHERE entry_id = $1 AND version = $2`,
    [entry.id, version],
  );
  const [found] = await shown(q, { organization, principal }, rows);
  if (!found) throw notFound(`The entry has no version ${version}; the newest is ${entry.version}.`);
  return found;
}

/** The entry as the reader sees it. Asks for no right to knowledge. Errors: not_found. */
export async function knowledgeEntry(q: Queryable, reader: KnowledgeReader, id: string): Promise<KnowledgeEntry> {
  const [row] = await shown(q, reader, [await knownEntry(q, reader.organization, id)]);
  const { id: known, ...rest } = row!;
  return { id: known, organization: reader.organization.key, ...rest };
}

/** Those of the entries that there are, as the reader sees them, without bodies. Asks for no right to knowledge. */
export async function knowledgeSummaries(
  q: Queryable,
  reader: KnowledgeReader,
  ids: readonly string[],
): Promise<KnowledgeSummary[]> {
  const rows = await q.query<SummaryRow>(
    `SELECT ${summaryColumns} FROM knowledge_entries e WHERE e.organization_id = $1 AND e.id = ANY ($2::uuid[])`,
    [reader.organization.id, ids],
  );
  return (await shown(q, reader, rows)).map((row) => ({ ...row, organization: reader.organization.key }));
}

/** As `createKnowledge`, without asking for the right to write knowledge. */
export async function insertKnowledge(tx: Tx, writer: KnowledgeWriter, input: NewKnowledge): Promise<KnowledgeEntry> {
  const { organization, principal } = writer;
  const fields = parse(newKnowledge, input);
  const named = { projects: distinct(fields.projects), items: distinct(fields.items) };
  await refuseUnseen(tx, writer, named);
  const id = uuidv7();
  await tx.query(
    `INSERT INTO knowledge_entries (id, organization_id, kind, title, body, projects, items, author)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [id, organization.id, fields.kind, fields.title, fields.body, named.projects, named.items, principal.subject],
  );
  await keepVersion(tx, writer, id);
  emitKnowledge(tx, writer, 'knowledge.created', id, { version: 1, kind: fields.kind, title: fields.title });
  return knowledgeEntry(tx, writer, id);
}

/** As `updateKnowledge`, without asking for the right. Where all is as it stands already, nothing is written. */
export async function writeKnowledge(
  tx: Tx,
  writer: KnowledgeWriter,
  id: string,
  input: KnowledgePatch,
): Promise<KnowledgeEntry> {
  const { version, ...patch } = parse(knowledgePatch, input);
  const row = await lockedEntry(tx, writer, id);
  if (version !== row.version) {
    const now = `The entry has version ${row.version}, not ${version}`;
    throw conflict(`${now}: it was changed meanwhile. Read it and try again.`);
  }
  const named = { projects: distinct(patch.projects), items: distinct(patch.items) };
  await refuseUnseen(tx, writer, named);
  const [seen] = await shown(tx, writer, [row]);
  const next = {
    kind: patch.kind ?? row.kind,
    title: patch.title ?? row.title,
    body: patch.body ?? row.body,
    projects: patch.projects ? withHidden(named.projects, row.projects, seen!.projects) : row.projects,
    items: patch.items ? withHidden(named.items, row.items, seen!.items) : row.items,
  };
  const fields = (Object.keys(next) as (keyof typeof next)[]).filter(
    (field) => !isDeepStrictEqual(next[field], row[field]),
  );
  if (fields.length === 0) return knowledgeEntry(tx, writer, id);
  await tx.query(
    `UPDATE knowledge_entries SET kind = $2, title = $3, body = $4, projects = $5, items = $6, version = version + 1,
       updated_at = now() WHERE id = $1`,
    [row.id, next.kind, next.title, next.body, next.projects, next.items],
  );
  await keepVersion(tx, writer, row.id);
  emitKnowledge(tx, writer, 'knowledge.updated', row.id, { version: row.version + 1, fields });
  return knowledgeEntry(tx, writer, id);
}

async function keepVersion(tx: Tx, { principal, actor }: KnowledgeWriter, id: string): Promise<void> {
  await tx.query(
    `INSERT INTO knowledge_versions (entry_id, version, kind, title, body, projects, items, author, actor)
     SELECT id, version, kind, title, body, projects, items, $2, $3 FROM knowledge_entries WHERE id = $1`,
    [id, principal.subject, JSON.stringify(actor)],
  );
}

async function entryRow(q: Queryable, { id }: { id: string }, entry: string): Promise<EntryRow | undefined> {
  if (!uuidPattern.test(entry)) return undefined;
  const [row] = await q.query<EntryRow>(
    `SELECT ${summaryColumns}, e.body FROM knowledge_entries e WHERE e.organization_id = $1 AND e.id = $2`,
    [id, entry],
  );
  return row;
}

async function knownEntry(q: Queryable, organization: KnowledgeReader['organization'], id: string): Promise<EntryRow> {
  const row = await entryRow(q, organization, id);
  if (!row) throw notFound(absent('knowledge entry', id, organization));
  return row;
}

/** Nobody else writes the entry until the transaction ends. */
async function lockedEntry(tx: Tx, { organization }: KnowledgeReader, id: string): Promise<EntryRow> {
  const { id: known } = await knownEntry(tx, organization, id);
  await tx.query('SELECT 1 FROM knowledge_entries WHERE id = $1 FOR NO KEY UPDATE', [known]);
  return knownEntry(tx, organization, known);
}

/** The rows with those keys only that the reader may see. */
async function shown<Row extends Named>(q: Queryable, reader: KnowledgeReader, rows: readonly Row[]): Promise<Row[]> {
  const named = { projects: rows.flatMap((row) => row.projects), items: rows.flatMap((row) => row.items) };
  const { projects, trackers } = await visibleProjects(q, reader, named);
  return rows.map((row) => ({
    ...row,
    projects: row.projects.filter((key) => projects.has(key)),
    items: row.items.filter((key) => trackers.has(projectOfKey(key) ?? '')),
  }));
}

/** Of the projects that are named: those that the reader may see, and those whose items it may see. */
async function visibleProjects(
  q: Queryable,
  { organization, principal }: KnowledgeReader,
  { projects, items }: Named,
): Promise<{ projects: Set<string>; trackers: Set<string> }> {
  const keys = distinct([...projects, ...items.flatMap((key) => projectOfKey(key) ?? [])]);
  if (keys.length === 0) return { projects: new Set(), trackers: new Set() };
  const rights = await rightsOf(q, principal);
  const rows = await q.query<{ id: string; key: string }>(
    'SELECT id, key FROM projects WHERE organization_id = $1 AND key = ANY ($2)',
    [organization.id, keys],
  );
  const readable = (action: 'project.read' | 'tracker.read'): Set<string> => {
    const scope = (id: string) => ({ project_id: id, organization_id: organization.id });
    return new Set(rows.filter(({ id }) => rights(action, scope(id))).map(({ key }) => key));
  };
  return { projects: readable('project.read'), trackers: readable('tracker.read') };
}

/** Throws invalid_argument that names all projects and items that are not there, or that the writer may not see. */
async function refuseUnseen(q: Queryable, writer: KnowledgeWriter, named: Named): Promise<void> {
  const { organization } = writer;
  const { projects, trackers } = await visibleProjects(q, writer, named);
  const rows = await q.query<{ key: string }>(
    `SELECT i.key FROM items i JOIN projects p ON p.id = i.project_id
     WHERE p.organization_id = $1 AND p.key = ANY ($2) AND i.key = ANY ($3)`,
    [organization.id, [...trackers], named.items],
  );
  const items = new Set(rows.map(({ key }) => key));
  const lines = [
    ...without(named.projects, [...projects]).map((key) => `projects: ${absent('project', key, organization)}`),
    ...without(named.items, [...items]).map((key) => `items: ${absent('item', key, organization)}`),
  ];
  if (lines.length > 0) throw violations(lines);
}

const absent = (what: string, key: string, organization: { key: string }): string =>
  `There is no ${what} ${quoted(key)} in organization ${organization.key}.`;

const distinct = (keys: readonly string[] | undefined): string[] => [...new Set(keys)];

/** The new list of a writer who saw only some of the stored one. */
function withHidden(sent: string[], stored: string[], seen: string[]): string[] {
  return isDeepStrictEqual(sent, seen) ? stored : [...sent, ...without(stored, seen)];
}

function without(keys: readonly string[], others: readonly string[]): string[] {
  const gone = new Set(others);
  return keys.filter((key) => !gone.has(key));
}

// In the organization's log: an entry is the organization's, whatever projects it names.
function emitKnowledge(
  tx: Tx,
  { organization, actor }: KnowledgeWriter,
  type: 'knowledge.created' | 'knowledge.updated',
  id: string,
  payload: Record<string, unknown>,
): void {
  tx.emit({ type, organization_id: organization.id, entity_type: 'knowledge', entity_id: id, actor, payload });
}

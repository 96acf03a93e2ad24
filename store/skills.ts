// Skills: drafts that are written, versions that are published and stay (spec: planner 3).

import { isDeepStrictEqual } from 'node:util';
import { v7 as uuidv7 } from 'uuid';
import { actorOf, type Action, type Actor, type Principal } from '../domain/actor.ts';
import { conflict, DomainError, notFound } from '../domain/errors.ts';
import type { EventType } from '../domain/event.ts';
import { badCursor, parse, quoted, uuidPattern } from '../domain/input.ts';
import {
  newSkill,
  skillPatch,
  skillPublication,
  type NewSkill,
  type Skill,
  type SkillContent,
  type SkillFile,
  type SkillPatch,
  type SkillPublication,
  type SkillScope,
  type SkillSummary,
  type SkillVersion,
  type SkillVersionSummary,
} from '../domain/skill.ts';
import type { Queryable, Tx } from './database.ts';
import { visibleOrganization, visibleProject } from './projects.ts';
import { authorize, rightsOf, type Scope } from './rights.ts';

interface SummaryRow {
  id: string;
  scope: SkillScope;
  organization_id: string | null;
  project_id: string | null;
  organization: string | null;
  project: string | null;
  name: string;
  description: string;
  draft_version: number;
  latest: number;
  created_at: string;
  updated_at: string;
}

interface SkillRow extends SummaryRow {
  body: string;
  files: SkillFile[];
}

const summaryColumns = `s.id, s.scope, s.organization_id, s.project_id, o.key AS organization, p.key AS project, s.name,
  s.draft_description AS description, s.draft_version, s.latest, s.created_at, s.updated_at`;
const joined = `FROM skills s LEFT JOIN organizations o ON o.id = s.organization_id
  LEFT JOIN projects p ON p.id = s.project_id`;

export interface SkillFilter {
  scope?: SkillScope | undefined;
  /** A key: skills of the organization and of its projects. */
  organization?: string | undefined;
  /** A key: skills of the project alone. */
  project?: string | undefined;
  /** 1-500, default 50. */
  limit?: number | undefined;
  /** The `next` of the page before. */
  after?: string | undefined;
}

export interface SkillPage {
  items: SkillSummary[];
  next?: string;
}

/** One page of the skills that the principal may read, newest first. Errors: not_found, forbidden (the filter's). */
export async function listSkills(q: Queryable, principal: Principal, filter: SkillFilter = {}): Promise<SkillPage> {
  const readable = await readableOwners(q, principal);
  const { organization, project, scope, after } = filter;
  const ofOrganization =
    organization === undefined ? undefined : await visibleOrganization(q, principal, organization, 'organization.read');
  const ofProject = project === undefined ? undefined : await visibleProject(q, principal, project, 'skill.read');
  if (after !== undefined && !(await readableSkill(q, principal, after))) throw badCursor(after);
  const limit = Math.min(Math.max(filter.limit ?? 50, 1), 500);
  const rows = await q.query<SummaryRow>(
    `SELECT ${summaryColumns} ${joined}
     WHERE (s.scope = 'platform' AND $1 OR s.scope = 'organization' AND s.organization_id = ANY ($2::uuid[])
            OR s.project_id = ANY ($3::uuid[]))
       AND ($4::text IS NULL OR s.scope = $4) AND ($5::uuid IS NULL OR s.organization_id = $5)
       AND ($6::uuid IS NULL OR s.project_id = $6) AND ($7::uuid IS NULL OR s.id < $7)
     ORDER BY s.id DESC LIMIT $8`,
    [
      readable.platform,
      readable.organizations,
      readable.projects,
      scope ?? null,
      ofOrganization?.id ?? null,
      ofProject?.id ?? null,
      after ?? null,
      limit + 1,
    ],
  );
  const items = rows.slice(0, limit).map(summary);
  return { items, ...(rows.length > limit ? { next: items.at(-1)!.id } : {}) };
}

export async function getSkill(q: Queryable, principal: Principal, id: string): Promise<Skill> {
  return view(await visibleSkill(q, principal, id, 'skill.read'));
}

/** Creates a draft. Errors: invalid_argument, not_found, forbidden, already_exists (the name, in this scope). */
export async function createSkill(tx: Tx, principal: Principal, input: NewSkill): Promise<Skill> {
  const fields = parse(newSkill, input);
  const owner = await ownerOf(tx, principal, fields);
  const id = uuidv7();
  const inserted = await tx.query(
    `INSERT INTO skills (id, scope, organization_id, project_id, name, draft_description, draft_body, draft_files)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (organization_id, project_id, name) DO NOTHING RETURNING id`,
    [
      id,
      fields.scope,
      owner.organization_id ?? null,
      owner.project_id ?? null,
      fields.name,
      fields.description,
      fields.body,
      JSON.stringify(fields.files),
    ],
  );
  if (inserted.length === 0) {
    const where = fields.scope === 'platform' ? 'the platform' : `this ${fields.scope}`;
    throw new DomainError('already_exists', `There is a skill ${fields.name} of ${where} already: change that one.`);
  }
  const row = (await skillRow(tx, id))!;
  emitSkill(tx, actorOf(principal), 'skill.created', row, { scope: row.scope, draft_version: 1 });
  return view(row);
}

/** Changes what is sent of the draft; where that is how it stands, nothing is written. Conflict: a stale `version`. */
export async function updateSkill(tx: Tx, principal: Principal, id: string, input: SkillPatch): Promise<Skill> {
  const row = await lockedSkill(tx, principal, id);
  const { version, ...patch } = parse(skillPatch, input);
  refuseStale(row, version);
  const fields = (['description', 'body', 'files'] as const).filter(
    (field) => patch[field] !== undefined && !isDeepStrictEqual(patch[field], row[field]),
  );
  if (fields.length === 0) return view(row);
  await tx.query(
    `UPDATE skills SET draft_description = $2, draft_body = $3, draft_files = $4, draft_version = draft_version + 1,
       updated_at = now() WHERE id = $1`,
    [
      row.id,
      patch.description ?? row.description,
      patch.body ?? row.body,
      JSON.stringify(patch.files ?? row.files),
    ],
  );
  const written = (await skillRow(tx, row.id))!;
  emitSkill(tx, actorOf(principal), 'skill.updated', written, { draft_version: written.draft_version, fields });
  return view(written);
}

/** Makes the draft the next version. Conflict: a stale `version`, or a draft that is as the newest version is. */
export async function publishSkill(
  tx: Tx,
  principal: Principal,
  id: string,
  input: SkillPublication,
): Promise<SkillVersion> {
  const row = await lockedSkill(tx, principal, id);
  refuseStale(row, parse(skillPublication, input).version);
  const newest = row.latest === 0 ? undefined : await versionRow(tx, row.id, row.latest);
  if (newest && isDeepStrictEqual(contentOf(row), contentOf(newest))) {
    throw conflict(`The draft is as version ${row.latest} is: there is nothing to publish.`);
  }
  const version = row.latest + 1;
  const actor = actorOf(principal);
  await tx.query(
    `INSERT INTO skill_versions (skill_id, version, description, body, files, published_by)
     SELECT id, $2, draft_description, draft_body, draft_files, $3 FROM skills WHERE id = $1`,
    [row.id, version, JSON.stringify(actor)],
  );
  await tx.query('UPDATE skills SET latest = $2, updated_at = now() WHERE id = $1', [row.id, version]);
  emitSkill(tx, actor, 'skill.published', row, { version, draft_version: row.draft_version });
  return (await versionRow(tx, row.id, version))!;
}

/** One page of a skill's versions, newest first. limit: 1-500, default 50; `after`: a version. */
export async function listSkillVersions(
  q: Queryable,
  principal: Principal,
  id: string,
  window: { limit?: number | undefined; after?: number | undefined } = {},
): Promise<{ items: SkillVersionSummary[]; next?: number }> {
  const { id: skill } = await visibleSkill(q, principal, id, 'skill.read');
  const limit = Math.min(Math.max(window.limit ?? 50, 1), 500);
  const rows = await q.query<SkillVersionSummary>(
    `SELECT version, description, published_by, published_at FROM skill_versions
     WHERE skill_id = $1 AND ($2::bigint IS NULL OR version < $2) ORDER BY version DESC LIMIT $3`,
    [skill, window.after ?? null, limit + 1],
  );
  const items = rows.slice(0, limit);
  return { items, ...(rows.length > limit ? { next: items.at(-1)!.version } : {}) };
}

export async function getSkillVersion(
  q: Queryable,
  principal: Principal,
  id: string,
  version: number,
): Promise<SkillVersion> {
  const skill = await visibleSkill(q, principal, id, 'skill.read');
  const found = await versionRow(q, skill.id, version);
  if (!found) throw notFound(`The skill ${skill.name} has no version ${version}; the newest is ${skill.latest}.`);
  return found;
}

/** Asks for no rights. */
export async function versionRow(q: Queryable, id: string, version: number): Promise<SkillVersion | undefined> {
  const [row] = await q.query<SkillVersion>(
    `SELECT version, description, body, files, published_by, published_at FROM skill_versions
     WHERE skill_id = $1 AND version = $2`,
    [id, version],
  );
  return row;
}

/** Where a new skill goes, when the principal may write skills there. */
async function ownerOf(
  q: Queryable,
  principal: Principal,
  { scope, organization, project }: NewSkill,
): Promise<Scope> {
  if (scope === 'organization') {
    return { organization_id: (await visibleOrganization(q, principal, organization!, 'skill.write')).id };
  }
  if (scope === 'project') {
    const { id, organization_id } = await visibleProject(q, principal, project!, 'skill.write');
    return { project_id: id, organization_id };
  }
  await authorize(q, principal, 'skill.write', {});
  return {};
}

async function readableOwners(
  q: Queryable,
  principal: Principal,
): Promise<{ platform: boolean; organizations: string[]; projects: string[] }> {
  const rights = await rightsOf(q, principal);
  const owners = await q.query<{ project_id: string | null; organization_id: string }>(
    `SELECT NULL::uuid AS project_id, id AS organization_id FROM organizations
     UNION ALL SELECT id, organization_id FROM projects`,
  );
  const readable = owners.filter(({ project_id, organization_id }) =>
    rights('skill.read', { ...(project_id ? { project_id } : {}), organization_id }),
  );
  return {
    platform: rights('skill.read', {}),
    organizations: readable.filter((owner) => !owner.project_id).map((owner) => owner.organization_id),
    projects: readable.flatMap((owner) => owner.project_id ?? []),
  };
}

const scopeOf = ({ organization_id, project_id }: SummaryRow): Scope => ({
  ...(organization_id ? { organization_id } : {}),
  ...(project_id ? { project_id } : {}),
});

async function readableSkill(q: Queryable, principal: Principal, id: string): Promise<boolean> {
  const row = await skillRow(q, id);
  return row !== undefined && (await rightsOf(q, principal))('skill.read', scopeOf(row));
}

/** The skill, when the principal may do the action with it. One that its subject may not read is not found. */
async function visibleSkill(q: Queryable, principal: Principal, id: string, action: Action): Promise<SkillRow> {
  const row = await skillRow(q, id);
  const { actions: _narrowing, ...subject } = principal;
  if (!row || !(await rightsOf(q, subject))('skill.read', scopeOf(row))) {
    throw notFound(`There is no skill ${quoted(id)}.`);
  }
  await authorize(q, principal, action, scopeOf(row));
  return row;
}

/** Nobody else writes the skill until the transaction ends. */
async function lockedSkill(tx: Tx, principal: Principal, id: string): Promise<SkillRow> {
  const skill = await visibleSkill(tx, principal, id, 'skill.write');
  await tx.query('SELECT 1 FROM skills WHERE id = $1 FOR NO KEY UPDATE', [skill.id]);
  return (await skillRow(tx, skill.id))!;
}

async function skillRow(q: Queryable, id: string): Promise<SkillRow | undefined> {
  if (!uuidPattern.test(id)) return undefined;
  const [row] = await q.query<SkillRow>(
    `SELECT ${summaryColumns}, s.draft_body AS body, s.draft_files AS files ${joined} WHERE s.id = $1`,
    [id],
  );
  return row;
}

function refuseStale(row: SkillRow, version: number): void {
  if (version === row.draft_version) return;
  const now = `The draft of ${row.name} has version ${row.draft_version}, not ${version}`;
  throw conflict(`${now}: it was changed meanwhile. Read it and try again.`);
}

const contentOf = ({ description, body, files }: SkillContent): SkillContent => ({ description, body, files });

function summary(row: SummaryRow): SkillSummary {
  const { organization_id: _organization, project_id: _project, organization, project, ...told } = row;
  return { ...told, ...(organization ? { organization } : {}), ...(project ? { project } : {}) };
}

function view(row: SkillRow): Skill {
  const { body, files, ...rest } = row;
  const { description, draft_version: version, ...told } = summary(rest);
  return { ...told, draft: { version, description, body, files } };
}

function emitSkill(
  tx: Tx,
  actor: Actor,
  type: Extract<EventType, `skill.${string}`>,
  row: SummaryRow,
  payload: Record<string, unknown>,
): void {
  tx.emit({ type, ...scopeOf(row), entity_type: 'skill', entity_id: row.id, entity_key: row.name, actor, payload });
}

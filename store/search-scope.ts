// What a reader may find, as SQL gets it: rights are part of the search, so that no hit is lost to hidden ones
// (spec: planner 4, 5).

import type { Principal } from '../domain/actor.ts';
import { forbidden } from '../domain/errors.ts';
import type { KnowledgeKind } from '../domain/knowledge.ts';
import type { HitKind } from '../domain/search.ts';
import { resolveSkills, type Candidate, type SkillPin } from '../domain/skill.ts';
import type { Queryable } from './database.ts';
import type { Project } from './projects.ts';
import { rightsOf } from './rights.ts';

export interface SearchScope {
  /** Whose items are found. */
  projects: readonly string[];
  /** Versions of skills. */
  skills: readonly { id: string; version: number }[];
  /** Whose knowledge is found. */
  organizations: readonly string[];
  /** A kind of knowledge. */
  type?: KnowledgeKind | undefined;
}

type Place = Pick<Project, 'id' | 'organization_id'>;

const actions = { item: 'tracker.read', skill: 'skill.read' } as const;

/** $1 to $4: `scopeParameters`. Items are their project's, entries their organization's, skills their own. */
export const scopeSql = `(
  d.owner = ANY ($1::uuid[]) AND ($2::text IS NULL OR d.type = $2)
  AND (d.version = 0 OR (d.owner, d.version) IN (SELECT * FROM unnest($3::uuid[], $4::integer[]))))`;

export function scopeParameters({ projects, skills, organizations, type }: SearchScope): unknown[] {
  const ids = skills.map(({ id }) => id);
  return [[...projects, ...ids, ...organizations], type ?? null, ids, skills.map(({ version }) => version)];
}

/** A project's items and the skills that it resolves, as far as the principal may read them. Errors: forbidden. */
export async function projectScope(
  q: Queryable,
  principal: Principal,
  project: Place,
  kind?: HitKind,
): Promise<SearchScope> {
  const rights = await rightsOf(q, principal);
  const at = { project_id: project.id, organization_id: project.organization_id };
  const may = { item: rights('tracker.read', at), skill: rights('skill.read', at) };
  if (kind ? !may[kind] : !may.item && !may.skill) throw forbidden(lacking(actions[kind ?? 'item']));
  const having = (wanted: HitKind): Place[] => (may[wanted] && (kind ?? wanted) === wanted ? [project] : []);
  return scopeOf(q, having('item'), having('skill'));
}

/** As `projectScope`, of all projects. */
export async function readableScope(q: Queryable, principal: Principal, kind?: HitKind): Promise<SearchScope> {
  const rights = await rightsOf(q, principal);
  const projects = await q.query<Place>('SELECT id, organization_id FROM projects ORDER BY id');
  const having = (wanted: HitKind): Place[] =>
    projects.filter(
      ({ id, organization_id }) =>
        (kind ?? wanted) === wanted && rights(actions[wanted], { project_id: id, organization_id }),
    );
  return scopeOf(q, having('item'), having('skill'));
}

/** An organization's knowledge. Asks for no rights. */
export function knowledgeScope(organization: string, kind?: KnowledgeKind): SearchScope {
  return { projects: [], skills: [], organizations: [organization], type: kind };
}

async function scopeOf(q: Queryable, trackers: readonly Place[], users: readonly Place[]): Promise<SearchScope> {
  return { projects: trackers.map(({ id }) => id), skills: await resolvedVersions(q, users), organizations: [] };
}

type Skill = Candidate & { organization_id: string | null; project_id: string | null };

/** The version of each skill that each project resolves, in two statements however many the projects are. */
async function resolvedVersions(q: Queryable, projects: readonly Place[]): Promise<SearchScope['skills']> {
  if (projects.length === 0) return [];
  const ids = projects.map(({ id }) => id);
  const skills = await q.query<Skill>(
    `SELECT id, scope, name, latest, organization_id, project_id FROM skills
     WHERE latest > 0 AND (scope = 'platform' OR scope = 'organization' AND organization_id = ANY ($1::uuid[])
                           OR project_id = ANY ($2::uuid[]))`,
    [projects.map(({ organization_id }) => organization_id), ids],
  );
  if (skills.length === 0) return [];
  const pins = await q.query<SkillPin & { project_id: string }>(
    'SELECT project_id, name, version, disabled FROM skill_pins WHERE project_id = ANY ($1::uuid[])',
    [ids],
  );
  const pinsOf = Map.groupBy(pins, (pin) => pin.project_id);
  const found = new Map<string, { id: string; version: number }>();
  for (const project of projects) {
    const own = skills.filter(
      ({ organization_id, project_id }) =>
        (organization_id ?? project.organization_id) === project.organization_id &&
        (project_id ?? project.id) === project.id,
    );
    for (const { id, version } of resolveSkills(own, pinsOf.get(project.id) ?? [])) {
      if (id !== undefined && version > 0) found.set(`${id} ${version}`, { id, version });
    }
  }
  return [...found.values()];
}

const lacking = (action: string): string =>
  `You lack the right ${action} in this project. Ask an administrator for a role that has it.`;

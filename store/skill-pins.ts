// Which skills a project uses: its pins, and what they make of the published skills (spec: planner 3).

import { isDeepStrictEqual } from 'node:util';
import { actorOf, type Actor, type Principal } from '../domain/actor.ts';
import { notFound } from '../domain/errors.ts';
import type { EventType } from '../domain/event.ts';
import { parse, quoted } from '../domain/input.ts';
import {
  resolveSkills,
  skillName,
  skillPinInput,
  type Candidate,
  type ResolvedSkill,
  type SkillPin,
  type SkillPinInput,
} from '../domain/skill.ts';
import type { Queryable, Tx } from './database.ts';
import { lockProject, visibleProject, type Project } from './projects.ts';
import { versionRow } from './skills.ts';

/** What the project resolves, by name. Asks for no rights. */
export async function skillsOf(q: Queryable, project: Project): Promise<ResolvedSkill[]> {
  return resolveSkills(await candidates(q, project), await pinsOf(q, project));
}

/** What the project resolves under a name; undefined when there is nothing or a pin disables it. No rights. */
export async function skillOf(q: Queryable, project: Project, name: string): Promise<ResolvedSkill | undefined> {
  const [skill] = resolveSkills(await candidates(q, project, name), await pinsOf(q, project, name));
  return skill;
}

/** The text of SKILL.md, and what it was resolved to. */
export type SkillText = ResolvedSkill & { body: string };

/**
 * The body of the version that the project resolves. Asks for no rights.
 * Errors: not_found (no such skill here, or a pin's problem).
 */
export async function readSkill(q: Queryable, project: Project, name: string): Promise<SkillText> {
  const skill = await skillOf(q, project, name);
  if (!skill) throw notFound(`Project ${project.key} has no skill ${quoted(name)}; list_skills names those it has.`);
  return skillText(q, skill);
}

/** As `readSkill`, of what was resolved. */
export async function skillText(q: Queryable, skill: ResolvedSkill): Promise<SkillText> {
  const { name, id, version, problem } = skill;
  if (id === undefined || version === 0) throw notFound(`The skill ${name} can't be read. ${problem}`);
  const { body } = (await versionRow(q, id, version))!;
  return { ...skill, body };
}

/** As `skillsOf`, each with the description of its version. */
export async function listProjectSkills(
  q: Queryable,
  principal: Principal,
  projectKey: string,
): Promise<(ResolvedSkill & { description?: string })[]> {
  const project = await visibleProject(q, principal, projectKey, 'skill.read');
  const skills = await skillsOf(q, project);
  const rows = await q.query<{ skill_id: string; description: string }>(
    `SELECT v.skill_id, v.description FROM unnest($1::uuid[], $2::integer[]) AS n (id, version)
     JOIN skill_versions v ON v.skill_id = n.id AND v.version = n.version`,
    [skills.map(({ id }) => id ?? null), skills.map(({ version }) => version)],
  );
  const descriptions = new Map(rows.map((row) => [row.skill_id, row.description]));
  return skills.map((skill) => {
    const description = skill.id && descriptions.get(skill.id);
    return description ? { ...skill, description } : skill;
  });
}

export async function listPins(q: Queryable, principal: Principal, projectKey: string): Promise<SkillPin[]> {
  return pinsOf(q, await visibleProject(q, principal, projectKey, 'skill.read'));
}

/** Sets the pin of a name, known or not. One that stands so already writes nothing. */
export async function pinSkill(
  tx: Tx,
  principal: Principal,
  projectKey: string,
  name: string,
  input: SkillPinInput,
): Promise<SkillPin> {
  const project = await visibleProject(tx, principal, projectKey, 'skill.write');
  const fields = { name: parse(skillName, name), ...parse(skillPinInput, input) };
  await lockProject(tx, project.id);
  const [before] = await pinsOf(tx, project, name);
  if (before && isDeepStrictEqual({ ...before, ...fields }, before)) return before;
  await tx.query(
    `INSERT INTO skill_pins (project_id, name, version, disabled) VALUES ($1, $2, $3, $4)
     ON CONFLICT (project_id, name) DO UPDATE
       SET version = excluded.version, disabled = excluded.disabled, updated_at = now()`,
    [project.id, name, fields.version, fields.disabled],
  );
  emitPin(tx, project, actorOf(principal), 'project.skill_pinned', fields);
  return (await pinsOf(tx, project, name))[0]!;
}

/** Errors: not_found (the project has no pin of that name). */
export async function unpinSkill(tx: Tx, principal: Principal, projectKey: string, name: string): Promise<void> {
  const project = await visibleProject(tx, principal, projectKey, 'skill.write');
  const removed = await tx.query('DELETE FROM skill_pins WHERE project_id = $1 AND name = $2 RETURNING name', [
    project.id,
    name,
  ]);
  if (removed.length === 0) throw notFound(`Project ${project.key} has no pin of a skill ${quoted(name)}.`);
  emitPin(tx, project, actorOf(principal), 'project.skill_unpinned', { name });
}

function candidates(q: Queryable, project: Project, name?: string): Promise<Candidate[]> {
  return q.query<Candidate>(
    `SELECT id, scope, name, latest FROM skills
     WHERE (scope = 'platform' OR (scope = 'organization' AND organization_id = $1) OR project_id = $2)
       AND latest > 0 AND ($3::text IS NULL OR name = $3)`,
    [project.organization_id, project.id, name ?? null],
  );
}

function pinsOf(q: Queryable, project: Project, name?: string): Promise<SkillPin[]> {
  return q.query<SkillPin>(
    `SELECT name, version, disabled, updated_at FROM skill_pins
     WHERE project_id = $1 AND ($2::text IS NULL OR name = $2) ORDER BY name COLLATE "C"`,
    [project.id, name ?? null],
  );
}

function emitPin(
  tx: Tx,
  project: Project,
  actor: Actor,
  type: Extract<EventType, `project.skill_${string}`>,
  payload: Record<string, unknown>,
): void {
  tx.emit({
    type,
    organization_id: project.organization_id,
    project_id: project.id,
    entity_type: 'project',
    entity_id: project.id,
    entity_key: project.key,
    actor,
    payload,
  });
}

// Which skills a project uses, and which there are besides. Pure.

import type { Project, ResolvedSkill, SkillPin, SkillSummary } from '../../../client/index.ts';

export interface UsedSkill extends ResolvedSkill {
  pin?: SkillPin;
}

/** Why a skill is not used here. */
export type Unused = 'draft' | 'disabled' | 'overridden';

export interface OtherSkill {
  skill: SkillSummary;
  why: Unused;
}

export const unusedWords: Record<Unused, string> = {
  draft: 'Not published yet',
  disabled: 'Disabled here',
  overridden: 'Another one of that name goes before it',
};

export const usedSkills = (used: readonly ResolvedSkill[], pins: readonly SkillPin[]): UsedSkill[] =>
  used.map((skill) => {
    const pin = pins.find(({ name }) => name === skill.name);
    return pin ? { ...skill, pin } : skill;
  });

/** Skills of the project, its organization and the platform that it does not use, by name. */
export function otherSkills(
  project: Pick<Project, 'key' | 'organization'>,
  used: readonly ResolvedSkill[],
  pins: readonly SkillPin[],
  all: readonly SkillSummary[],
): OtherSkill[] {
  const ids = new Set(used.map(({ id }) => id));
  const disabled = new Set(pins.filter((pin) => pin.disabled).map(({ name }) => name));
  return all
    .filter((skill) => isFor(skill, project) && !ids.has(skill.id))
    .map((skill) => {
      const why = skill.latest === 0 ? 'draft' : disabled.has(skill.name) ? 'disabled' : 'overridden';
      return { skill, why } as const;
    })
    .sort((a, b) => a.skill.name.localeCompare(b.skill.name, 'en'));
}

function isFor(skill: SkillSummary, { key, organization }: Pick<Project, 'key' | 'organization'>): boolean {
  if (skill.scope === 'project') return skill.project === key;
  return skill.scope === 'platform' || skill.organization === organization;
}

// Words for skills: scopes, pins, what a draft holds. Pure.

import type { Skill, SkillPin, SkillSummary, SkillVersion } from '../../../client/index.ts';
import type { Draft } from '../drafts/draft.ts';

export type Scope = SkillSummary['scope'];

/** From the most general to the most specific. */
export const scopes = ['platform', 'organization', 'project'] as const satisfies readonly Scope[];
export const scopeWords: Record<Scope, string> = {
  platform: 'Platform',
  organization: 'Organization',
  project: 'Project',
};

export interface SkillFields {
  description: string;
  body: string;
  files: SkillVersion['files'];
}
export type SkillDraft = Draft<SkillFields>;

export const emptySkill: SkillFields = { description: '', body: '', files: [] };

export const fieldWords: Record<keyof SkillFields, string> = {
  description: 'Description',
  body: 'SKILL.md',
  files: 'Further files',
};

export const fieldsOf = ({ description, body, files }: SkillFields): SkillFields => ({ description, body, files });

/** To compare by lines; a file begins with its path. */
export function textOf(fields: SkillFields, name: keyof SkillFields): string {
  if (name !== 'files') return fields[name];
  return fields.files.map(({ path, content }) => `${path}:\n${content}`).join('\n\n');
}

/** What a pin does, for a skill whose newest version is `latest`; undefined: nothing. */
export function pinWords(pin: Pick<SkillPin, 'version' | 'disabled'> | undefined): string | undefined {
  if (!pin) return undefined;
  if (pin.disabled) return 'Disabled';
  return pin.version === 0 ? undefined : `Pinned to version ${pin.version}`;
}

/** Where a skill is from: its scope, and whose. */
export function ownerWords({ scope, ...owner }: Pick<Skill, 'scope' | 'organization' | 'project'>): string {
  return scope === 'platform' ? scopeWords.platform : `${scopeWords[scope]} ${owner[scope]}`;
}

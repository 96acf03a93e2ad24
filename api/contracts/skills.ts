// Skills, their versions, a project's pins (spec: planner 3, 10).

import { z } from 'zod';
import {
  skillScopes,
  type newSkill,
  type skillPatch,
  type skillPinInput,
  type skillPublication,
} from '../../domain/skill.ts';
import { actor, limitTo, time, uuid } from './common.ts';

export const skillScope = z.enum(skillScopes);
const version = z.number().int();

/** A file beside SKILL.md: a clean relative path. */
export const skillFile = z.strictObject({ path: z.string(), content: z.string() }).meta({ id: 'SkillFile' });

const identity = {
  id: uuid,
  scope: skillScope,
  /** The key of the organization that it is for; absent for the platform's. */
  organization: z.string().optional(),
  /** The key of the project that it is for; absent for others. */
  project: z.string().optional(),
  name: z.string(),
  latest: version.meta({ description: 'The newest published version; 0: none.' }),
  created_at: time,
  updated_at: time,
};

/** description: the draft's. */
export const skillSummary = z
  .strictObject({ ...identity, description: z.string(), draft_version: version })
  .meta({ id: 'SkillSummary' });
export type SkillSummaryBody = z.infer<typeof skillSummary>;

/** draft: what a publication makes the next version. */
export const skill = z
  .strictObject({
    ...identity,
    draft: z.strictObject({
      version,
      description: z.string(),
      body: z.string().meta({ description: 'The text of SKILL.md.' }),
      files: z.array(skillFile),
    }),
  })
  .meta({ id: 'Skill' });
export type SkillBody = z.infer<typeof skill>;

export const skillVersionSummary = z
  .strictObject({ version, description: z.string(), published_by: actor, published_at: time })
  .meta({ id: 'SkillVersionSummary' });
export type SkillVersionSummaryBody = z.infer<typeof skillVersionSummary>;

/** Immutable. */
export const skillVersion = skillVersionSummary
  .extend({ body: z.string(), files: z.array(skillFile) })
  .meta({ id: 'SkillVersion' });
export type SkillVersionBody = z.infer<typeof skillVersion>;

/** version 0: nothing can be used, and `problem` says why. id and scope: of a name that some published skill has. */
export const resolvedSkill = z
  .strictObject({
    name: z.string(),
    id: uuid.optional(),
    scope: skillScope.optional(),
    version,
    description: z.string().optional(),
    problem: z.string().optional(),
  })
  .meta({ id: 'ResolvedSkill' });
export type ResolvedSkillBody = z.infer<typeof resolvedSkill>;

/** version 0: the newest. */
export const skillPin = z
  .strictObject({ name: z.string(), version, disabled: z.boolean(), updated_at: time })
  .meta({ id: 'SkillPin' });
export type SkillPinBody = z.infer<typeof skillPin>;

/** GET /skills, newest first; `organization`: also those of its projects. */
export const skillQuery = z.strictObject({
  scope: skillScope.optional(),
  organization: z.string().optional(),
  project: z.string().optional(),
  limit: limitTo(500).default(50),
  after: z.string().optional(),
});
export type SkillQuery = z.input<typeof skillQuery>;

/** POST /skills, PATCH /skills/{id}, POST /skills/{id}/publish, PUT /projects/{p}/skills/{name}/pin */
export { newSkill, skillPatch, skillPinInput, skillPublication } from '../../domain/skill.ts';
export type NewSkillBody = z.input<typeof newSkill>;
export type SkillPatchBody = z.input<typeof skillPatch>;
export type SkillPublicationBody = z.input<typeof skillPublication>;
export type SkillPinInputBody = z.input<typeof skillPinInput>;

// list_skills (spec: planner 6).

import { z } from 'zod';
import { skillsOf } from '../../store/skill-pins.ts';
import { defineTool } from './tool.ts';

export const listSkills = defineTool({
  name: 'list_skills',
  description:
    'Lists the skills that the project uses, by name: written instructions for a kind of work, each from the ' +
    'platform, the organization or the project, in one version. One with a problem cannot be read.',
  action: 'skill.read',
  writes: false,
  input: z.strictObject({}),
  narrow: 'the list is long: its first part is all that can be shown; read_skill finds every skill by its name',
  run: async ({ tx, project }) => ({
    items: (await skillsOf(tx, project)).map(({ id: _id, ...told }) => told),
  }),
});

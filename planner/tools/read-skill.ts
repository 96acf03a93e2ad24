// read_skill (spec: planner 6).

import { z } from 'zod';
import { skillName } from '../../domain/skill.ts';
import { readSkill as read } from '../../store/skill-pins.ts';
import { defineTool } from './tool.ts';

export const readSkill = defineTool({
  name: 'read_skill',
  description: 'Shows the text of a skill in the version that the project uses. list_skills names the skills.',
  action: 'skill.read',
  writes: false,
  input: z.strictObject({ name: skillName }),
  narrow: 'the skill is long: its first part is all that can be shown',
  async run({ tx, project }, input) {
    const { name, version, body } = await read(tx, project, input.name);
    return { name, version, body };
  },
});

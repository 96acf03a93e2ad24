// get_knowledge (spec: planner 6).

import { z } from 'zod';
import { knowledgeId } from '../../domain/knowledge.ts';
import { knowledgeEntry } from '../../store/knowledge.ts';
import { knowledgeOf } from './knowledge.ts';
import { defineTool } from './tool.ts';

export const getKnowledge = defineTool({
  name: 'get_knowledge',
  description: "Shows one entry of the organization's knowledge base whole, with the version that an update must name.",
  action: 'knowledge.read',
  writes: false,
  input: z.strictObject({ id: knowledgeId }),
  narrow: 'the entry is long: its first part is all that can be shown',
  run: (context, { id }) => knowledgeEntry(context.tx, knowledgeOf(context), id),
});

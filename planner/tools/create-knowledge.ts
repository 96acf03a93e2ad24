// create_knowledge (spec: planner 6).

import { z } from 'zod';
import { newKnowledgeFields } from '../../domain/knowledge.ts';
import { insertKnowledge } from '../../store/knowledge.ts';
import { knowledgeOf } from './knowledge.ts';
import { defineTool } from './tool.ts';

export const createKnowledge = defineTool({
  name: 'create_knowledge',
  description:
    "Adds an entry to the organization's knowledge base, for this project: a document, a decision with its reasons, " +
    'a note, or a debt (what was left undone on purpose). It takes effect at once. Look for an entry on the subject ' +
    'first, and update that one instead.',
  action: 'knowledge.write',
  writes: true,
  input: z.strictObject(newKnowledgeFields),
  narrow: 'the entry is stored; get_knowledge shows it',
  run: (context, input) =>
    insertKnowledge(context.tx, knowledgeOf(context), { ...input, projects: [context.project.key] }),
});

// update_knowledge (spec: planner 6).

import { plannerKnowledgePatch } from '../../domain/knowledge.ts';
import { writeKnowledge } from '../../store/knowledge.ts';
import { knowledgeOf } from './knowledge.ts';
import { defineTool } from './tool.ts';

export const updateKnowledge = defineTool({
  name: 'update_knowledge',
  description:
    'Changes an entry of the knowledge base: only what is sent, as a new version; older ones are kept. version is ' +
    'the one that get_knowledge showed; if the entry has changed since, read it again. items is the whole list.',
  action: 'knowledge.write',
  writes: true,
  input: plannerKnowledgePatch,
  narrow: 'the update is stored; get_knowledge shows it',
  run: (context, { id, ...patch }) => writeKnowledge(context.tx, knowledgeOf(context), id, patch),
});

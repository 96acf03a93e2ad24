// search_knowledge (spec: planner 4, 6).

import { knowledgeSearch } from '../../domain/search.ts';
import { knowledgeScope } from '../../store/search-scope.ts';
import { searchEntries } from '../../store/search.ts';
import { knowledgeOf } from './knowledge.ts';
import { defineTool } from './tool.ts';

export const searchKnowledge = defineTool({
  name: 'search_knowledge',
  description:
    "Searches the organization's knowledge base (documents, decisions, notes, debts) by meaning and by words, best " +
    'first: each entry without its body, with a snippet of it. get_knowledge shows an entry whole.',
  action: 'knowledge.read',
  writes: false,
  input: knowledgeSearch,
  narrow: 'lower limit, or name a kind',
  prepare: ({ embedQuery }, { query }) => embedQuery(query),
  async run(context, { query, kind, limit }) {
    const reader = knowledgeOf(context);
    const scope = knowledgeScope(reader.organization.id, kind);
    return searchEntries(context.tx, reader, scope, { text: query, embedding: context.prepared }, limit);
  },
});

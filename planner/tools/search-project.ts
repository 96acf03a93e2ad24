// search_project (spec: planner 4, 6).

import { projectSearch } from '../../domain/search.ts';
import { projectScope } from '../../store/search-scope.ts';
import { searchHits } from '../../store/search.ts';
import { defineTool } from './tool.ts';

export const searchProject = defineTool({
  name: 'search_project',
  description:
    "Searches the project's items and the skills that it uses, by meaning and by words, best first: kind, ref (an " +
    "item's key, a skill's name), title, snippet. get_item and read_skill show them whole.",
  // Of each hit the right to its kind is asked for.
  action: 'project.read',
  writes: false,
  input: projectSearch,
  narrow: 'lower limit, or name a kind',
  prepare: ({ embedQuery }, { query }) => embedQuery(query),
  async run({ tx, project, human, prepared }, { query, kind, limit }) {
    const scope = await projectScope(tx, human, project, kind);
    return searchHits(tx, scope, { text: query, embedding: prepared }, limit);
  },
});

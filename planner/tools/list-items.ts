// list_items (spec: planner 6).

import { itemFilter, itemsOf } from '../../store/item-rows.ts';
import { defineTool } from './tool.ts';

export const listItems = defineTool({
  name: 'list_items',
  description:
    "Lists the project's items (milestones, epics, tickets) by number, as summaries. Filters narrow the list; when " +
    'it is cut, `next` is the key to pass as `after` for the following page.',
  action: 'tracker.read',
  writes: false,
  input: itemFilter,
  narrow: 'filter by kind, state, epic or milestone, or lower limit and page with after',
  run: ({ tx, project }, input) => itemsOf(tx, project, input),
});

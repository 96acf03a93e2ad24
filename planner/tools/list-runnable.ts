// list_runnable (spec: planner 6).

import { z } from 'zod';
import { runnableOf } from '../../store/item-rows.ts';
import { defineTool } from './tool.ts';

export const listRunnable = defineTool({
  name: 'list_runnable',
  description: 'Lists the tickets that can be worked on now: state ready, and no unresolved blocker. By number.',
  action: 'tracker.read',
  writes: false,
  input: z.strictObject({}),
  narrow: 'use list_items with kind ticket, state ready and a limit',
  run: async ({ tx, project }) => ({ items: await runnableOf(tx, project) }),
});

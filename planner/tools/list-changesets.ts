// list_changesets (spec: planner 6).

import { z } from 'zod';
import { statusField } from '../../domain/changeset.ts';
import { changesetsOf } from '../../store/changesets.ts';
import { defineTool } from './tool.ts';

export const listChangesets = defineTool({
  name: 'list_changesets',
  description:
    "Lists the project's changesets, newest first (the newest 500): id, title, status, how many operations each has " +
    'and how many of them were approved.',
  action: 'tracker.read',
  writes: false,
  input: z.strictObject({ status: statusField.optional() }),
  narrow: 'filter by status',
  async run({ tx, project }, { status }) {
    const { items } = await changesetsOf(tx, project, { status, limit: 500 });
    return { items: items.map(({ proposed_by: _by, created_at: _at, ...told }) => told) };
  },
});

// get_item (spec: planner 6).

import { z } from 'zod';
import { notFound } from '../../domain/errors.ts';
import { itemKey, type ItemDependency } from '../../domain/item.ts';
import { itemRows, itemView } from '../../store/item-rows.ts';
import { defineTool } from './tool.ts';

export const getItem = defineTool({
  name: 'get_item',
  description:
    'Shows one item of the project whole: description, acceptance criteria, policy, version, and what it blocks, is ' +
    'blocked by and relates to.',
  action: 'tracker.read',
  writes: false,
  input: z.strictObject({ key: itemKey.meta({ description: 'For example WEB-12.' }) }),
  narrow: 'the item is long: its first part is all that can be shown',
  async run({ tx, project }, { key }) {
    const [row] = await itemRows(tx, project, [key]);
    if (!row) throw notFound(`There is no item ${key} in project ${project.key}.`);
    const { dependencies, created_at: _created, updated_at: _updated, ...item } = await itemView(tx, row);
    const { blocks, blocked_by, relates } = dependencies;
    return { ...item, dependencies: { blocks: ends(blocks), blocked_by: ends(blocked_by), relates: ends(relates) } };
  },
});

// The edges' ids are for removing them, which the planner can't do.
const ends = (dependencies: readonly ItemDependency[]): Omit<ItemDependency, 'id'>[] =>
  dependencies.map(({ id: _id, ...end }) => end);

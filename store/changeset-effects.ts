// The effects of approved operations, in order, inside the apply's transaction (spec: planner 2).

import type { Actor } from '../domain/actor.ts';
import { namedKeys, type Operation, type OperationResult } from '../domain/changeset.ts';
import { DomainError } from '../domain/errors.ts';
import type { Tx } from './database.ts';
import { insertDependency } from './edges.ts';
import { itemRows, type ItemRow, type Links } from './item-rows.ts';
import { insertItem, writeItem } from './item-writes.ts';
import type { Project } from './projects.ts';

interface Named {
  id: string;
  key: string;
}

/**
 * Runs the operations with these ascending indices, already judged; the project and the updated items are locked.
 * One result an operation, `{}` for one that was not approved. A failure names its operation's 1-based number.
 */
export async function applyOperations(
  tx: Tx,
  project: Project,
  actor: Actor,
  operations: readonly Operation[],
  approved: readonly number[],
  locked: readonly ItemRow[],
): Promise<OperationResult[]> {
  const named = new Map<string, Named>();
  for (const row of await itemRows(tx, project, namedKeys(operations))) named.set(row.key, row);
  const results: OperationResult[] = operations.map(() => ({}));
  for (const index of approved) {
    try {
      results[index] = await applyOne(tx, project, actor, operations[index]!, named, locked);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      throw new DomainError(error.code, `Nothing was applied. operation ${index + 1}: ${error.message}`);
    }
  }
  return results;
}

async function applyOne(
  tx: Tx,
  project: Project,
  actor: Actor,
  operation: Operation,
  named: Map<string, Named>,
  locked: readonly ItemRow[],
): Promise<OperationResult> {
  switch (operation.kind) {
    case 'create_item': {
      const { create, ref } = operation;
      const item = await insertItem(tx, project, actor, create, linkIds(create, named));
      named.set(`$${ref}`, item);
      return { key: item.key };
    }
    case 'update_item': {
      const { item, ...patch } = operation.update;
      const row = locked.find(({ key }) => key === item)!;
      // The event names keys: a `$ref` has one by now.
      const links = { epic: nameOf(patch.epic, named, 'key'), milestone: nameOf(patch.milestone, named, 'key') };
      await writeItem(tx, project, actor, row, { ...patch, ...links }, linkIds(patch, named));
      return { key: item };
    }
    case 'add_dependency': {
      const { type, from, to } = operation.dependency;
      const added = await insertDependency(tx, project, actor, type, named.get(from)!, named.get(to)!);
      return { dependency: added.id };
    }
  }
}

const linkIds = (links: Links, named: ReadonlyMap<string, Named>): Links => ({
  epic: nameOf(links.epic, named, 'id'),
  milestone: nameOf(links.milestone, named, 'id'),
});

function nameOf(
  reference: string | undefined,
  named: ReadonlyMap<string, Named>,
  as: keyof Named,
): string | undefined {
  return reference ? named.get(reference)![as] : reference;
}

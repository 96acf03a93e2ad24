// Milestone > epic > ticket, from a flat list (spec: planner 1). Pure.

import type { ItemSummary } from '../../../client/index.ts';
import { isResolved } from './words.ts';

export interface Branch {
  item: ItemSummary;
  below: Branch[];
  /** Tickets below, at any depth, and how many of them are done or cancelled. */
  tickets: number;
  resolved: number;
}

/** Each item once: a ticket under its epic, else under its milestone, else at the top. In the list's order. */
export function hierarchy(items: readonly ItemSummary[]): Branch[] {
  const branches = new Map(items.map((item): [string, Branch] => [item.key, leaf(item)]));
  const top: Branch[] = [];
  for (const branch of branches.values()) {
    const { epic, milestone } = branch.item;
    const parent = (epic && branches.get(epic)) || (milestone && branches.get(milestone));
    (parent ? parent.below : top).push(branch);
  }
  top.forEach(count);
  return top;
}

const leaf = (item: ItemSummary): Branch => ({ item, below: [], tickets: 0, resolved: 0 });

function count(branch: Branch): void {
  for (const child of branch.below) {
    count(child);
    branch.tickets += child.tickets;
    branch.resolved += child.resolved;
  }
  if (branch.item.kind !== 'ticket') return;
  branch.tickets++;
  if (isResolved(branch.item.state)) branch.resolved++;
}

// Which operations of a changeset are chosen: always closed under `$ref` (spec: planner 2). Pure.

import type { Operation } from '../../../client/index.ts';

export type Choice = ReadonlySet<number>;

/** A change of the choice, and what it took along, as indices. */
export interface Chosen {
  choice: Choice;
  also: number[];
}

/** The names that an operation refers to: keys, or `$ref`s of earlier creates. */
export function namesIn(operation: Operation): string[] {
  switch (operation.kind) {
    case 'create_item':
      return [operation.create.epic, operation.create.milestone].filter(isName);
    case 'update_item':
      return [operation.update.epic, operation.update.milestone].filter(isName);
    case 'add_dependency':
      return [operation.dependency.from, operation.dependency.to];
  }
}

const isName = (name: string | undefined): name is string => name !== undefined && name !== '';

/** The index of the operation that creates `$ref`. */
export function creators(operations: readonly Operation[]): Map<string, number> {
  return new Map(
    operations.flatMap((each, index) => (each.kind === 'create_item' ? [[`$${each.ref}`, index] as const] : [])),
  );
}

export const chooseAll = (operations: readonly Operation[]): Choice => new Set(operations.keys());

/** Turns one operation on, with all that it needs, or off, with all that uses it. */
export function toggle(operations: readonly Operation[], choice: Choice, index: number): Chosen {
  const on = !choice.has(index);
  const links = on ? needs(operations) : uses(operations);
  const reached = new Set([index]);
  for (const each of reached) for (const next of links[each] ?? []) reached.add(next);
  const also = [...reached].filter((each) => each !== index && choice.has(each) !== on).sort((a, b) => a - b);
  const next = new Set(choice);
  for (const each of reached) {
    if (on) next.add(each);
    else next.delete(each);
  }
  return { choice: next, also };
}

/** What each operation needs, directly. */
function needs(operations: readonly Operation[]): number[][] {
  const made = creators(operations);
  return operations.map((each) => namesIn(each).flatMap((name) => made.get(name) ?? []));
}

/** What uses each operation, directly. */
function uses(operations: readonly Operation[]): number[][] {
  const found = operations.map((): number[] => []);
  needs(operations).forEach((needed, user) => {
    for (const each of needed) found[each]?.push(user);
  });
  return found;
}

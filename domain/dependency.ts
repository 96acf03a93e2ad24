// Edges between items: `blocks`, directed and acyclic, and `relates`, undirected (spec: planner 1).

import { z } from 'zod';
import { itemKey } from './item.ts';

export const dependencyTypes = ['blocks', 'relates'] as const;
export type DependencyType = (typeof dependencyTypes)[number];

/** An edge between two names: item keys, or within a changeset `$ref`s. */
export interface Edge {
  type: DependencyType;
  from: string;
  to: string;
}

/** A stored edge; `relates` has no direction. */
export interface Dependency extends Edge {
  id: string;
}

export const newDependency = z.strictObject({ type: z.enum(dependencyTypes), to: itemKey });

/** The edges of one project, asked before each new one. */
export class Graph {
  readonly #blocks = new Map<string, Set<string>>();
  readonly #relates = new Set<string>();

  constructor(edges: Iterable<Edge> = []) {
    for (const edge of edges) this.add(edge);
  }

  add(edge: Edge): void {
    if (edge.type === 'relates') {
      this.#relates.add(pair(edge));
      return;
    }
    const blocked = this.#blocks.get(edge.from) ?? new Set();
    this.#blocks.set(edge.from, blocked.add(edge.to));
  }

  /** Why the edge can't be added; undefined when it can. A cycle is told with its path. */
  violation(edge: Edge): { reason: 'self' | 'duplicate' | 'cycle'; message: string } | undefined {
    const { type, from, to } = edge;
    if (from === to) return { reason: 'self', message: `${from} can't depend on itself` };
    if (type === 'relates') {
      if (!this.#relates.has(pair(edge))) return undefined;
      return { reason: 'duplicate', message: `${from} relates to ${to} already` };
    }
    if (this.#blocks.get(from)?.has(to)) return { reason: 'duplicate', message: `${from} blocks ${to} already` };
    const path = this.path(to, from);
    if (!path) return undefined;
    return { reason: 'cycle', message: `${from} blocks ${to} would close a cycle: ${[from, ...path].join(' -> ')}` };
  }

  /** A shortest way along `blocks` from one name to another, both ends included. */
  path(from: string, to: string): string[] | undefined {
    const cameFrom = new Map<string, string | undefined>([[from, undefined]]);
    for (const name of cameFrom.keys()) {
      if (name === to) return trace(cameFrom, to);
      for (const next of this.#blocks.get(name) ?? []) {
        if (!cameFrom.has(next)) cameFrom.set(next, name);
      }
    }
    return undefined;
  }
}

function trace(cameFrom: ReadonlyMap<string, string | undefined>, to: string): string[] {
  const path: string[] = [];
  for (let name: string | undefined = to; name !== undefined; name = cameFrom.get(name)) path.unshift(name);
  return path;
}

const pair = ({ from, to }: Edge): string => (from < to ? `${from} ${to}` : `${to} ${from}`);

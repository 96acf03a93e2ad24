// `planner items`: the items of a project, all pages.

import { createRest, pages, type ItemQuery, type ItemSummary } from '../client/index.ts';
import { cleanLine, howToGetRole, table, UsageError } from './print.ts';
import type { Target } from './target.ts';

export interface ItemOptions {
  project?: string;
  kind?: string;
  state?: string;
  json?: boolean;
}

/** Errors: the client's (an unknown kind or state among them); UsageError when the project is not clear. */
export async function listItems(target: Target, options: ItemOptions): Promise<string> {
  const rest = createRest(target);
  const project = options.project?.toUpperCase() ?? onlyProject((await rest.me()).projects);
  const filter = {
    ...(options.kind === undefined ? {} : { kind: options.kind }),
    ...(options.state === undefined ? {} : { state: options.state }),
  } as ItemQuery;
  const rows: ItemSummary[] = [];
  for await (const row of pages((page) => rest.items(project, { ...filter, limit: 500, ...page }))) rows.push(row);
  if (options.json) return JSON.stringify({ items: rows }, null, 2);
  if (rows.length === 0) return 'No items.';
  const cells = rows.map((row) => [
    row.key,
    row.kind,
    row.state,
    row.type ?? '',
    row.epic ?? '',
    row.milestone ?? '',
    cleanLine(row.title, 100),
  ]);
  return table(['key', 'kind', 'state', 'type', 'epic', 'milestone', 'title'], cells);
}

function onlyProject(projects: readonly { key: string }[]): string {
  const [first, ...others] = projects;
  if (first && others.length === 0) return first.key;
  if (!first) throw new UsageError(`You may not see any project. ${howToGetRole}`);
  throw new UsageError(`Name a project with --project: ${projects.map((project) => project.key).join(', ')}.`);
}

// `planner search`: the state of the search index, and its rebuild. Works on the database itself.

import { openDatabase, type Database } from '../store/database.ts';
import { indexState, rebuildSearch } from '../store/search-index.ts';
import { table } from './print.ts';

/** How many documents there are of each kind, and what embedded them. */
export async function searchStatusCommand(databaseUrl: string, options: { json?: boolean }): Promise<string> {
  return withDatabase(databaseUrl, async (database) => {
    const state = await indexState(database);
    if (options.json) return JSON.stringify(state);
    const rows = state.documents.map(({ kind, model, count }) => [kind, model ?? '(not yet)', String(count)]);
    const waiting = state.waiting === 0 ? 'All events are followed.' : `Events wait in ${state.waiting} logs.`;
    if (rows.length === 0) return `Nothing is indexed. ${waiting}`;
    return `${table(['KIND', 'EMBEDDED BY', 'TEXTS'], rows)}\n${waiting}`;
  });
}

/** A running worker does the work, from the first event on. */
export async function rebuildSearchCommand(databaseUrl: string): Promise<string> {
  return withDatabase(databaseUrl, async (database) => {
    await rebuildSearch(database);
    return 'The workers write and embed everything anew; "planner search status" shows how far they are.';
  });
}

async function withDatabase<Result>(url: string, body: (database: Database) => Promise<Result>): Promise<Result> {
  const database = openDatabase(url, { max: 1, name: 'planner search' });
  try {
    return await body(database);
  } finally {
    await database.close();
  }
}

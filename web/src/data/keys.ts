// Keys of the query cache. A shorter key names all that begins with it, for invalidation.

export const keys = {
  me: ['me'],
  /** All that is shown of items: lists, single ones, histories, dependencies. */
  allItems: ['items'],
  items: (project: string, query: object = {}) => ['items', 'list', project, query],
  item: (key: string) => ['items', 'one', key],
  history: (key: string) => ['items', 'one', key, 'history'],
  allChangesets: ['changesets'],
  changesets: (project: string, query: object = {}) => ['changesets', 'list', project, query],
  changeset: (id: string) => ['changesets', 'one', id],
  sessions: (project: string) => ['sessions', project],
  session: (id: string) => ['session', id],
  repositories: ['repositories'],
  allRuns: ['runs'],
  runs: (project: string) => ['runs', 'list', project],
  run: (id: string) => ['runs', 'one', id],
  artifact: (run: string, attempt: number, name: string) => ['runs', 'one', run, 'artifact', attempt, name],
  turns: (session: string) => ['turns', session],
} as const;

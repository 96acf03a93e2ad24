// What the plan's views read of the API: the project's items by key, rights, one item, histories.

import { useQuery, useQueryClient, type QueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { pages, type Event, type Item, type ItemSummary, type Rest } from '../../../client/index.ts';
import { useMe, useRest } from '../data/client.tsx';
import { collected } from '../data/collected.ts';
import { keys } from '../data/keys.ts';
import { useProject } from '../data/project.ts';
import { rightsIn, type Rights } from './rules.ts';

export type ItemsByKey = ReadonlyMap<string, ItemSummary>;

/** All of the project's items, by number; `byKey` is empty until they are read. */
export function useItems() {
  const rest = useRest();
  const project = useProject();
  const query = useQuery({ queryKey: keys.items(project.key), queryFn: () => allItems(rest, project.key) });
  const byKey = useMemo((): ItemsByKey => new Map(query.data?.map((item) => [item.key, item])), [query.data]);
  return { ...query, byKey };
}

const allItems = (rest: Rest, project: string): Promise<ItemSummary[]> =>
  collected(pages((page) => rest.items(project, { ...page, limit: 500 })));

export function useRunnable() {
  const rest = useRest();
  const project = useProject();
  return useQuery({
    queryKey: ['items', 'runnable', project.key],
    queryFn: async () => new Set((await rest.runnable(project.key)).items.map(({ key }) => key)),
  });
}

export function useItem(key: string) {
  const rest = useRest();
  return useQuery({ queryKey: keys.item(key), queryFn: () => rest.item(key) });
}

/** Oldest first. */
export function useHistory(key: string, enabled = true) {
  const rest = useRest();
  return useQuery({
    queryKey: keys.history(key),
    queryFn: (): Promise<Event[]> => collected(pages((page) => rest.history(key, historyPage(page.after)))),
    enabled,
  });
}

const historyPage = (after: string | undefined) => ({ limit: 500, ...(after ? { after: Number(after) } : {}) });

export function useRights(): Rights {
  const { bindings } = useMe();
  const project = useProject();
  return useMemo(() => rightsIn(project, bindings), [project, bindings]);
}

/** Shows a written item at once; the project's events bring what else has changed. */
export function useKeepItem(): (item: Item) => void {
  const queries = useQueryClient();
  return (item) => keepItem(queries, item);
}

function keepItem(queries: QueryClient, item: Item): void {
  const project = item.key.slice(0, item.key.lastIndexOf('-'));
  queries.setQueryData(keys.item(item.key), item);
  queries.setQueryData<ItemSummary[]>(keys.items(project), (items) => items && placed(items, summaryOf(item)));
  void queries.invalidateQueries({ queryKey: keys.allItems });
}

function placed(items: readonly ItemSummary[], item: ItemSummary): ItemSummary[] {
  const found = items.some(({ key }) => key === item.key);
  return found ? items.map((each) => (each.key === item.key ? item : each)) : [...items, item];
}

function summaryOf({ key, kind, title, state, type, epic, milestone }: Item): ItemSummary {
  return { key, kind, title, state, type, epic, milestone };
}

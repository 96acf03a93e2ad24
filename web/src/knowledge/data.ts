// What the views of knowledge read, and who may write it.

import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { pages, type KnowledgeEntry, type KnowledgeVersionSummary } from '../../../client/index.ts';
import { useRest } from '../data/client.tsx';
import { collected } from '../data/collected.ts';
import { keys } from '../data/keys.ts';
import { useProject } from '../data/project.ts';
import { useMay } from '../data/may.ts';
import type { Kind } from './words.ts';

/** A project's events do not tell what another project's people write. */
const againMs = 30_000;

export interface Filter {
  kind?: Kind;
  /** A key. */
  project?: string;
}

/** Of the organization, newest first. */
export function useKnowledge(filter: Filter) {
  const rest = useRest();
  const { organization } = useProject();
  return useInfiniteQuery({
    queryKey: keys.knowledge(organization, filter),
    queryFn: ({ pageParam }) => rest.knowledge(organization, { ...filter, limit: 50, after: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next,
    refetchInterval: againMs,
  });
}

/** By words and meaning; nothing is asked while `q` is blank. */
export function useFound(q: string, kind: Kind | undefined) {
  const rest = useRest();
  const { organization } = useProject();
  const query = { q, limit: 20, ...(kind ? { kind } : {}) };
  return useQuery({
    queryKey: keys.knowledgeFound(organization, query),
    queryFn: () => rest.searchKnowledge(organization, query),
    enabled: q !== '',
    placeholderData: keepPreviousData,
  });
}

export function useEntry(id: string) {
  const rest = useRest();
  const { organization } = useProject();
  return useQuery({
    queryKey: keys.entry(organization, id),
    queryFn: () => rest.knowledgeEntry(organization, id),
    refetchInterval: againMs,
  });
}

/** Newest first. */
export function useEntryVersions(id: string) {
  const rest = useRest();
  const { organization } = useProject();
  return useQuery({
    queryKey: keys.entryVersions(organization, id),
    queryFn: (): Promise<KnowledgeVersionSummary[]> =>
      collected(
        pages(({ after }) =>
          rest.knowledgeVersions(organization, id, { limit: 500, ...(after ? { after: Number(after) } : {}) }),
        ),
      ),
  });
}

/** `version` 0: none. */
export function useEntryVersion(id: string, version: number) {
  const rest = useRest();
  const { organization } = useProject();
  return useQuery({
    queryKey: keys.entryVersion(organization, id, version),
    queryFn: () => rest.knowledgeVersion(organization, id, version),
    staleTime: Infinity,
    enabled: version > 0,
  });
}

/** Shows a written entry at once, and reads anew what it changed. */
export function useKeepEntry(): (entry: KnowledgeEntry) => void {
  const queries = useQueryClient();
  const { organization } = useProject();
  return (entry) => {
    queries.setQueryData(keys.entry(organization, entry.id), entry);
    void queries.invalidateQueries({ queryKey: keys.allKnowledge });
  };
}

export function useMayWrite(): boolean {
  return useMay()('knowledge.write', 'organization');
}

// A project's sessions, newest first, as far as they were read.

import { useInfiniteQuery } from '@tanstack/react-query';
import { useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { useProject } from '../data/project.ts';

export function useSessions() {
  const rest = useRest();
  const project = useProject();
  const list = useInfiniteQuery({
    queryKey: keys.sessions(project.key),
    queryFn: ({ pageParam }) => rest.sessions(project.key, { limit: 50, ...(pageParam ? { after: pageParam } : {}) }),
    initialPageParam: '',
    getNextPageParam: (page) => page.next,
  });
  return { list, sessions: list.data?.pages.flatMap(({ items }) => items) ?? [] };
}

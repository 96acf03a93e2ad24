// What others change shows at once: a project's events invalidate what the query cache holds of it.

import { useQueryClient, type QueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { StreamEvent } from '../../../client/index.ts';
import { useRealtime } from './client.tsx';
import { keys } from './keys.ts';

/** Events arrive in bursts; each view is read again once a burst. */
const burstMs = 60;

export function useLiveProject(project: string): void {
  const realtime = useRealtime();
  const queries = useQueryClient();
  useEffect(() => {
    const stale = collector(queries);
    const feed = realtime.subscribe(`project:${project}`, {
      onEvent: (event) => stale.add(...touched(project, event)),
      onResync: () => void queries.invalidateQueries(),
    });
    return () => {
      feed.close();
      stale.flush();
    };
  }, [realtime, queries, project]);
}

type Key = readonly unknown[];

/** What an event makes stale. */
export function touched(project: string, event: Pick<StreamEvent, 'type'>): Key[] {
  const [family] = event.type.split('.');
  switch (family) {
    case 'item':
    case 'dependency':
      // A changeset's review shows items as they are now.
      return [keys.allItems, keys.allChangesets];
    case 'changeset':
      return [keys.allChangesets];
    case 'planner':
      return [keys.sessions(project), ['turns']];
    case 'role_binding':
      return [keys.me];
    default:
      return [];
  }
}

function collector(queries: QueryClient) {
  const waiting = new Map<string, Key>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    for (const queryKey of waiting.values()) void queries.invalidateQueries({ queryKey });
    waiting.clear();
  };
  return {
    flush,
    add(...stale: Key[]): void {
      for (const key of stale) waiting.set(JSON.stringify(key), key);
      if (waiting.size > 0) timer ??= setTimeout(flush, burstMs);
    },
  };
}

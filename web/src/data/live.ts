// What others change shows at once: a project's events invalidate what the query cache holds of it.

import { useQueryClient, type QueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useConnection, useRealtime } from './client.tsx';
import { touched, type Key } from './touched.ts';

/** Events arrive in bursts; each view is read again once a burst. */
const burstMs = 60;

export function useLiveProject(project: string): void {
  const realtime = useRealtime();
  const queries = useQueryClient();
  const connection = useConnection();
  useEffect(() => {
    // What could not be read while the connection was lost.
    if (connection !== 'open') return;
    void queries.invalidateQueries({ predicate: (query) => query.state.status === 'error' });
  }, [connection, queries]);
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

// What the views of runs read: lists, one run and what it tells live, repositories, rights, the time.

import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { nextFrame } from '../base/next-frame.ts';
import { useMe, useRealtime, useRest } from '../data/client.tsx';
import { keys } from '../data/keys.ts';
import { useProject } from '../data/project.ts';
import { emptyLive, foldRun, type LiveRun } from './live-run.ts';
import { runRightsIn, type RunRights } from './rules.ts';
import { isOpen } from './words.ts';

/** While a run of the list goes on; events tell of its start and its end only. */
const listEveryMs = 10_000;

export function useRuns() {
  const rest = useRest();
  const { key: project } = useProject();
  return useInfiniteQuery({
    queryKey: keys.runs(project),
    queryFn: ({ pageParam }) => rest.runs({ project, limit: 50, after: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next,
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ items }) => items.some(isOpen)) ? listEveryMs : false,
  });
}

export function useRun(id: string) {
  const rest = useRest();
  return useQuery({ queryKey: keys.run(id), queryFn: () => rest.run(id) });
}

/** Those of the project. */
export function useRepositories() {
  const rest = useRest();
  const { key } = useProject();
  return useQuery({
    queryKey: keys.repositories,
    queryFn: () => rest.repositories(),
    select: ({ items }) => items.filter(({ project }) => project === key),
  });
}

export function useRunRights(): RunRights {
  const { bindings } = useMe();
  const project = useProject();
  return useMemo(() => runRightsIn(project, bindings), [project, bindings]);
}

/** What the run tells, from its present attempt's start; over lost connections nothing is missed. */
export function useLiveRun(run: string): LiveRun {
  const realtime = useRealtime();
  const queries = useQueryClient();
  const [live, setLive] = useState(emptyLive);
  useEffect(() => {
    let told = emptyLive;
    let drawn = true;
    let closed = false;
    const draw = (): void => {
      drawn = true;
      if (!closed) setLive(told);
    };
    const read = (): void => void queries.invalidateQueries({ queryKey: keys.allRuns });
    const feed = realtime.watchRun(run, {
      onOutput(output) {
        const began = output.attempt > told.attempt || told.done !== undefined;
        told = foldRun(told, output, Date.now());
        if (began || output.type === 'attempt_failed' || output.type === 'done') read();
        if (drawn) nextFrame(draw);
        drawn = false;
      },
      onResync: read,
      onClosed(reason) {
        told = { ...told, closed: reason };
        draw();
      },
    });
    feed.ready.catch(() => undefined);
    return () => {
      closed = true;
      feed.close();
      setLive(emptyLive);
    };
  }, [realtime, queries, run]);
  return live;
}

/** Milliseconds of the clock, read again at each interval. */
export function useNow(everyMs: number, active = true): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!active) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, active]);
  return now;
}

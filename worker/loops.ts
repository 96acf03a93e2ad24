// The loops of a worker: background tasks that run at intervals, when they are woken, and until they are closed.

/** One at a time; asked for while it runs, it runs once more. */
export interface Task {
  run(): void;
  /** Runs it after so many milliseconds; asked for again meanwhile, still once. */
  later(ms: number): void;
  /** Resolves when it does not run. */
  idle(): Promise<void>;
  /** It is not begun again. */
  close(): void;
}

export function task(what: string, act: () => Promise<void>, warn: (message: string, error: unknown) => void): Task {
  let running: Promise<void> | undefined;
  let soon: NodeJS.Timeout | undefined;
  let again = false;
  let closed = false;
  const run = (): void => {
    if (closed) return;
    if (running) {
      again = true;
      return;
    }
    running = act()
      .catch((error: unknown) => warn(what, error))
      .finally(() => {
        running = undefined;
        if (again) {
          again = false;
          run();
        }
      });
  };
  return {
    run,
    later(ms) {
      soon ??= setTimeout(() => {
        soon = undefined;
        run();
      }, ms);
    },
    idle: async () => running,
    close() {
      closed = true;
      clearTimeout(soon);
    },
  };
}

/** A task, and the milliseconds between two runs of it. */
export type Loop = readonly [task: Task, every: number];

export interface Loops {
  /** Nothing is begun again; resolves when nothing runs. */
  close(): Promise<void>;
}

/** Runs each task at its interval. `offs`: what else wakes them, undone by the closing. */
export function startLoops(loops: readonly Loop[], offs: readonly (() => void)[]): Loops {
  const timers = loops.map(([one, every]) => setInterval(one.run, every));
  return {
    async close() {
      for (const off of offs) off();
      for (const timer of timers) clearInterval(timer);
      for (const [one] of loops) one.close();
      await Promise.all(loops.map(([one]) => one.idle()));
    },
  };
}

/** Of a dispatcher, milliseconds; what is said of work holds for turns and for bounded runs. */
export interface Intervals {
  /** Pending work is looked for, should a notification be lost. */
  pending: number;
  /** Work that is to stop is signalled again. */
  cancel: number;
  /** Work that was to stop and has not ended is ended in the database. */
  force: number;
  /** Work without progress is looked for, and old outputs are removed. */
  sweep: number;
  /** Without progress for as long, work is looked at. */
  stuck: number;
}

const defaults: Intervals = { pending: 1_000, cancel: 2_000, force: 10_000, sweep: 10_000, stuck: 15_000 };

export const dispatchIntervals = (some: Partial<Intervals> = {}): Intervals => ({ ...defaults, ...some });

export interface Dispatching {
  dispatch: Task;
  cancel: Task;
  sweep: Task;
  prune: Task;
}

/** The four loops of a dispatcher. The first two also run at once when the listener is connected again. */
export function startDispatching(
  { dispatch, cancel, sweep, prune }: Dispatching,
  intervals: Intervals,
  listener: { onConnect(call: () => void): () => void },
  offs: readonly (() => void)[],
): Loops {
  const reconnected = listener.onConnect(() => {
    dispatch.run();
    cancel.run();
  });
  dispatch.run();
  const loops = [
    [dispatch, intervals.pending],
    [cancel, intervals.cancel],
    [sweep, intervals.sweep],
    [prune, intervals.sweep],
  ] as const;
  return startLoops(loops, [reconnected, ...offs]);
}

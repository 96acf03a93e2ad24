// A background task of a worker: one at a time; asked for while it runs, it runs once more.

export interface Task {
  run(): void;
  /** Resolves when it does not run. */
  idle(): Promise<void>;
  /** It is not begun again. */
  close(): void;
}

export function task(what: string, act: () => Promise<void>, warn: (message: string, error: unknown) => void): Task {
  let running: Promise<void> | undefined;
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
  return { run, idle: async () => running, close: () => void (closed = true) };
}

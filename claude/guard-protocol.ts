// What worker and guard say to each other, and what the guard stores for a successor (spec: bounded-claude 4).

/** A worker that is silent for so long is lost. */
export const silenceMs = 10_000;
/** How often the worker says that it lives. */
export const beatMs = 2_000;
/** From SIGINT to SIGTERM, and from SIGTERM to SIGKILL. */
export const interruptMs = 2_000;
export const killMs = 3_000;
/** Bytes of stdout; no run that keeps its other limits comes near. */
export const rawLimitBytes = 64 * 1024 * 1024;
/** Bytes of stderr that are kept. */
export const stderrTailBytes = 8_192;

export const guardFiles = { guard: 'guard.json', exit: 'exit.json', stdout: 'stdout.jsonl' } as const;
/** Every attempt that has ended has it. */
export const checkpointFile = 'checkpoint.md';

/** The guard's descriptors beside stdin. On stdin come commands, a JSON line each; an empty line is a beat. */
export const descriptors = { messages: 3, data: 4 } as const;

export type GuardCommand =
  | {
      do: 'start';
      runDir: string;
      attempt: number;
      workDir: string;
      command: string;
      args: string[];
      environment: Record<string, string>;
      prompt: string;
    }
  /** `interrupt`: SIGINT first, so that the CLI keeps the partial answer for a resume. */
  | { do: 'end'; cause: GuardCause; interrupt: boolean };

export interface GuardCause {
  kind: string;
  detail: string;
}

export type GuardMessage =
  | { is: 'started'; group: number; marker: string }
  /** The CLI could not be started; nothing was paid. */
  | { is: 'failed'; message: string }
  /** The tee to `stdout.jsonl` broke; data still comes. */
  | { is: 'tee_lost'; code: string }
  | { is: 'ended'; exit: GuardExit };

/** guard.json: synced before the CLI starts, `group` null; again once it runs, before it gets its prompt. */
export interface GuardFile {
  boot_id: string;
  /** 0: there was no guard, and none may come (`sealAttempt`). */
  pid: number;
  start_time: string;
  group: number | null;
  attempt: number;
  marker: string;
}

/** exit.json */
export interface GuardExit {
  code: number | null;
  signal: string | null;
  /** Recorded before the guard's first signal; null: the CLI ended by itself. */
  cause: GuardCause | null;
  /** Not redacted. */
  stderr_tail: string;
  /** All bytes that came on stdout, and how many of them are in `stdout.jsonl`. */
  bytes: number;
  stored: number;
  duration_ms: number;
  /** Processes that the kernel did not let go. */
  left: number[];
}

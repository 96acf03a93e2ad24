// The worker's side of the guard: starts it, keeps its lease, passes its data on, and ends the group where it can't.

import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import {
  beatMs,
  descriptors,
  interruptMs,
  killMs,
  type GuardCause,
  type GuardCommand,
  type GuardExit,
  type GuardMessage,
} from './guard-protocol.ts';
import { guardName, killAll, pidNamespace, processStat } from './proc.ts';

export interface GuardEvents {
  onStarted(): void;
  onData(chunk: Buffer): void;
  onTeeLost(code: string): void;
}

/** failed: the CLI never started; ended: it has, and its data is complete; lost: the guard went without a word. */
export type GuardEnd = { is: 'failed'; message: string } | { is: 'ended'; exit: GuardExit } | { is: 'lost' };

export interface GuardLease {
  /** Resolves once guard and group are gone. */
  done: Promise<GuardEnd>;
  /** Starts the ladder; the guard keeps the first cause. */
  end(cause: GuardCause, interrupt: boolean): void;
  /** Closes the pipe: the guard ends the group by itself, and nothing here waits for it. */
  release(): void;
}

const program = fileURLToPath(new URL('guard.ts', import.meta.url));
/** A guard that was told to end and is silent for so long is ended with its group. */
const patienceMs = interruptMs + killMs + 7_000;
/** A guard that the kernel does not let go within so long after its SIGKILL is waited for no more. */
const reapMs = 5_000;

/**
 * Starts a guard in a session of its own. Its environment says only whose it is, for a sweep: what it knows comes on
 * its stdin.
 */
export function startGuard(
  start: Extract<GuardCommand, { do: 'start' }>,
  installation: string,
  events: GuardEvents,
): GuardLease {
  const owner = [pidNamespace(), process.pid, processStat(process.pid)?.startTime ?? '', installation].join('.');
  const guard = spawn(process.execPath, ['--no-warnings', program], {
    cwd: '/',
    env: { [guardName]: owner },
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  for (const stream of guard.stdio) stream?.on('error', () => undefined);
  const beat = setInterval(() => guard.stdin?.write('\n'), beatMs);
  let known = { group: 0, marker: '' };
  let told: GuardEnd | undefined;
  let released = false;
  let patience: NodeJS.Timeout | undefined;

  const kill = (): void => {
    guard.kill('SIGKILL');
    if (known.marker !== '') void killAll(known.group, known.marker);
  };
  const isStopped = (): boolean => processStat(guard.pid ?? 0)?.state === 'T';

  const tell = (command: GuardCommand): void => void guard.stdin?.write(`${JSON.stringify(command)}\n`);
  readMessages(guard.stdio[descriptors.messages] as Readable, (message) => {
    if (message.is === 'started') {
      known = message;
      events.onStarted();
    } else if (message.is === 'tee_lost') {
      events.onTeeLost(message.code);
    } else {
      told ??= message;
    }
  });
  const data = guard.stdio[descriptors.data] as Readable;
  data.on('data', (chunk: Buffer) => void (released || events.onData(chunk)));

  let giveUp: () => void = () => undefined;
  const givenUp = new Promise<void>((resolve) => (giveUp = resolve));
  const done = Promise.race([closed(guard), givenUp]).then(async (): Promise<GuardEnd> => {
    clearInterval(beat);
    clearInterval(patience);
    if (!released && told?.is !== 'ended' && known.marker !== '') await killAll(known.group, known.marker);
    return told ?? { is: 'lost' };
  });
  tell(start);
  return {
    done,
    end(cause, interrupt) {
      tell({ do: 'end', cause, interrupt });
      const until = performance.now() + patienceMs;
      patience ??= setInterval(() => {
        // A guard that is stopped will not obey.
        if (!isStopped() && performance.now() < until) return;
        clearInterval(patience);
        kill();
        setTimeout(giveUp, reapMs).unref();
      }, 500);
    },
    release() {
      released = true;
      clearInterval(beat);
      for (const stream of guard.stdio) stream?.destroy();
      guard.unref();
      // One that is stopped does not see it; should this process be gone by then, a sweep finds it.
      setTimeout(() => void (isStopped() && kill()), killMs).unref();
    },
  };
}

/** The guard has exited and its pipes are read to their ends, but for one that somebody else still holds. */
function closed(guard: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    guard.on('error', () => resolve());
    guard.on('close', () => resolve());
    guard.on('exit', () => setTimeout(resolve, 2_000).unref());
  });
}

function readMessages(stream: Readable, take: (message: GuardMessage) => void): void {
  let buffer = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (buffer + chunk).split('\n');
    buffer = lines.pop() ?? '';
    for (const line of lines) take(JSON.parse(line) as GuardMessage);
  });
}

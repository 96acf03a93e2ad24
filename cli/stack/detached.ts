// A stack for a command: the one that runs on the data folder, or one that is started detached and ends by itself.

import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readSync, fstatSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isAlive, parseIdentity, readText } from './process.ts';
import { readStack, type StackFile } from './stack-file.ts';

export type Say = (line: string) => void;

const pollMs = 150;
/** A stack that says that it runs, but does not answer for so long, is not waited for. */
const silentMs = 60_000;

/** No stack runs and none could be started: what it printed. */
export class StackError extends Error {
  override readonly name = 'StackError';
}

/**
 * The stack of the data folder, started first if need be. Several commands may ask at once: one starts it, the others
 * wait. `idleSeconds`: how long it stays when nobody uses it.
 * @throws StackError
 */
export async function ensureStack(
  dataDir: string,
  env: NodeJS.ProcessEnv,
  say: Say,
  idleSeconds?: number,
): Promise<StackFile> {
  let told = false;
  let started: Started | undefined;
  let silentSince: number | undefined;
  try {
    for (;;) {
      started?.tell();
      const stack = readStack(dataDir);
      if (stack && (await answers(stack))) return stack;
      silentSince = stack ? (silentSince ?? performance.now()) : undefined;
      if (silentSince !== undefined && performance.now() - silentSince > silentMs) throw silent(stack, dataDir);
      if (isHeld(dataDir)) {
        if (!told && !started) say('waiting for the stack that starts or ends ...');
        told = true;
      } else if (!started) {
        say(`starting a stack on ${dataDir}; it ends by itself when nobody has used it for a while`);
        started = start(dataDir, env, say, idleSeconds);
      } else if (started.process.exitCode !== null || started.process.signalCode !== null) {
        started.tell();
        throw new StackError(`The stack could not be started. ${started.printed().trim()}`);
      }
      await sleep(pollMs);
    }
  } finally {
    started?.close();
  }
}

/** Whether a process starts, runs or ends a stack on the folder. */
export function isHeld(dataDir: string): boolean {
  const holder = parseIdentity(readText(path.join(dataDir, 'stack.lock')) ?? '');
  return holder !== undefined && isAlive(holder);
}

export async function answers({ api }: Pick<StackFile, 'api'>): Promise<boolean> {
  try {
    return (await fetch(`${api}/healthz`, { signal: AbortSignal.timeout(5_000) })).ok;
  } catch {
    return false;
  }
}

function silent(stack: StackFile | undefined, dataDir: string): StackError {
  return new StackError(
    `The stack at ${stack?.api} (process ${stack?.pid}) does not answer. Its logs: ${path.join(dataDir, 'logs')}. ` +
      'End that process and try again.',
  );
}

interface Started {
  process: ChildProcess;
  /** Says the lines that it has printed since the last call. */
  tell(): void;
  printed(): string;
  close(): void;
}

/** In a session of its own, deaf to this terminal; what it prints goes to `logs/stack.log`. */
function start(dataDir: string, env: NodeJS.ProcessEnv, say: Say, idleSeconds: number | undefined): Started {
  const logs = path.join(dataDir, 'logs');
  mkdirSync(logs, { recursive: true, mode: 0o700 });
  const log = openSync(path.join(logs, 'stack.log'), 'a+', 0o600);
  let at = fstatSync(log).size;
  const args = [
    fileURLToPath(new URL('start.ts', import.meta.url)),
    '--detached',
    ...(idleSeconds ? [String(idleSeconds)] : []),
  ];
  const child = spawn(process.execPath, args, {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { ...withoutNpm(env), PLANNER_DATA_DIR: dataDir },
    detached: true,
    stdio: ['ignore', log, log],
  });
  child.unref();
  let printed = '';
  const read = (): string => {
    const buffer = Buffer.alloc(64 * 1024);
    const count = readSync(log, buffer, 0, buffer.length, at);
    at += count;
    const fresh = buffer.toString('utf8', 0, count);
    printed += fresh;
    return fresh;
  };
  return {
    process: child,
    tell: () => {
      for (const line of read().split('\n')) if (/ \.\.\.$/.test(line)) say(`  ${line}`);
    },
    printed: () => printed,
    close: () => closeSync(log),
  };
}

/** A stack that believes to be npm's ends with npm. */
function withoutNpm(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('npm_')));
}

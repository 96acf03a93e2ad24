// Child processes: started in order, known to be ready, started again when they die, ended in the opposite order.

import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Guard } from './guard.ts';
import { endProcess, identify, isAlive, parseIdentity, readText, type Identity } from './process.ts';
import type { Say } from './tools.ts';

export interface ChildPlan {
  /** Also the name of its log and its pid file. */
  name: string;
  command: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  user?: { uid: number; gid: number } | undefined;
  /** A folder that the child finds open as file descriptor 3. */
  folder?: string | undefined;
  /** 'line': it prints one line of JSON with `"ready": true`; a function: polled until it does not throw. */
  ready: 'line' | (() => Promise<void>);
  readyWithinMs: number;
  /** How it is ended: each signal waits its grace before the next one. */
  end: readonly { signal: NodeJS.Signals; graceMs: number }[];
}

/** What a child printed with its line of readiness. */
export type Facts = Record<string, unknown>;

const forceful = [{ signal: 'SIGKILL', graceMs: 5_000 }] as const;
const pollMs = 50;
const backOff = { first: 500, most: 30_000, forgottenAfterMs: 60_000 };
const logLimit = 10 * 1024 * 1024;

export class Supervisor {
  readonly #folder: string;
  readonly #say: Say;
  readonly #children: Child[] = [];
  readonly #guard = new Guard();
  #ending: Promise<void> | undefined;
  #forced = false;

  /** Logs go to `logs/`, pid files to `run/` of the folder. */
  constructor(folder: string, say: Say) {
    this.#folder = folder;
    this.#say = say;
    for (const name of ['logs', 'run']) mkdirSync(path.join(folder, name), { recursive: true, mode: 0o700 });
  }

  /** Starts a child and waits until it is ready. From then on it is started again whenever it dies. */
  async start(plan: ChildPlan): Promise<Facts> {
    if (this.#ending) throw new Error('The stack is being ended.');
    const child = new Child(plan, this.#folder, this.#say, () => this.#guardAll());
    this.#children.push(child);
    return child.start();
  }

  /** Ends all children, the last started first. */
  end(): Promise<void> {
    for (const child of this.#children) child.leave();
    this.#ending ??= (async () => {
      for (const child of this.#children.toReversed()) await child.end(this.#forced);
      this.#guard.close();
    })();
    return this.#ending;
  }

  #guardAll(): void {
    this.#guard.keep(this.#children.toReversed().flatMap((child) => child.guarded() ?? []));
  }

  /** Ends all at once, without grace. */
  async force(): Promise<void> {
    this.#forced = true;
    await Promise.all(this.#children.map((child) => child.end(true)));
  }
}

class Child {
  readonly name: string;
  readonly #plan: ChildPlan;
  readonly #log: string;
  readonly #pidFile: string;
  readonly #say: Say;
  readonly #changed: () => void;
  #identity: Identity | undefined;
  #ended = false;
  #wait = backOff.first;

  constructor(plan: ChildPlan, folder: string, say: Say, changed: () => void) {
    this.name = plan.name;
    this.#changed = changed;
    this.#plan = plan;
    this.#log = path.join(folder, 'logs', `${plan.name}.log`);
    this.#pidFile = path.join(folder, 'run', `${plan.name}.json`);
    this.#say = say;
  }

  async start(): Promise<Facts> {
    const { process: child, facts } = this.#launch();
    const gone = new Promise<never>((_, reject) => {
      const failed = (why: string): void => reject(new Error(`${this.name} ${why}.`));
      child.once('exit', (code, signal) => failed(`ended at its start (${how(code, signal)})`));
      child.once('error', (error) => failed(`could not be started: ${error.message}`));
    });
    gone.catch(() => undefined);
    try {
      const found = await Promise.race([this.#readiness(facts, child), gone]);
      this.#watch(child, Date.now());
      return found;
    } catch (error) {
      await this.#finish();
      const last = tail(this.#log);
      throw new Error(`${(error as Error).message}\n${last ? `${last}\n` : ''}Its log: ${this.#log}`);
    }
  }

  /** How it is ended when the stack can't do it any more; undefined while it does not run. */
  guarded(): { pid: number; signal: NodeJS.Signals } | undefined {
    const signal = this.#plan.end[0]?.signal;
    return this.#identity && signal && { pid: this.#identity.pid, signal };
  }

  /** From now on it is not started again. */
  leave(): void {
    this.#ended = true;
  }

  async end(force: boolean): Promise<void> {
    this.leave();
    await this.#finish(force);
  }

  async #finish(force = false): Promise<void> {
    const steps = force ? forceful : [...this.#plan.end, ...forceful];
    if (this.#identity) await endProcess(this.#identity, steps);
    rmSync(this.#pidFile, { force: true });
  }

  /** In a process group of its own: the terminal's Ctrl-C reaches only the stack, which ends its children in order. */
  #launch(): { process: ChildProcess; facts: Promise<Facts> } {
    const { command, args, env, user, folder, ready } = this.#plan;
    if (existsSync(this.#log) && statSync(this.#log).size > logLimit) renameSync(this.#log, `${this.#log}.1`);
    const log = openSync(this.#log, 'a', 0o600);
    const inherited = folder ? [openSync(folder, 'r')] : [];
    try {
      const stdout = ready === 'line' ? 'pipe' : log;
      const stdio = ['ignore' as const, stdout as 'pipe' | number, log, ...inherited];
      const child = spawn(command, args, { env, ...user, detached: true, stdio });
      this.#identity = child.pid === undefined ? undefined : identify(child.pid);
      if (this.#identity) writeFileSync(this.#pidFile, JSON.stringify(this.#identity), { mode: 0o600 });
      this.#changed();
      child.on('error', () => undefined);
      child.once('exit', () => {
        this.#identity = undefined;
        this.#changed();
      });
      return { process: child, facts: readFacts(child, this.#log) };
    } finally {
      for (const descriptor of [log, ...inherited]) closeSync(descriptor);
    }
  }

  async #readiness(facts: Promise<Facts>, child: ChildProcess): Promise<Facts> {
    const { ready, readyWithinMs } = this.#plan;
    const until = Date.now() + readyWithinMs;
    if (ready === 'line') {
      const late = sleep(readyWithinMs, undefined, { ref: false });
      const found = await Promise.race([facts, late]);
      if (found) return found;
    }
    let problem = '';
    while (ready !== 'line' && Date.now() < until && child.exitCode === null) {
      try {
        await ready();
        return {};
      } catch (error) {
        problem = `: ${(error as Error).message}`;
        await sleep(pollMs);
      }
    }
    throw new Error(`${this.name} was not ready within ${readyWithinMs / 1_000} s${problem}.`);
  }

  /** Starts the child again when it dies, sooner or later as it dies seldom or often. */
  #watch(child: ChildProcess, since: number): void {
    const died = (code: number | null, signal: NodeJS.Signals | null): void => {
      if (this.#ended) return;
      if (Date.now() - since > backOff.forgottenAfterMs) this.#wait = backOff.first;
      this.#say(`${this.name} ended (${how(code, signal)}); starting it again in ${this.#wait / 1_000} s`);
      void this.#again();
    };
    if (child.exitCode !== null || child.signalCode !== null) died(child.exitCode, child.signalCode);
    else child.once('exit', died);
  }

  async #again(): Promise<void> {
    for (;;) {
      await sleep(this.#wait);
      this.#wait = Math.min(this.#wait * 2, backOff.most);
      if (this.#ended) return;
      try {
        await this.start();
        this.#say(`${this.name} runs again`);
        return;
      } catch (error) {
        if (this.#ended) return;
        this.#say(`${(error as Error).message}\nTrying again in ${this.#wait / 1_000} s`);
      }
    }
  }
}

/** Ends the children that a killed stack left behind, in the order in which it would have ended them itself. */
export async function endLeftovers(
  folder: string,
  children: readonly Pick<ChildPlan, 'name' | 'end'>[],
): Promise<string[]> {
  const ended: string[] = [];
  for (const { name, end } of children.toReversed()) {
    const file = path.join(folder, 'run', `${name}.json`);
    const identity = parseIdentity(readText(file) ?? '');
    if (identity && isAlive(identity)) {
      await endProcess(identity, [...end, ...forceful]);
      ended.push(name);
    }
    rmSync(file, { force: true });
  }
  return ended;
}

/** Copies what the child prints to its log; resolves with its line of readiness. */
function readFacts(child: ChildProcess, log: string): Promise<Facts> {
  return new Promise((resolve) => {
    if (!child.stdout) return;
    createInterface({ input: child.stdout }).on('line', (line) => {
      writeFileSync(log, `${line}\n`, { flag: 'a' });
      const facts = parseFacts(line);
      if (facts) resolve(facts);
    });
  });
}

function parseFacts(line: string): Facts | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const value = JSON.parse(line) as Facts;
    return value['ready'] === true ? value : undefined;
  } catch {
    return undefined;
  }
}

function how(code: number | null, signal: NodeJS.Signals | null): string {
  return signal ? `signal ${signal}` : `exit code ${code}`;
}

function tail(log: string): string {
  const lines = (readText(log) ?? '').trimEnd().split('\n').slice(-8);
  return lines.map((line) => `  ${line.slice(0, 300)}`).join('\n').trimEnd();
}

// The guard process of one attempt: owns the CLI's group, and ends it when the worker is lost (spec: bounded-claude 4).

import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, fsyncSync, openSync, readSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import path from 'node:path';
import {
  checkpointFile,
  descriptors,
  guardFiles,
  interruptMs,
  killMs,
  rawLimitBytes,
  silenceMs,
  stderrTailBytes,
  type GuardCause,
  type GuardCommand,
  type GuardExit,
  type GuardFile,
  type GuardMessage,
} from './guard-protocol.ts';
import { bootId, guardName, killAll, markerName, membersOf, pidNamespace, processStat, signalAll } from './proc.ts';
import { createFile, replaceFile } from './whole-file.ts';

type Start = Extract<GuardCommand, { do: 'start' }>;

// Sockets of their own: the process's standard streams would block on a worker that is stopped.
const messages = new Socket({ fd: descriptors.messages });
const data = new Socket({ fd: descriptors.data });
const startTime = processStat(process.pid)?.startTime ?? '';
const installation = process.env[guardName]?.split('.')[3] ?? '';
const marker = [pidNamespace(), process.pid, startTime, installation, randomUUID()].join('.');

let start: Start | undefined;
let cli: ChildProcess | undefined;
let group = 0;
let startedAt = 0;
let exit: { code: number | null; signal: string | null } | undefined;
let cause: GuardCause | null = null;
let stage: 'idle' | 'running' | 'ending' | 'over' = 'idle';
let workerGone = false;
let tee = -1;
let source = -1;
let received = 0;
let stored = 0;
let sent = 0;
let isFull = false;
let stderrTail = Buffer.alloc(0);
let lastData = 0;
let stdoutClosed = false;

function say(message: GuardMessage): void {
  if (!workerGone) messages.write(`${JSON.stringify(message)}\n`);
}

const fileOf = (name: string): string => path.join(start?.runDir ?? '', name);
const lineOf = (content: GuardFile | GuardExit): string => `${JSON.stringify(content)}\n`;

function ownFile(): GuardFile {
  const { attempt = 0 } = start ?? {};
  return { boot_id: bootId(), pid: process.pid, start_time: startTime, group: group || null, attempt, marker };
}

const startedBefore = 'This attempt was started before; it is never started twice.';

function begin(command: Start): void {
  start = command;
  try {
    if (!statSync(command.workDir, { throwIfNoEntry: false })?.isDirectory()) {
      return refuse(`The working directory ${command.workDir} does not exist.`);
    }
    if (!createFile(fileOf(guardFiles.guard), lineOf(ownFile()))) return refuse(startedBefore);
    // An attempt that has ended keeps its checkpoint, also once its guard's file is removed.
    if (existsSync(fileOf(checkpointFile))) {
      rmSync(fileOf(guardFiles.guard));
      return refuse(startedBefore);
    }
    const file = fileOf(guardFiles.stdout);
    tee = openSync(file, 'a', 0o600);
    source = openSync(file, 'r');
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    return refuse(`${command.runDir} can't be written (${code}).`);
  }
  launch(command);
}

function refuse(message: string): void {
  say({ is: 'failed', message });
  void leave();
}

function launch(command: Start): void {
  startedAt = performance.now();
  lastData = startedAt;
  const child = spawn(command.command, command.args, {
    cwd: command.workDir,
    env: { ...command.environment, [markerName]: marker },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  cli = child;
  child.on('error', (error: NodeJS.ErrnoException) => {
    if (child.pid === undefined) refuse(`${command.command} could not be started (${error.code ?? error.message}).`);
  });
  if (child.pid === undefined) return;
  group = child.pid;
  stage = 'running';
  child.stdout.on('data', takeData);
  child.stdout.on('close', () => (stdoutClosed = true));
  child.stderr.on(
    'data',
    (chunk: Buffer) => (stderrTail = Buffer.concat([stderrTail, chunk]).subarray(-stderrTailBytes)),
  );
  for (const stream of child.stdio) stream?.on('error', () => undefined);
  child.on('exit', (code, signal) => {
    exit = { code, signal };
    void finish();
  });
  preferForMemory(child.pid);
  try {
    replaceFile(fileOf(guardFiles.guard), lineOf(ownFile()));
  } catch {
    // Without the group a successor still finds it by the marker.
  }
  say({ is: 'started', group, marker });
  child.stdin.end(command.prompt);
}

/** Where memory runs out, the kernel should end the CLI, not its guard or the worker. */
function preferForMemory(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, '500');
  } catch {
    // Not on this system.
  }
}

/** Into the file at once, so that the CLI never waits for a worker; from there to the worker as fast as that reads. */
function takeData(chunk: Buffer): void {
  received += chunk.length;
  lastData = performance.now();
  if (received > rawLimitBytes)
    void end({ kind: 'output_too_large', detail: 'The CLI printed more than 64 MiB.' }, false);
  if (store(chunk)) return pump();
  if (!workerGone && !data.write(chunk) && !exit) cli?.stdout?.pause();
}

function store(chunk: Buffer): boolean {
  if (tee < 0) return false;
  try {
    for (let at = 0; at < chunk.length;) at += writeSync(tee, chunk, at);
    stored += chunk.length;
    return true;
  } catch (error) {
    say({ is: 'tee_lost', code: (error as NodeJS.ErrnoException).code ?? 'unknown' });
    isFull = false;
    while (sent < stored && !workerGone) pump(true);
    tee = -1;
    return false;
  }
}

/** `all`: whatever the worker has not read yet stays in memory. */
function pump(all = false): void {
  while (sent < stored && !workerGone && (all || !isFull)) {
    const piece = Buffer.allocUnsafe(Math.min(stored - sent, 65_536));
    const size = readSync(source, piece, 0, piece.length, sent);
    sent += size;
    isFull = !data.write(piece.subarray(0, size));
  }
}

data.on('drain', () => {
  isFull = false;
  pump();
  cli?.stdout?.resume();
});

/** The ladder; the first cause counts. Each step is left out once the CLI has exited. */
async function end(why: GuardCause, interrupt: boolean): Promise<void> {
  if (stage === 'idle') return void leave();
  if (stage !== 'running' || exit) return;
  stage = 'ending';
  cause = why;
  if (interrupt) {
    signalAll(group, [], 'SIGINT');
    await pause(interruptMs, () => exit !== undefined);
  }
  if (!exit) {
    signalAll(group, membersOf(group, marker), 'SIGTERM');
    await pause(killMs, () => exit !== undefined);
  }
  if (!exit) await killAll(group, marker);
  await pause(2_000, () => exit !== undefined);
  if (!exit) void finish();
}

async function pause(limitMs: number, enough: () => boolean): Promise<void> {
  const until = performance.now() + limitMs;
  while (!enough() && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** The CLI has exited: ends the rest of its group, takes what is left in the pipe, stores the exit, tells, leaves. */
async function finish(): Promise<void> {
  if (stage === 'over') return;
  stage = 'over';
  const left = await killAll(group, marker);
  cli?.stdout?.resume();
  // Whoever escaped with the pipe in hand does not hold the run.
  const since = performance.now();
  await pause(2_000, () => stdoutClosed || performance.now() - Math.max(lastData, since) > 300);
  cli?.stdout?.destroy();
  const report: GuardExit = {
    code: exit?.code ?? null,
    signal: exit?.signal ?? null,
    cause,
    stderr_tail: stderrTail.toString(),
    bytes: received,
    stored,
    duration_ms: Math.round(performance.now() - startedAt),
    left,
  };
  try {
    if (tee >= 0) fsyncSync(tee);
    replaceFile(fileOf(guardFiles.exit), lineOf(report));
  } catch {
    // The disk is full or gone: the worker is told all the same.
  }
  say({ is: 'ended', exit: report });
  void leave();
}

/** Goes once everything is handed over; a worker that does not read holds nobody. */
async function leave(): Promise<void> {
  stage = 'over';
  if (!workerGone) setTimeout(() => process.exit(0), silenceMs);
  await pause(silenceMs, () => workerGone || sent >= stored);
  if (workerGone) process.exit(0);
  data.end(() => messages.end(() => process.exit(0)));
}

function lost(): void {
  if (workerGone) return;
  workerGone = true;
  cli?.stdout?.resume();
  if (stage === 'over') return;
  void end({ kind: 'worker_lost', detail: 'The worker that supervised the CLI was lost.' }, false);
}

let lastBeat = performance.now();
let buffer = '';
process.stdin.on('data', (chunk: Buffer) => {
  lastBeat = performance.now();
  const lines = (buffer + chunk.toString()).split('\n');
  buffer = lines.pop() ?? '';
  for (const line of lines) if (line !== '') obey(JSON.parse(line) as GuardCommand);
});

function obey(command: GuardCommand): void {
  if (command.do === 'start') begin(command);
  else void end(command.cause, command.interrupt);
}

process.stdin.on('end', lost);
process.stdin.on('error', lost);
messages.on('error', lost);
data.on('error', lost);
// What the worker sends there never comes; reading tells that it has closed.
messages.on('close', lost).resume();
data.resume();
process.on('SIGTERM', lost);
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('uncaughtException', () => {
  if (group > 0 && !exit) void killAll(group, marker).then(() => process.exit(1));
  else process.exit(1);
});

setInterval(() => {
  // A guard that was stopped itself reads the beats that came meanwhile, before it judges.
  if (performance.now() - lastBeat > silenceMs) setImmediate(() => performance.now() - lastBeat > silenceMs && lost());
}, 250).unref();

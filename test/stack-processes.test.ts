// The stack's handling of processes: locks, identities, supervision, no orphans.

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { choosePorts, freePort, isFree } from '../cli/stack/ports.ts';
import { identify, isAlive, isLock, kill, takeLock } from '../cli/stack/process.ts';
import { endLeftovers, Supervisor, type ChildPlan } from '../cli/stack/supervisor.ts';
import { canReach } from '../cli/stack/user.ts';

let folder = '';
let supervisor: Supervisor | undefined;
const lines: string[] = [];

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'planner-stack-'));
  lines.length = 0;
});

afterEach(async () => {
  await supervisor?.end();
  supervisor = undefined;
  rmSync(folder, { recursive: true, force: true });
});

/** A child that runs the script in Node and is ready when it prints so. */
function plan(name: string, script: string): ChildPlan {
  return {
    name,
    command: process.execPath,
    args: ['-e', script],
    env: {},
    ready: 'line',
    readyWithinMs: 10_000,
    end: [{ signal: 'SIGTERM', graceMs: 5_000 }],
  };
}

const ready = 'console.log(JSON.stringify({ ready: true, pid: process.pid })); setInterval(() => {}, 1000);';

function supervise(): Supervisor {
  supervisor = new Supervisor(folder, (line) => lines.push(line));
  return supervisor;
}

async function until(holds: () => boolean, ms = 10_000): Promise<void> {
  for (let waited = 0; !holds(); waited += 20) {
    if (waited > ms) throw new Error('It did not come to hold in time.');
    await sleep(20);
  }
}

describe('a data folder belongs to one stack', () => {
  test('the second one learns who holds the lock; a released lock can be taken again', () => {
    const file = path.join(folder, 'lock');
    const first = takeLock(file);
    expect(takeLock(file)).toEqual(identify(process.pid));
    if (isLock(first)) first.release();
    expect(isLock(takeLock(file))).toBe(true);
  });

  test('a lock whose holder was killed is taken over, also when its pid runs again as another process', () => {
    const file = path.join(folder, 'lock');
    writeFileSync(file, JSON.stringify({ pid: process.pid, started: 'long ago' }));
    expect(isLock(takeLock(file))).toBe(true);
    expect(isAlive({ pid: process.pid, started: 'long ago' })).toBe(false);
  });

  test('a lock file that was cut short by a crash is taken over', () => {
    const file = path.join(folder, 'lock');
    writeFileSync(file, '{"pid":');
    expect(isLock(takeLock(file))).toBe(true);
  });
});

describe('children', () => {
  test('a child is ready when it says so, with what it says', async () => {
    const facts = await supervise().start(plan('one', ready));
    expect(facts).toMatchObject({ ready: true, pid: expect.any(Number) });
  });

  test('a child that dies is started again, with a line that says so', async () => {
    const { pid } = await supervise().start(plan('one', ready));
    kill(Number(pid), 'SIGKILL');
    await until(() => lines.includes('one runs again'));
    expect(lines[0]).toBe('one ended (signal SIGKILL); starting it again in 0.5 s');
    const now = JSON.parse(readFileSync(path.join(folder, 'run/one.json'), 'utf8')) as { pid: number };
    expect(now.pid).not.toBe(pid);
  });

  test('a child that dies again and again is started less and less often', async () => {
    const { pid } = await supervise().start(plan('one', ready));
    kill(Number(pid), 'SIGKILL');
    await until(() => lines.length === 2);
    const { pid: next } = JSON.parse(readFileSync(path.join(folder, 'run/one.json'), 'utf8')) as { pid: number };
    kill(next, 'SIGKILL');
    await until(() => lines.length === 3);
    expect(lines[2]).toMatch(/starting it again in 1 s/);
  });

  test('a child that ends at its start is an error with its last words and its log', async () => {
    const start = supervise().start(plan('one', 'console.error("no such thing"); process.exit(3)'));
    const message = /^one ended at its start \(exit code 3\)\.\n {2}no such thing\nIts log: .*one\.log$/;
    await expect(start).rejects.toThrow(message);
  });

  test('a child that is never ready is an error, and is ended', async () => {
    const late = { ...plan('one', 'setInterval(() => {}, 1000)'), readyWithinMs: 300 };
    await expect(supervise().start(late)).rejects.toThrow('one was not ready within 0.3 s');
    expect(existsSync(path.join(folder, 'run/one.json'))).toBe(false);
  });

  test('children are ended in the opposite order of their start, and not started again', async () => {
    const note = path.join(folder, 'order');
    const write = `require('fs').appendFileSync(${JSON.stringify(note)}, process.argv[1] + ' ')`;
    const script = `process.on('SIGTERM', () => { ${write}; process.exit(0) }); ${ready}`;
    const named = (name: string): ChildPlan => ({ ...plan(name, script), args: ['-e', script, name] });
    const all = supervise();
    for (const name of ['a', 'b', 'c']) await all.start(named(name));
    await all.end();
    expect(readFileSync(note, 'utf8')).toBe('c b a ');
    expect(lines).toEqual([]);
  });

  test('one that is deaf to its signal is killed after its grace', async () => {
    const deaf = plan('one', `process.on('SIGTERM', () => {}); ${ready}`);
    const { pid } = await supervise().start({ ...deaf, end: [{ signal: 'SIGTERM', graceMs: 200 }] });
    await supervisor?.end();
    expect(identify(Number(pid))).toBeUndefined();
  });
});

describe('no orphans', () => {
  /** A process that supervises two children and prints their pids. */
  async function startHost(): Promise<{ host: ChildProcess; pids: number[] }> {
    const module = fileURLToPath(new URL('../cli/stack/supervisor.ts', import.meta.url));
    const child = (name: string): string =>
      `await supervisor.start({ name: '${name}', command: process.execPath, args: ['-e', ${JSON.stringify(ready)}],` +
      ` env: {}, ready: 'line', readyWithinMs: 10000, end: [{ signal: 'SIGTERM', graceMs: 1000 }] })`;
    const script = `import { Supervisor } from ${JSON.stringify(module)};
      const supervisor = new Supervisor(${JSON.stringify(folder)}, () => {});
      const found = [${child('a')}, ${child('b')}];
      console.log(JSON.stringify(found.map((facts) => facts.pid)));`;
    const args = ['--input-type=module', '-e', script];
    const host = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const [printed] = (await once(host.stdout, 'data')) as [Buffer];
    return { host, pids: JSON.parse(printed.toString()) as number[] };
  }

  test('when the stack is killed by SIGKILL its children end', async () => {
    const { host, pids } = await startHost();
    expect(pids.every((pid) => identify(pid))).toBe(true);
    host.kill('SIGKILL');
    await until(() => pids.every((pid) => !identify(pid)));
  });

  test('what a killed stack left is ended at the next start; a process that only has its pid is not', async () => {
    const left = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    const run = path.join(folder, 'run');
    mkdirSync(run);
    writeFileSync(path.join(run, 'worker.json'), JSON.stringify(identify(left.pid ?? 0)));
    writeFileSync(path.join(run, 'api.json'), JSON.stringify({ pid: process.pid, started: 'long ago' }));
    const end = [{ signal: 'SIGTERM', graceMs: 2_000 }] as const;
    expect(await endLeftovers(folder, [{ name: 'worker', end }, { name: 'api', end }])).toEqual(['worker']);
    expect(identify(left.pid ?? 0)).toBeUndefined();
    expect(existsSync(path.join(run, 'api.json'))).toBe(false);
  });
});

describe('ports', () => {
  test('are remembered from start to start, and replaced when another program took one', async () => {
    const file = path.join(folder, 'ports.json');
    const first = await choosePorts(file);
    expect(await choosePorts(file)).toEqual(first);
    const other = createServer().listen(first.postgres, '127.0.0.1');
    await once(other, 'listening');
    const second = await choosePorts(file);
    other.close();
    expect(second.postgres).not.toBe(first.postgres);
    expect(second.temporal).toBe(first.temporal);
  });

  test('one that is set is taken; when it is in use the error names its variable', async () => {
    const file = path.join(folder, 'ports.json');
    const port = await freePort();
    const set = { temporal: { port, variable: 'PLANNER_TEMPORAL_PORT' } };
    expect((await choosePorts(file, set)).temporal).toBe(port);
    const other = createServer().listen(port, '127.0.0.1');
    await once(other, 'listening');
    await expect(choosePorts(file, set)).rejects.toThrow(`Port ${port} of 127.0.0.1 is in use`);
    await expect(choosePorts(file, set)).rejects.toThrow('PLANNER_TEMPORAL_PORT');
    other.close();
  });

  test('a free port is free', async () => {
    expect(await isFree(await freePort())).toBe(true);
  });
});

test('a folder that only its owner may enter is out of reach for another user, with all that lies in it', () => {
  const inside = path.join(folder, 'open');
  mkdirSync(inside, { mode: 0o755 });
  const other = { name: 'other', uid: 60_123, gid: 60_123 };
  expect(canReach(other, inside)).toBe(false);
  expect(canReach({ ...other, uid: process.getuid?.() ?? 0 }, inside)).toBe(true);
});

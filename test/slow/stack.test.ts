// `npm start` as a user has it: one command, all parts, on a data folder of its own, and all of it gone at the end.

import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { identify, kill, type Identity } from '../../cli/stack/process.ts';
import { readStack } from '../../cli/stack/stack-file.ts';
import { createTestDatabase } from '../support/database.ts';
import { temporalAddress } from '../support/servers.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const parts = ['api', 'demo', 'postgres', 'temporal', 'worker'];

interface Start {
  process: ChildProcess;
  printed(): string;
}

function environment(dataDir: string, more: Record<string, string> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(PLANNER_|DATABASE_URL|TEMPORAL_|TEST_)/.test(name));
  return { ...Object.fromEntries(kept), PLANNER_DATA_DIR: dataDir, PLANNER_PORT: '0', ...more };
}

function start(dataDir: string, more: Record<string, string> = {}): Start {
  const args = [path.join(root, 'cli/stack/start.ts')];
  const child = spawn(process.execPath, args, { cwd: root, env: environment(dataDir, more), stdio: 'pipe' });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
    });
  }
  return { process: child, printed: () => printed };
}

async function until(holds: () => boolean, what: () => string, ms = 60_000): Promise<void> {
  for (let waited = 0; !holds(); waited += 50) {
    if (waited > ms) throw new Error(`It did not come to hold in time: ${what()}`);
    await sleep(50);
  }
}

const isReady = (stack: Start): Promise<void> =>
  until(() => stack.printed().includes('Ready.') || stack.process.exitCode !== null, stack.printed);

/** The running children, by the pid files. */
function children(dataDir: string): Record<string, Identity> {
  const run = path.join(dataDir, 'run');
  return Object.fromEntries(
    readdirSync(run).map((file) => [
      file.replace('.json', ''),
      JSON.parse(readFileSync(path.join(run, file), 'utf8')) as Identity,
    ]),
  );
}

const isHealthy = (address: string): Promise<boolean> =>
  fetch(`${address}/healthz`).then((answer) => answer.ok, () => false);

async function exitOf(stack: Start): Promise<number | null> {
  if (stack.process.exitCode === null) await once(stack.process, 'exit');
  return stack.process.exitCode;
}

describe('npm start', () => {
  let dataDir = '';
  let stack: Start;
  let token = '';

  beforeAll(async () => {
    dataDir = path.join(mkdtempSync(path.join(tmpdir(), 'planner-start-')), 'data');
    stack = start(dataDir);
    await isReady(stack);
  });

  afterAll(async () => {
    stack.process.kill('SIGTERM');
    await exitOf(stack);
    rmSync(path.dirname(dataDir), { recursive: true, force: true });
  });

  test('when all parts are ready it prints addresses, a sign-in token, where data lies and which model is used', () => {
    const printed = stack.printed();
    expect(printed).toMatch(/API +http:\/\/127\.0\.0\.1:\d+\/#token=plt_[\w-]{43}\n/);
    expect(printed).toMatch(/Temporal UI +http:\/\/127\.0\.0\.1:\d+\n/);
    expect(printed).toContain(dataDir);
    expect(printed).toMatch(/Model +demo-planner: the built-in DEMO MODEL/);
    expect(printed).toMatch(/starting PostgreSQL \.\.\.\n.*starting Temporal \.\.\.\n/s);
    token = /#token=(plt_[\w-]+)/.exec(printed)?.[1] ?? '';
    expect(Object.keys(children(dataDir)).toSorted()).toEqual(parts);
  });

  test('the API answers, the token signs the local human in, and fresh data hold a project with items', async () => {
    const { api, temporal_ui, worker_metrics } = readStack(dataDir) ?? {};
    expect(await isHealthy(api ?? '')).toBe(true);
    expect((await fetch(temporal_ui ?? '')).ok).toBe(true);
    expect(await (await fetch(worker_metrics ?? '')).text()).toContain('\ntemporal_');
    const headers = { authorization: `Bearer ${token}` };
    const me = (await (await fetch(`${api}/api/v1/me`, { headers })).json()) as Record<string, unknown>;
    expect(me).toMatchObject({ subject: 'local', kind: 'human', model: { name: 'demo-planner', demo: true } });
    const answer = await fetch(`${api}/api/v1/projects/WEB/items`, { headers });
    const { items } = (await answer.json()) as { items: { kind: string }[] };
    expect(new Set(items.map(({ kind }) => kind))).toEqual(new Set(['milestone', 'epic', 'ticket']));
  });

  test('the address that it prints serves the page', async () => {
    const { api } = readStack(dataDir) ?? {};
    const answer = await fetch(`${api}/`, { headers: { accept: 'text/html' } });
    const script = /src="(\/assets\/[\w.-]+\.js)"/.exec(await answer.text())?.[1];
    expect((await fetch(`${api}${script}`)).headers.get('content-type')).toContain('javascript');
  });

  test('secrets on disk are for their owner alone', () => {
    for (const name of ['token', 'stack.json', 'postgres.password']) {
      expect(statSync(path.join(dataDir, name)).mode & 0o077).toBe(0);
    }
    expect(statSync(dataDir).mode & 0o077).toBe(0);
  });

  test('a second start on the same folder says who runs already, and leaves with 1', () => {
    const args = [path.join(root, 'cli/stack/start.ts')];
    const second = spawnSync(process.execPath, args, { env: environment(dataDir), encoding: 'utf8' });
    expect(second.status).toBe(1);
    expect(second.stderr).toContain(`process ${stack.process.pid}`);
    expect(second.stderr).toContain(readStack(dataDir)?.api);
    expect(stack.process.exitCode).toBeNull();
  });

  test('a port that another program has is named, and how to choose another; nothing stays behind', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    const folder = mkdtempSync(path.join(tmpdir(), 'planner-start-'));
    const failed = start(folder, { PLANNER_PORT: String(port) });
    expect(await exitOf(failed)).toBe(1);
    expect(failed.printed()).toContain(`Port ${port} of 127.0.0.1 is in use`);
    expect(failed.printed()).toContain('Set PLANNER_PORT');
    other.close();
    rmSync(folder, { recursive: true });
  });

  test.each(['worker', 'api', 'demo', 'temporal', 'postgres'])(
    'when %s is killed it is started again, with a line that says so, and the stack serves again',
    async (name) => {
      const before = children(dataDir)[name];
      kill(before?.pid ?? 0, 'SIGKILL');
      await until(() => stack.printed().includes(`${name} runs again`), stack.printed);
      expect(stack.printed()).toContain(`${name} ended (signal SIGKILL); starting it again`);
      expect(children(dataDir)[name]?.pid).not.toBe(before?.pid);
      const { api } = readStack(dataDir) ?? {};
      for (let tries = 0; tries < 100 && !(await isHealthy(api ?? '')); tries++) await sleep(100);
      expect(await isHealthy(api ?? '')).toBe(true);
    },
  );

  test('SIGTERM ends all of it, exit code 0, no process left; the next start has the same data and token', async () => {
    const pids = Object.values(children(dataDir)).map(({ pid }) => pid);
    expect(pids).toHaveLength(parts.length);
    stack.process.kill('SIGTERM');
    expect(await exitOf(stack)).toBe(0);
    expect(pids.filter((pid) => identify(pid))).toEqual([]);
    expect(readdirSync(path.join(dataDir, 'run'))).toEqual([]);
    expect(readStack(dataDir)).toBeUndefined();

    stack = start(dataDir);
    await isReady(stack);
    expect(stack.printed()).toContain(`#token=${token}`);
    expect(stack.printed()).not.toContain('creating the database');
  });

  test('SIGKILL of the stack itself leaves no process, and the next start works', async () => {
    const pids = Object.values(children(dataDir)).map(({ pid }) => pid);
    expect(pids).toHaveLength(parts.length);
    stack.process.kill('SIGKILL');
    await until(() => pids.every((pid) => !identify(pid)), () => 'all children have ended');
    stack = start(dataDir);
    await isReady(stack);
    expect(stack.printed()).toContain(`#token=${token}`);
  });

  test('Ctrl-C during the start ends what was started, exit code 0', async () => {
    stack.process.kill('SIGTERM');
    await exitOf(stack);
    stack = start(dataDir);
    await until(() => stack.printed().includes('starting the worker'), stack.printed);
    const pids = Object.values(children(dataDir)).map(({ pid }) => pid);
    stack.process.kill('SIGINT');
    expect(await exitOf(stack)).toBe(0);
    expect(pids.length).toBeGreaterThanOrEqual(3);
    expect(pids.filter((pid) => identify(pid))).toEqual([]);
  });
});

test('with DATABASE_URL and TEMPORAL_ADDRESS it starts neither a database nor Temporal', async () => {
  const { url, drop } = await createTestDatabase();
  const dataDir = mkdtempSync(path.join(tmpdir(), 'planner-start-'));
  const stack = start(dataDir, { DATABASE_URL: url, TEMPORAL_ADDRESS: temporalAddress() });
  try {
    await isReady(stack);
    expect(stack.printed()).toContain('Ready.');
    expect(Object.keys(children(dataDir)).toSorted()).toEqual(['api', 'demo', 'worker']);
  } finally {
    stack.process.kill('SIGTERM');
    expect(await exitOf(stack)).toBe(0);
    rmSync(dataDir, { recursive: true });
    await drop();
  }
});

test.each(['SIGTERM', 'SIGKILL'] as const)('when npm itself gets %s, all of the stack ends', async (signal) => {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'planner-start-'));
  const env = environment(dataDir);
  const npm = spawn('npm', ['start'], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  let printed = '';
  npm.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  try {
    await until(() => printed.includes('Ready.'), () => printed);
    const pids = [readStack(dataDir)?.pid ?? 0, ...Object.values(children(dataDir)).map(({ pid }) => pid)];
    expect(pids.filter((pid) => identify(pid))).toHaveLength(parts.length + 1);
    npm.kill(signal);
    await until(() => !pids.some((pid) => identify(pid)), () => 'all processes have ended');
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});

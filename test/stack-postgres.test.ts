// The embedded PostgreSQL and the tools folder, as `npm start` uses them.

import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../cli/stack/ports.ts';
import { preparePostgres, type Postgres } from '../cli/stack/postgres.ts';
import { Supervisor } from '../cli/stack/supervisor.ts';
import { fetchTool, ToolError, toolRoot } from '../cli/stack/tools.ts';
import { isRoot } from '../cli/stack/user.ts';

describe('embedded PostgreSQL in a folder that only its owner may enter', () => {
  let folder = '';
  let supervisor: Supervisor;
  let postgres: Postgres;
  let executable = '';
  let port = 0;
  const said: string[] = [];
  const say = (line: string): void => void said.push(line);

  const start = async (): Promise<void> => {
    supervisor = new Supervisor(folder, say);
    postgres = await preparePostgres({ dataDir: folder, port, executable, say });
    await supervisor.start(postgres.plan);
    await postgres.createDatabase();
  };

  const ask = async (sql: string, url = postgres.url): Promise<unknown> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return Object.values(((await client.query(sql)).rows[0] as Record<string, unknown> | undefined) ?? {})[0];
    } finally {
      await client.end();
    }
  };

  beforeAll(async () => {
    // As in a checkout under a home that only root may enter: tools and data are both behind a closed door.
    folder = mkdtempSync(path.join(tmpdir(), 'planner-closed-'));
    expect(statSync(folder).mode & 0o077).toBe(0);
    await fetchTool('postgres', say);
    const tools = path.join(folder, 'tools');
    cpSync(toolRoot('postgres'), toolRoot('postgres', tools), { recursive: true });
    executable = await fetchTool('postgres', say, tools);
    port = await freePort();
    await start();
  });

  afterAll(async () => {
    await supervisor.end();
    const copy = path.join(folder, 'tools/postgres.copy');
    if (existsSync(copy)) rmSync(readFileSync(copy, 'utf8'), { recursive: true });
    rmSync(folder, { recursive: true, force: true });
  });

  test('it is PostgreSQL 18 with pgvector, and keeps what it acknowledged', async () => {
    expect(await ask('SHOW server_version')).toMatch(/^18\./);
    expect(await ask('SHOW fsync')).toBe('on');
    expect(await ask('SHOW synchronous_commit')).toBe('on');
    expect(await ask("SELECT count(*)::int FROM pg_available_extensions WHERE name = 'vector'")).toBe(1);
    await expect(ask('CREATE EXTENSION vector')).resolves.toBeUndefined();
  });

  test('it does not run as root, whoever started it', () => {
    const { pid } = JSON.parse(readFileSync(path.join(folder, 'run/postgres.json'), 'utf8')) as { pid: number };
    const shown = process.platform === 'linux' ? `/proc/${pid}` : path.join(folder, 'postgres');
    expect(statSync(shown).uid).not.toBe(0);
    expect(said.some((line) => line.includes('refuses to run as root'))).toBe(isRoot());
  });

  test('it listens on the loopback address alone and asks for the password', async () => {
    expect(await ask('SHOW listen_addresses')).toBe('127.0.0.1');
    expect(await ask('SHOW unix_socket_directories')).toBe('');
    const wrong = new URL(postgres.url);
    wrong.password = 'wrong';
    await expect(ask('SELECT 1', wrong.href)).rejects.toThrow(/password authentication failed/);
    expect(statSync(path.join(folder, 'postgres.password')).mode & 0o077).toBe(0);
  });

  test('a second start finds the data and the same password', async () => {
    await ask('CREATE TABLE kept (a int)');
    await ask('INSERT INTO kept VALUES (7)');
    const before = postgres.url;
    await supervisor.end();
    said.length = 0;
    await start();
    expect(postgres.url).toBe(before);
    expect(await ask('SELECT a FROM kept')).toBe(7);
    expect(said).toEqual([]);
  });
});

describe('without Python', () => {
  const { PATH } = process.env;
  const empty = mkdtempSync(path.join(tmpdir(), 'planner-tools-'));

  afterEach(() => {
    process.env['PATH'] = PATH;
  });
  afterAll(() => rmSync(empty, { recursive: true }));

  test.each(['temporal', 'postgres'] as const)('%s: the error says so and names the other ways', async (tool) => {
    process.env['PATH'] = empty;
    const error = await fetchTool(tool, () => undefined, empty).catch((caught: Error) => caught);
    expect(error).toBeInstanceOf(ToolError);
    expect(String(error)).toMatch(/Python 3\.8 or newer, and none is on the PATH/);
    expect(String(error)).toMatch(/set DATABASE_URL.*set TEMPORAL_ADDRESS/s);
  });
});

// `planner doctor` on computers with something wrong: each fault is named, with how to mend it, and nothing is written,
// started or paid.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { examinePlanner } from '../cli/doctor/examine.ts';
import type { Finding } from '../cli/doctor/finding.ts';
import { look, ok, renderFindings, warn } from '../cli/doctor/finding.ts';
import { packages } from '../cli/doctor/machine.ts';
import { toolsFolder } from '../config/tools-folder.ts';
import { newSecretKey } from '../store/sealing.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';
import { databaseUrl, temporalAddress } from './support/servers.ts';

const command = fileURLToPath(new URL('../cli/planner.ts', import.meta.url));
/** Tells no secret of anybody who runs the tests. */
const secret = 'sk-made-up-for-this-test';

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'doctor-'));
});
afterEach(() => {
  chmodSync(root, 0o700);
  rmSync(root, { recursive: true, force: true });
});

interface Told {
  code: number | null;
  out: string;
  err: string;
}

const computer = (more: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  HOME: root,
  PLANNER_TOOLS_DIR: toolsFolder(),
  PLANNER_PORT: '0',
  ...more,
});

/** As a process. */
async function doctor(env: NodeJS.ProcessEnv = {}, args: string[] = []): Promise<Told> {
  const child = spawn(process.execPath, [command, 'doctor', ...args], { cwd: root, env: computer(env) });
  let [out, err] = ['', ''];
  child.stdout.on('data', (data) => (out += data));
  child.stderr.on('data', (data) => (err += data));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err };
}

/** The findings, by what they are about. */
async function findings(env: NodeJS.ProcessEnv = {}): Promise<Record<string, Finding>> {
  const items = await examinePlanner(computer(env), env['PLANNER_DATA_DIR'] ?? path.join(root, '.planner'));
  for (const { mark, what, mend } of items) {
    if (mark !== 'ok') expect([what, mend]).toEqual([what, expect.stringMatching(/\w/)]);
  }
  return Object.fromEntries(items.map((one) => [one.what, one]));
}

describe('without a running stack', () => {
  test('all is well: exit 0, a line each, and nothing is written', async () => {
    const { code, out, err } = await doctor();
    expect([code, err]).toEqual([0, '']);
    const looked = 'node,packages,config,python,tools,data,ports,secret key,stack,database,engine,model,embeddings';
    for (const what of looked.split(',')) {
      expect(out).toMatch(new RegExp(`^ok +${what} +\\S`, 'm'));
    }
    expect(out.trimEnd().split('\n').at(-1)).toBe('All is well.');
    expect(readdirSync(root)).toEqual([]);
  });

  test('a configuration that is wrong: each key, as every command tells it', async () => {
    mkdirSync(path.join(root, '.planner'));
    writeFileSync(path.join(root, '.planner/planner.toml'), '[planner]\nmax_round = 3\n');
    const { config } = await findings();
    expect(config).toMatchObject({ mark: 'fail', text: expect.stringContaining('did you mean planner.max_rounds') });
  });

  test('a port that another program has', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const port = String((server.address() as AddressInfo).port);
    const { ports } = await findings({ PLANNER_PORT: port });
    server.close();
    expect(ports).toMatchObject({ mark: 'fail', text: expect.stringContaining(port) });
    expect(ports!.mend).toContain('PLANNER_PORT');
  });

  test('a data folder whose place is a file', async () => {
    writeFileSync(path.join(root, 'file'), '');
    const { data } = await findings({ PLANNER_DATA_DIR: path.join(root, 'file', 'data') });
    expect(data).toMatchObject({ mark: 'fail', text: expect.stringContaining('is a file') });
  });

  test('no tools, and no Python to fetch them: other ways are named', async () => {
    const none = { PLANNER_TOOLS_DIR: path.join(root, 'tools'), PATH: path.dirname(process.execPath) };
    const found = await findings(none);
    expect(found['python']).toMatchObject({ mark: 'fail', mend: expect.stringContaining('DATABASE_URL') });
    expect(found['database']).toMatchObject({ mark: 'fail', mend: expect.stringContaining('DATABASE_URL') });
    expect(found['engine']).toMatchObject({ mark: 'fail', mend: expect.stringContaining('TEMPORAL_ADDRESS') });
    expect(existsSync(path.join(root, 'tools'))).toBe(false);
  });

  test('a Python without pip', async () => {
    const bin = path.join(root, 'bin');
    mkdirSync(bin);
    writeFileSync(path.join(bin, 'python3'), '#!/bin/sh\n[ "$1" = -c ]\n', { mode: 0o755 });
    const PATH = [bin, path.dirname(process.execPath), '/bin'].join(path.delimiter);
    const { python } = await findings({ PLANNER_TOOLS_DIR: path.join(root, 'tools'), PATH });
    expect(python).toMatchObject({ mark: 'fail', text: expect.stringContaining('has no pip') });
  });

  test('a secret key that others may read, or that is none', async () => {
    const file = path.join(root, '.planner/secret.key');
    mkdirSync(path.dirname(file));
    writeFileSync(file, `${newSecretKey()}\n`);
    chmodSync(file, 0o644);
    const key = async (): Promise<Finding | undefined> => (await findings())['secret key'];
    expect(await key()).toMatchObject({ mark: 'warn', mend: expect.stringContaining('chmod 600') });
    writeFileSync(file, 'short\n');
    expect(await key()).toMatchObject({ mark: 'fail', mend: expect.stringContaining('backup') });
  });

  test('packages that are missing or of another version', () => {
    mkdirSync(path.join(root, 'node_modules/one'), { recursive: true });
    writeFileSync(path.join(root, 'package.json'), JSON.stringify({ dependencies: { one: '1.2.3', two: '2.0.0' } }));
    writeFileSync(path.join(root, 'node_modules/one/package.json'), JSON.stringify({ version: '1.2.4' }));
    const found = packages(root);
    expect(found).toMatchObject({ mark: 'fail', mend: expect.stringContaining('npm ci') });
    expect(found.text).toContain('one 1.2.3 (1.2.4), two 2.0.0 (not there)');
  });
});

describe('a database', () => {
  let t: TestDatabase;
  beforeAll(async () => {
    t = await createTestDatabase();
  });
  afterAll(() => t.drop());

  const withSql = async (url: string, ...statements: string[]): Promise<void> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    for (const statement of statements) await client.query(statement);
    await client.end();
  };

  test('that is well: its version, its extension, its schema, its clock, its notifications', async () => {
    const found = await findings({ DATABASE_URL: t.url });
    for (const what of ['database', 'pgvector', 'schema', 'clock', 'credentials', 'notifications']) {
      expect(found[what]).toMatchObject({ mark: 'ok' });
    }
    expect(found['schema']!.text).toMatch(/^up to date, \d+ migrations$/);
  });

  test('that does not answer; the password is not shown', async () => {
    const env = { DATABASE_URL: 'postgres://me:hidden@127.0.0.1:9/none' };
    const { code, out, err } = await doctor(env);
    expect(code).toBe(1);
    expect(out).toMatch(/^fail +database .*127\.0\.0\.1:9.*ECONNREFUSED/m);
    expect(out.trimEnd().split('\n').at(-1)).toMatch(/^1 of \d+ failed\.$/);
    const json = await doctor(env, ['--json']);
    expect(json.code).toBe(1);
    const told = JSON.parse(json.out) as { ok: boolean; items: Finding[] };
    expect(told.ok).toBe(false);
    const database = told.items.find(({ what }) => what === 'database');
    expect(database).toMatchObject({ mark: 'fail', mend: expect.any(String) });
    expect(out + err + json.out).not.toContain('hidden');
  });

  test('that is not there', async () => {
    const url = new URL(t.url);
    url.pathname = '/no_such_database';
    const { database } = await findings({ DATABASE_URL: url.href });
    expect(database).toMatchObject({ mark: 'fail', mend: expect.stringContaining('createdb') });
  });

  test('whose schema is behind, of another version, or changed', async () => {
    const schema = async (): Promise<Finding | undefined> => (await findings({ DATABASE_URL: t.url }))['schema'];
    await withSql(t.url, `CREATE TABLE kept AS SELECT * FROM schema_migrations`);
    await withSql(t.url, `DELETE FROM schema_migrations WHERE name LIKE '0008%'`);
    expect(await schema()).toMatchObject({ mark: 'warn', text: expect.stringContaining('0008_compaction.sql') });
    await withSql(t.url, `UPDATE schema_migrations SET hash = 'other' WHERE name LIKE '0001%'`);
    expect(await schema()).toMatchObject({ mark: 'fail', text: expect.stringContaining('0001_foundation.sql') });
    await withSql(t.url, `INSERT INTO schema_migrations (name, hash) VALUES ('9999_future.sql', 'x')`);
    expect(await schema()).toMatchObject({ mark: 'fail', text: expect.stringContaining('9999_future.sql') });
    const back = 'INSERT INTO schema_migrations SELECT * FROM kept';
    await withSql(t.url, 'DELETE FROM schema_migrations', back, 'DROP TABLE kept');
  });

  test('that holds credentials which the keys here do not open', async () => {
    await withSql(
      t.url,
      `INSERT INTO organizations (id, key, name) VALUES ('00000000-0000-7000-8000-000000000001', 'acme', 'Acme')`,
      `INSERT INTO credentials (id, organization_id, provider, sealed, key_id, fingerprint, created_by)
       VALUES (gen_random_uuid(), '00000000-0000-7000-8000-000000000001', 'openai', 'x', 'lost', 'f', 'ada')`,
    );
    const { credentials } = await findings({ DATABASE_URL: t.url, PLANNER_SECRET_KEY: newSecretKey() });
    expect(credentials).toMatchObject({ mark: 'fail', text: expect.stringContaining('1 of 1') });
    expect(credentials!.mend).toContain('PLANNER_SECRET_KEYS_OLD');
    await withSql(t.url, 'DELETE FROM credentials', 'DELETE FROM organizations');
  });

  test('whose user may not create tables', async () => {
    const name = path.basename(new URL(t.url).pathname);
    const url = new URL(databaseUrl());
    await withSql(databaseUrl(), `CREATE ROLE ${name}_guest LOGIN PASSWORD 'guest'`, `CREATE DATABASE ${name}_empty`);
    Object.assign(url, { username: `${name}_guest`, password: 'guest', pathname: `/${name}_empty` });
    const found = await findings({ DATABASE_URL: url.href });
    await withSql(databaseUrl(), `DROP DATABASE ${name}_empty WITH (FORCE)`, `DROP ROLE ${name}_guest`);
    expect(found['schema']).toMatchObject({ mark: 'fail', mend: expect.stringContaining('GRANT CREATE') });
    expect(found['pgvector']).toMatchObject({ mark: 'fail', mend: expect.stringContaining('CREATE EXTENSION') });
  });
});

describe('an engine', () => {
  test('that answers, in a namespace that is not there', async () => {
    const { engine } = await findings({ TEMPORAL_ADDRESS: temporalAddress(), TEMPORAL_NAMESPACE: 'nowhere' });
    expect(engine).toMatchObject({ mark: 'fail', text: expect.stringContaining('no namespace nowhere') });
    expect(engine!.mend).toContain('temporal operator namespace create');
  });

  test('with or without the search attributes, which are nothing but a comfort', async () => {
    const found = await findings({ TEMPORAL_ADDRESS: temporalAddress() });
    expect(found['engine']).toMatchObject({ mark: 'ok', text: expect.stringContaining('namespace default') });
    const attributes = found['search attributes']!;
    if (attributes.mark === 'ok') expect(attributes.text).toContain('registered');
    else expect(attributes).toMatchObject({ mark: 'warn', mend: expect.stringContaining('search-attribute create') });
  });

  test('that is not there', async () => {
    const { engine } = await findings({ TEMPORAL_ADDRESS: '127.0.0.1:9' });
    expect(engine).toMatchObject({ mark: 'fail', mend: expect.stringContaining('TEMPORAL_ADDRESS') });
  });
});

describe('a model endpoint', () => {
  let server: Server;
  let baseUrl: string;
  const asked: string[] = [];
  beforeAll(async () => {
    server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      const [, mode] = request.url?.split('/') ?? [];
      if (mode === 'page') return void response.end('<html>');
      if (mode === 'none') return void response.writeHead(404).end('{}');
      if (request.headers.authorization !== `Bearer ${secret}`) return void response.writeHead(401).end('{}');
      response.end(JSON.stringify({ data: [{ id: 'small' }, { id: 'large' }] }));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => void server.close());

  const tried = async (env: NodeJS.ProcessEnv): Promise<Finding> => {
    const well = { PLANNER_MODEL: 'large', PLANNER_MODEL_API_KEY: secret, PLANNER_MODEL_BASE_URL: `${baseUrl}/v1` };
    const { model } = await findings({ ...well, ...env });
    return model!;
  };

  test('that accepts the key and has the model; nothing is asked but its list', async () => {
    asked.length = 0;
    expect(await tried({})).toMatchObject({ mark: 'ok', text: `large at ${baseUrl}/v1` });
    expect(asked).toEqual(['GET /v1/models']);
  });

  test('that refuses the key, which is not shown', async () => {
    const told = await tried({ PLANNER_MODEL_API_KEY: `${secret}-old` });
    expect(told).toMatchObject({ mark: 'fail', mend: expect.stringContaining('PLANNER_MODEL_API_KEY') });
    expect(JSON.stringify(told)).not.toContain(secret);
  });

  test('that does not have the model', async () => {
    const told = await tried({ PLANNER_MODEL: 'huge' });
    expect(told).toMatchObject({ mark: 'warn', text: expect.stringContaining('small, large') });
  });

  test.each(['page', 'none'])('whose address is wrong: %s', async (mode) => {
    const told = await tried({ PLANNER_MODEL_BASE_URL: `${baseUrl}/${mode}` });
    expect(told).toMatchObject({ mark: 'warn', mend: expect.stringContaining('/v1') });
  });

  test('that is not there', async () => {
    const gone = createServer().listen(0, '127.0.0.1');
    await once(gone, 'listening');
    const { port } = gone.address() as AddressInfo;
    gone.close();
    const told = await tried({ PLANNER_MODEL_BASE_URL: `http://127.0.0.1:${port}/v1` });
    expect(told).toMatchObject({ mark: 'fail', text: expect.stringContaining('ECONNREFUSED') });
  });

  test('an endpoint for embeddings is looked at likewise', async () => {
    const env = {
      PLANNER_EMBEDDINGS_BASE_URL: `${baseUrl}/v1`,
      PLANNER_EMBEDDINGS_MODEL: 'small',
      PLANNER_EMBEDDINGS_API_KEY: secret,
    };
    expect((await findings(env))['embeddings']).toMatchObject({ mark: 'ok', text: `small at ${baseUrl}/v1` });
    const { embeddings } = await findings({ ...env, PLANNER_EMBEDDINGS_API_KEY: 'wrong' });
    expect(embeddings).toMatchObject({ mark: 'fail', mend: expect.stringContaining('PLANNER_EMBEDDINGS_API_KEY') });
  });
});

describe('what is told', () => {
  test('a check that breaks is a finding', async () => {
    const found = await look('thing', () => Promise.reject(new Error('no reason')));
    expect(found).toMatchObject({ mark: 'fail', text: expect.stringContaining('no reason') });
  });

  test('lines stay in their columns, and nothing that is shown moves the cursor', () => {
    const text = renderFindings([ok('a', 'one\ntwo'), warn('long name', 'bad\u001b[2J', 'Mend it.')]);
    const lines = ['ok    a         one', '                two', 'warn  long name bad. Mend it.'];
    expect(text.split('\n')).toEqual([...lines, '', 'Nothing failed; 1 to look at.']);
  });
});

// The embedded PostgreSQL: its cluster in the data folder, one database, loopback only, password only.

import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { readText } from './process.ts';
import type { ChildPlan } from './supervisor.ts';
import { run, toolRoot, type Say } from './tools.ts';
import { canReach, isRoot, serverUser, type User } from './user.ts';

export interface PostgresOptions {
  /** The data folder; the cluster is its folder `postgres`. */
  dataDir: string;
  port: number;
  /** The fetched `postgres`. */
  executable: string;
  say: Say;
  maxConnections?: number;
  /** For tests alone: what was committed may be lost with the machine. */
  unsafe?: boolean;
}

export interface Postgres {
  plan: ChildPlan;
  /** Of the product's own database. */
  url: string;
  /** Creates that database if it is not there; call when the server is ready. */
  createDatabase(): Promise<void>;
}

const role = 'planner';
const database = 'planner';
const major = '18';

/** How it is ended: fast shutdown, then immediate shutdown. */
export const postgresEnd = [
  { signal: 'SIGINT', graceMs: 20_000 },
  { signal: 'SIGQUIT', graceMs: 5_000 },
] as const;

/** Prepares the cluster (created on fresh data) and says how to run it. */
export async function preparePostgres(options: PostgresOptions): Promise<Postgres> {
  const { dataDir, port } = options;
  const cluster = path.join(dataDir, 'postgres');
  const version = readText(path.join(cluster, 'PG_VERSION'))?.trim();
  if (version && version !== major) {
    throw new Error(`${cluster} holds data of PostgreSQL ${version}, and ${major} is needed: dump and restore them.`);
  }
  const owner = version ? statSync(cluster).uid : undefined;
  if (owner !== undefined && !isRoot() && owner !== process.getuid?.()) {
    throw new Error(`${cluster} belongs to another user (uid ${owner}). Start as that user or as root.`);
  }
  const user = serverUser(owner);
  const executable = user ? reachable(options, user) : options.executable;
  const password = readOrMakePassword(path.join(dataDir, 'postgres.password'));
  if (!version) await initialize({ cluster, executable, password, user, say: options.say });

  const address = (name: string): string => `postgres://${role}:${password}@127.0.0.1:${port}/${name}`;
  return {
    url: address(database),
    createDatabase: () => createDatabase(address('postgres')),
    plan: {
      name: 'postgres',
      command: executable,
      args: ['-D', seenBy(user, cluster), ...settings(options)],
      env: environment(),
      user: user && { uid: user.uid, gid: user.gid },
      folder: user && cluster,
      ready: () => ask(address('postgres'), 'SELECT 1').then(() => undefined),
      readyWithinMs: 120_000,
      end: postgresEnd,
    },
  };
}

function settings({ port, maxConnections = 100, unsafe = false }: PostgresOptions): string[] {
  const durable = unsafe ? 'off' : 'on';
  const values = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: maxConnections,
    fsync: durable,
    synchronous_commit: durable,
    full_page_writes: durable,
    log_timezone: 'UTC',
    timezone: 'UTC',
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** Only what the server itself needs: no secrets of the product in its environment. */
function environment(): NodeJS.ProcessEnv {
  const { PATH } = process.env;
  return { PATH, LC_ALL: 'C', TZ: 'UTC' };
}

/**
 * The path by which the server finds its data. Another user than root may be unable to walk there (a checkout under a
 * home that only root may enter), so it gets the folder as an open descriptor.
 */
function seenBy(user: User | undefined, cluster: string): string {
  if (!user) return cluster;
  if (existsSync('/proc/self/fd')) return '/proc/self/fd/3';
  if (canReach(user, path.dirname(cluster))) return cluster;
  throw new Error(
    `PostgreSQL refuses to run as root, and the user "${user.name}" can't reach ${cluster}. Start as another user, or` +
      ' set PLANNER_DATA_DIR to a folder that every user may enter.',
  );
}

/** The executable, or one in a copy of the tool that the user can reach; the tools folder remembers where it is. */
function reachable({ executable, say }: PostgresOptions, user: User): string {
  const tools = path.resolve(executable, '../../../../..');
  const root = toolRoot('postgres', tools);
  const inside = path.relative(root, executable);
  if (canReach(user, path.dirname(executable))) return executable;
  const note = path.join(tools, 'postgres.copy');
  const noted = readText(note)?.trim();
  if (noted && isWhole(noted, inside)) return path.join(noted, inside);
  const copy = mkdtempSync(path.join(tmpdir(), 'planner-postgres-'));
  say(`PostgreSQL refuses to run as root; it runs as "${user.name}", from a copy in ${copy}`);
  cpSync(root, copy, { recursive: true });
  chmodSync(copy, 0o755);
  writeFileSync(path.join(copy, 'count'), String(countFiles(copy)));
  writeFileSync(note, copy, { mode: 0o600 });
  return path.join(copy, inside);
}

/** A copy made by root, to which nobody else can write, and of which nothing was tidied away. */
function isWhole(copy: string, inside: string): boolean {
  const found = statSync(copy, { throwIfNoEntry: false });
  if (!found || found.uid !== 0 || (found.mode & 0o022) !== 0 || !existsSync(path.join(copy, inside))) return false;
  return readText(path.join(copy, 'count')) === String(countFiles(copy) - 1);
}

function countFiles(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;
}

function readOrMakePassword(file: string): string {
  const known = readText(file)?.trim();
  if (known) return known;
  const password = randomBytes(24).toString('hex');
  writeFileSync(file, `${password}\n`, { mode: 0o600 });
  return password;
}

/** Creates the cluster aside and moves it into place whole: a kill in the middle leaves nothing half-made. */
async function initialize(made: {
  cluster: string;
  executable: string;
  password: string;
  user: User | undefined;
  say: Say;
}): Promise<void> {
  const { cluster, executable, password, user, say } = made;
  say('creating the database ...');
  const draft = `${cluster}.new`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o700, recursive: true });
  const secrets = mkdtempSync(path.join(tmpdir(), 'planner-'));
  const passwordFile = path.join(secrets, 'password');
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (user) for (const entry of [draft, secrets, passwordFile]) chownSync(entry, user.uid, user.gid);
  const folder = openSync(draft, 'r');
  try {
    const access = ['-U', role, '-A', 'scram-sha-256', `--pwfile=${passwordFile}`];
    const text = ['-E', 'UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
    const initdb = path.join(path.dirname(executable), 'initdb');
    const ids = user && { uid: user.uid, gid: user.gid };
    const options = { env: environment(), folder, cwd: '/', ...ids };
    const made = await run(initdb, ['-D', seenBy(user, draft), ...access, ...text, '--no-instructions'], options);
    if (made.code !== 0) throw new Error(`The database could not be created:\n${made.output.trim()}`);
    renameSync(draft, cluster);
  } finally {
    closeSync(folder);
    rmSync(secrets, { recursive: true, force: true });
    rmSync(draft, { recursive: true, force: true });
  }
}

async function createDatabase(admin: string): Promise<void> {
  const found = await ask(admin, 'SELECT FROM pg_database WHERE datname = $1', [database]);
  if (found === 0) await ask(admin, `CREATE DATABASE ${database}`);
}

/** Runs one statement on a connection of its own; returns the number of rows. */
export async function ask(url: string, sql: string, values: unknown[] = []): Promise<number> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(sql, values)).rowCount ?? 0;
  } finally {
    await client.end().catch(() => undefined);
  }
}

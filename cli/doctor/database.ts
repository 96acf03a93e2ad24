// Of PostgreSQL: reached, new enough, with its extension, up to date, its clock right, its notifications arriving.

import pg from 'pg';
import { withoutPassword } from '../../config/index.ts';
import { listen } from '../../store/listener.ts';
import { readMigrations } from '../../store/migrate.ts';
import type { Keyring } from '../../store/sealing.ts';
import { fail, look, ok, warn, type Finding } from './finding.ts';

/** How to mend what can't be reached: of a stack's own database, or of one that somebody else runs. */
export interface Whose {
  /** The running stack's own. */
  own: boolean;
}

const oldest = 150_000;
const oldestVector = [0, 7] as const;
/** Connections that an API and a worker use at most. */
const neededConnections = 50;
const skewMs = 2_000;

/** Undefined keys: not looked for. */
export async function examineDatabase(url: string, { own }: Whose, keys?: Keyring): Promise<Finding[]> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 5_000,
    query_timeout: 10_000,
    application_name: 'planner-doctor',
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    const mend = own ? 'The stack starts it again by itself; see logs/postgres.log.' : mendOf(error);
    const text = `PostgreSQL at ${withoutPassword(url)} does not answer: ${(error as Error).message || codeOf(error)}`;
    return [fail('database', text, mend)];
  }
  try {
    return [
      await look('database', () => version(client, url)),
      await look('pgvector', () => vector(client)),
      await look('schema', () => schema(client)),
      await look('clock', () => clock(client)),
      ...(keys === undefined ? [] : [await look('credentials', () => credentials(client, keys))]),
      await look('notifications', () => notifications(url)),
    ];
  } finally {
    await client.end().catch(() => undefined);
  }
}

const codeOf = (error: unknown): string => String((error as { code?: unknown }).code ?? 'no reason');

function mendOf(error: unknown): string {
  switch (codeOf(error)) {
    case '28P01':
    case '28000':
      return 'User or password of DATABASE_URL is wrong, or pg_hba.conf does not let this computer in.';
    case '3D000':
      return 'The database of DATABASE_URL is not there: make it (createdb), empty, of its user.';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'The host of DATABASE_URL is not known here.';
    default:
      return 'Start it, or mend DATABASE_URL; without DATABASE_URL "npm start" runs one of its own.';
  }
}

async function version(client: pg.Client, url: string): Promise<Finding> {
  const { rows } = await client.query<{ number: string; name: string; connections: string }>(
    `SELECT current_setting('server_version_num') AS number, current_setting('server_version') AS name,
            current_setting('max_connections') AS connections`,
  );
  const { number, name, connections } = rows[0]!;
  const text = `PostgreSQL ${name} answers at ${withoutPassword(url)}`;
  if (Number(number) < oldest) return fail('database', text, 'Version 15 or newer is needed.');
  if (Number(connections) >= neededConnections) return ok('database', text);
  const mend = `Set max_connections to ${neededConnections} or more: an API and a worker use 20 each.`;
  return warn('database', `${text}, but allows ${connections} connections only`, mend);
}

async function vector(client: pg.Client): Promise<Finding> {
  const { rows } = await client.query<{ installed: string | null; available: string; may: boolean }>(
    `SELECT e.installed_version AS installed, e.default_version AS available,
            coalesce(v.trusted, false) AND has_database_privilege(current_database(), 'CREATE')
              OR (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS may
     FROM pg_available_extensions e
     LEFT JOIN pg_available_extension_versions v ON v.name = e.name AND v.version = e.default_version
     WHERE e.name = 'vector'`,
  );
  const [found] = rows;
  const install = 'Install pgvector 0.7 or newer for this PostgreSQL (Debian: postgresql-<version>-pgvector).';
  if (!found) return fail('pgvector', 'not there: search needs it', install);
  const number = found.installed ?? found.available;
  const [major = 0, minor = 0] = number.split('.').map(Number);
  if (major === oldestVector[0] && minor < oldestVector[1]) {
    return fail('pgvector', `${number} is too old`, `${install} Then: ALTER EXTENSION vector UPDATE.`);
  }
  if (found.installed) return ok('pgvector', number);
  if (found.may) return ok('pgvector', `${number}, set up by the first start`);
  const mend = 'As an administrator: CREATE EXTENSION vector.';
  return fail('pgvector', `${number} is there, but this user may not set it up`, mend);
}

async function schema(client: pg.Client): Promise<Finding> {
  const known = await readMigrations();
  const { rows } = await client.query<{ there: boolean; may: boolean }>(
    `SELECT to_regclass('schema_migrations') IS NOT NULL AS there,
            coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may`,
  );
  const { there, may } = rows[0]!;
  const right = 'Give its user the right: GRANT CREATE, USAGE ON SCHEMA public TO ... (or make it the owner).';
  if (!there && !may) return fail('schema', 'the database is empty, and this user may not create tables', right);
  if (!there) return ok('schema', 'empty; the first start fills it');
  const applied = await client.query<{ name: string; hash: string }>('SELECT name, hash FROM schema_migrations');
  const hashes = new Map(applied.rows.map(({ name, hash }) => [name, hash]));
  const unknown = [...hashes.keys()].filter((name) => !known.some((one) => one.name === name));
  if (unknown.length > 0) {
    return fail('schema', `of a newer version (${unknown.join(', ')})`, 'Run that version, or restore a backup.');
  }
  const changed = known.filter(({ name, hash }) => hashes.has(name) && hashes.get(name) !== hash);
  if (changed.length > 0) {
    const names = changed.map(({ name }) => name).join(', ');
    return fail('schema', `applied otherwise than the files say: ${names}`, 'Restore the files of this version.');
  }
  const missing = known.filter(({ name }) => !hashes.has(name)).map(({ name }) => name);
  if (missing.length === 0) return ok('schema', `up to date, ${known.length} migrations`);
  const mend = '"npm start" brings it up to date; in a cluster: node cli/stack/setup.ts, before API and workers.';
  return warn('schema', `${missing.length} migrations are missing (${missing.join(', ')})`, mend);
}

/** Tokens, budgets and orders of attempts go by clocks. */
async function clock(client: pg.Client): Promise<Finding> {
  const before = Date.now();
  const { rows } = await client.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  const after = Date.now();
  const its = new Date(rows[0]!.now).getTime();
  const skew = Math.max(before - its, its - after, 0);
  if (skew <= skewMs) return ok('clock', "as the database's");
  const text = `${(skew / 1_000).toFixed(0)} s off the database's`;
  return warn('clock', text, 'Let both computers set their clocks by NTP.');
}

/** Whether each stored key can be opened with the keys that are known here. */
async function credentials(client: pg.Client, keys: Keyring): Promise<Finding> {
  const { rows: found } = await client.query<{ there: boolean }>(
    `SELECT to_regclass('credentials') IS NOT NULL AS there`,
  );
  if (!found[0]!.there) return ok('credentials', 'none stored');
  const { rows } = await client.query<{ key_id: string }>('SELECT key_id FROM credentials');
  const lost = rows.filter(({ key_id }) => !keys.some(({ id }) => id === key_id));
  if (rows.length === 0) return ok('credentials', 'none stored');
  if (lost.length === 0) return ok('credentials', `${rows.length}, all can be opened`);
  const mend =
    'Set PLANNER_SECRET_KEY (a former key: PLANNER_SECRET_KEYS_OLD) to the key that sealed them, or store them anew.';
  return fail('credentials', `${lost.length} of ${rows.length} can't be opened: their key is not here`, mend);
}

async function notifications(url: string): Promise<Finding> {
  const pool = new pg.Pool({ connectionString: url, max: 1, connectionTimeoutMillis: 5_000 });
  pool.on('error', () => undefined);
  const listener = await listen(url, 'planner-doctor-listener');
  try {
    if (await listener.selfTest(pool)) return ok('notifications', 'arrive');
    const mend = 'Connect to PostgreSQL directly: a pooler that gives a connection a transaction loses them.';
    return warn('notifications', 'do not arrive: answers stream in steps of 250 ms, stops take longer', mend);
  } finally {
    await listener.close();
    await pool.end();
  }
}

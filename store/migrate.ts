// Applies the SQL files of migrations/ in order, each once, under a lock, checked by hash.

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';

const folder = new URL('./migrations/', import.meta.url);
const lock = 0x706c616e;

interface Migration {
  name: string;
  sql: string;
  hash: string;
}

export async function readMigrations(from: URL = folder): Promise<Migration[]> {
  const names = (await readdir(from)).filter((name) => /^\d{4}_[a-z0-9_]+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, from), 'utf8');
      return { name, sql, hash: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

/**
 * Brings the schema up to date and returns the names of the migrations applied now. Safe to run from several processes
 * at once. Throws when an applied file was changed or is unknown to this version, before anything is written.
 */
export async function migrate(url: string, from: URL = folder): Promise<string[]> {
  const migrations = await readMigrations(from);
  const client = new pg.Client({ connectionString: url, application_name: 'planner-migrate' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [lock]);
    await client.query(`CREATE TABLE IF NOT EXISTS schema_migrations (
      name text PRIMARY KEY, hash text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`);
    const applied = new Map(
      (await client.query<{ name: string; hash: string }>('SELECT name, hash FROM schema_migrations')).rows.map(
        (row) => [row.name, row.hash],
      ),
    );
    const known = new Set(migrations.map((migration) => migration.name));
    const unknown = [...applied.keys()].filter((name) => !known.has(name));
    if (unknown.length > 0) {
      throw new Error(
        `The database was migrated by a newer version (${unknown.join(', ')}). Run that version, or restore a backup.`,
      );
    }
    const changed = migrations.filter(({ name, hash }) => applied.has(name) && applied.get(name) !== hash);
    if (changed.length > 0) {
      const names = changed.map((migration) => migration.name).join(', ');
      throw new Error(
        `Applied migrations differ from their files: ${names}. Restore the files; change the schema by a new migration.`,
      );
    }
    const fresh: string[] = [];
    for (const { name, sql, hash } of migrations) {
      if (applied.has(name)) continue;
      await client.query('BEGIN');
      try {
        await client.query(sql);
        await client.query('INSERT INTO schema_migrations (name, hash) VALUES ($1, $2)', [name, hash]);
        await client.query('COMMIT');
      } catch (error) {
        await client.query('ROLLBACK').catch(() => undefined);
        throw new Error(`Migration ${name} failed: ${(error as Error).message}`, { cause: error });
      }
      fresh.push(name);
    }
    return fresh;
  } finally {
    await client.end();
  }
}

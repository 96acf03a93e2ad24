// A database of its own for each test file, on the PostgreSQL that the test run started.

import pg from 'pg';
import { randomBytes } from 'node:crypto';
import { openDatabase, type Database } from '../../store/database.ts';
import { migrate } from '../../store/migrate.ts';
import { databaseUrl } from './servers.ts';

export interface TestDatabase {
  url: string;
  database: Database;
  drop(): Promise<void>;
}

export async function createTestDatabase(): Promise<TestDatabase> {
  const admin = databaseUrl();
  const name = `test_${randomBytes(6).toString('hex')}`;
  await execute(admin, `CREATE DATABASE ${name}`);
  const url = new URL(admin);
  url.pathname = `/${name}`;
  await migrate(url.href);
  const database = openDatabase(url.href);
  return {
    url: url.href,
    database,
    async drop() {
      await database.close();
      await execute(admin, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

async function execute(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrate, readMigrations } from '../store/migrate.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';

let db: TestDatabase;
let folder: string;
beforeEach(async () => {
  db = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'migrations-'));
  for (const { name, sql } of await readMigrations()) await writeFile(join(folder, name), sql);
});
afterEach(async () => {
  await db.drop();
  await rm(folder, { recursive: true });
});
const from = (): URL => pathToFileURL(`${folder}/`);

test('a migration is applied once, also when several processes start together', async () => {
  await writeFile(join(folder, '9000_more.sql'), 'CREATE TABLE more (id integer)');
  const applied = await Promise.all([1, 2, 3].map(() => migrate(db.url, from())));
  expect(applied.flat()).toEqual(['9000_more.sql']);
  expect(await migrate(db.url, from())).toEqual([]);
});

test('a failing migration leaves nothing behind and is named', async () => {
  await writeFile(join(folder, '9000_bad.sql'), 'CREATE TABLE half (id integer); SELECT nonsense');
  await expect(migrate(db.url, from())).rejects.toThrow('Migration 9000_bad.sql failed');
  expect(await db.database.query(`SELECT to_regclass('half') AS half`)).toEqual([{ half: null }]);
});

test('a changed or unknown applied migration is refused', async () => {
  await writeFile(join(folder, '9000_more.sql'), 'CREATE TABLE more (id integer)');
  await migrate(db.url, from());
  await expect(migrate(db.url)).rejects.toThrow('newer version (9000_more.sql)');
  await writeFile(join(folder, '9000_more.sql'), 'CREATE TABLE more (id bigint)');
  await expect(migrate(db.url, from())).rejects.toThrow('differ from their files: 9000_more.sql');
});

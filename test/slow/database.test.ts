// Transactions: all or nothing, also where PostgreSQL or the network fails.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isConnectionError, openDatabase, transaction } from '../../store/database.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startProxy } from '../support/proxy.ts';

let home: TestDatabase;
beforeAll(async () => {
  home = await createTestDatabase();
  await home.database.query('CREATE TABLE facts (fact text PRIMARY KEY)');
});
afterAll(() => home.drop());

const facts = async (like: string): Promise<unknown[]> =>
  home.database.query('SELECT fact FROM facts WHERE fact LIKE $1', [like]);

test('a body that swallowed the failure of a statement does not pass for committed', async () => {
  const swallowed = transaction(home.database, async (tx) => {
    await tx.query(`INSERT INTO facts VALUES ('swallowed')`);
    await tx.query('SELECT 1 / 0').catch(() => undefined);
  });
  await expect(swallowed).rejects.toThrow(/failed before its commit/);
  expect(await facts('swallowed')).toEqual([]);
});

test('a connection that PostgreSQL ends in mid-transaction is a connection error, and the pool goes on', async () => {
  const ended = transaction(home.database, async (tx) => {
    await tx.query(`INSERT INTO facts VALUES ('half')`);
    const [own] = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await home.database.query('SELECT pg_terminate_backend($1)', [own!.pid]);
    await sleep(50);
    await tx.query(`INSERT INTO facts VALUES ('whole')`);
  });
  await expect(ended).rejects.toSatisfy(isConnectionError);
  expect(await facts('%hal%')).toEqual([]);
});

test('a process that idles in mid-transaction loses it, and is told as of a lost connection', async () => {
  const idle = transaction(home.database, async (tx) => {
    await tx.query(`SET LOCAL idle_in_transaction_session_timeout = 100`);
    await tx.query(`INSERT INTO facts VALUES ('idle')`);
    await sleep(300);
    await tx.query('SELECT 1');
  });
  await expect(idle).rejects.toSatisfy(isConnectionError);
  expect(await facts('idle')).toEqual([]);
});

test('a network that swallows everything is noticed, and the next statement takes another connection', async () => {
  const url = new URL(home.url);
  const proxy = await startProxy(Number(url.port));
  url.port = String(proxy.port);
  const database = openDatabase(url.href, { max: 2 });
  try {
    await database.query('SELECT 1');
    proxy.stall();
    const begun = Date.now();
    const hung = transaction(database, (tx) => tx.query(`INSERT INTO facts VALUES ('swallowed by the network')`));
    await expect(hung).rejects.toSatisfy(isConnectionError);
    expect(Date.now() - begun).toBeLessThan(25_000);
    proxy.resume();
    expect(await transaction(database, (tx) => tx.query('SELECT 1 AS one'))).toEqual([{ one: 1 }]);
    proxy.stall();
    const closing = Date.now();
    await database.close();
    expect(Date.now() - closing).toBeLessThan(7_000);
  } finally {
    await proxy.close();
  }
}, 60_000);

// Sets the database of a cluster up, once before its processes start: the schema, and fresh data's first human.

import { openDatabase } from '../../store/database.ts';
import { migrate } from '../../store/migrate.ts';
import { fillFresh } from './seed.ts';

try {
  const url = process.env['DATABASE_URL'];
  if (!url) throw new Error('DATABASE_URL is not set.');
  const fresh = await migrate(url);
  const database = openDatabase(url, { max: 2, name: 'planner-setup' });
  await fillFresh(database);
  await database.close();
  console.log(`The schema is up to date${fresh.length > 0 ? ` (applied now: ${fresh.join(', ')})` : ''}.`);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

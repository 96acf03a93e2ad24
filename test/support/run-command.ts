// A command that starts bounded runs and watches them, as a process that can be killed: RUN_IDS, one after another, at
// most RUN_OPEN of all open at a time.

import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { startRun } from '../../bounded/index.ts';
import { DomainError } from '../../domain/errors.ts';
import { openDatabase } from '../../store/database.ts';
import { packet } from './bounded-attempt.ts';

const { DATABASE_URL = '', RUN_IDS = '', RUN_OPEN = '20' } = process.env;
const database = openDatabase(DATABASE_URL, { max: 2, name: 'test-run-command' });
const ada = { subject: 'ada', kind: 'human' } as const;

async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof DomainError) throw error;
      await sleep(100);
    }
  }
}

const countOpen = `SELECT count(*) AS open FROM bounded_runs WHERE status IN ('pending', 'running')`;
const begun = await patiently(() => database.query<{ run_id: string }>('SELECT run_id FROM bounded_runs'));
const known = new Set(begun.map((run) => run.run_id));
for (const run_id of RUN_IDS.split(',').filter((id) => !known.has(id))) {
  while (true) {
    const [row] = await patiently(() => database.query<{ open: number }>(countOpen));
    if (row!.open < Number(RUN_OPEN)) break;
    await sleep(100);
  }
  const asked = { repo: 'shop', host: 'codex', role: 'deep_reasoner', packet, run_id, idle_timeout: 2.5 };
  await patiently(() => startRun(database, ada, asked)).catch((error: unknown) => {
    // An earlier command was killed after it had begun this one.
    if (!(error instanceof DomainError && error.code === 'already_exists')) throw error;
  });
  await sleep(randomInt(150));
}
console.log('done');
process.exit(0);

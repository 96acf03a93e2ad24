// The door to PostgreSQL: a pool, and transactions that collect what they tell others until their last statements.

import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { DomainError } from '../domain/errors.ts';
import { eventScope, type NewEvent } from '../domain/event.ts';
import type { NewOutput } from '../domain/output.ts';
import type { NewRunOutput } from '../domain/run-output.ts';
import { Facts, type Fact } from '../telemetry/fact.ts';
import { Notifier, type Note } from './notifier.ts';

// bigint columns hold counters far below 2^53; timestamps travel as ISO strings.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);
pg.types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, (text) => new Date(text).toISOString());

export interface Queryable {
  query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

export interface Database extends Queryable {
  readonly pool: pg.Pool;
  readonly notifier: Notifier;
  /** What was committed in this process, for metrics and logs. */
  readonly facts: Facts;
  readonly url: string;
  close(): Promise<void>;
}

/** One transaction. Events and outputs are stored by its last statements: their counters are held only briefly. */
export interface Tx extends Queryable {
  emit(event: NewEvent): void;
  output(output: NewOutput | NewRunOutput): void;
  /** Told to the other processes after the commit; may be lost. */
  notify(note: Note): void;
  /** Told to metrics and logs after the commit. */
  fact(fact: Fact): void;
}

export interface TransactionOptions {
  /** How often the body runs at most when PostgreSQL reports a deadlock or a serialization failure. Default 5. */
  attempts?: number;
  /** Milliseconds a statement may take. Default: the pool's. */
  statementTimeout?: number;
}

export interface DatabaseOptions {
  /** Connections at most. Default 10. */
  max?: number;
  /** Shown in pg_stat_activity. */
  name?: string;
}

export function openDatabase(url: string, options: DatabaseOptions = {}): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: options.max ?? 10,
    application_name: options.name ?? 'planner',
    connectionTimeoutMillis: 10_000,
    statement_timeout: 15_000,
    // A host that died without a word, or a network that swallows everything, is noticed by this one alone.
    query_timeout: 20_000,
    // A process that is stopped in mid-transaction must not hold a turn's lock for longer.
    idle_in_transaction_session_timeout: 5_000,
    keepAlive: true,
  });
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  pool.on('error', () => undefined);
  const notifier = new Notifier(pool);
  return {
    pool,
    notifier,
    facts: new Facts(),
    url,
    async query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]> {
      return (await pool.query<Row>(text, values as unknown[])).rows;
    },
    async close() {
      await notifier.close();
      // A connection that is stalled never says goodbye.
      await Promise.race([pool.end(), sleep(5_000, undefined, { ref: false })]);
    },
  };
}

const connectionMessages = new RegExp(
  'Connection terminated|timeout exceeded when trying to connect|Query read timeout|is not queryable',
);

/** Lost, silent or refused connections, server shutdown, failover: the statement may or may not have taken effect. */
export function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string') {
    if (/^(08|57P0|53300|25006|25P03)/.test(code)) return true;
    if (/^(ECONN|EPIPE|ETIMEDOUT|ENOENT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ERR_STREAM)/.test(code)) {
      return true;
    }
  }
  return connectionMessages.test(error.message);
}

/** Deadlock or serialization failure: nothing was written, the transaction may run again. */
export function isRetryableConflict(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === '40001' || code === '40P01';
}

/**
 * Runs `body` in one transaction and commits what it wrote, its outputs, then its events, then wakes readers. Any throw
 * rolls all of it back. The body may run several times and must keep no state between runs.
 * Lock order everywhere: turn or bounded run, session, project, output counter, event counter.
 */
export async function transaction<T>(
  database: Database,
  body: (tx: Tx) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  const attempts = options.attempts ?? 5;
  for (let attempt = 1; ; attempt++) {
    try {
      return await runOnce(database, body, options);
    } catch (error) {
      if (!isRetryableConflict(error)) throw error;
      if (attempt >= attempts) {
        throw new DomainError('conflict', 'The data was changed by others at the same time. Try again.');
      }
      await sleep(5 * 2 ** attempt * Math.random());
    }
  }
}

async function runOnce<T>(
  database: Database,
  body: (tx: Tx) => Promise<T>,
  options: TransactionOptions,
): Promise<T> {
  const client = await database.pool.connect();
  let broken: Error | undefined;
  const onError = (error: Error): void => {
    broken = error;
  };
  client.on('error', onError);
  try {
    const events: NewEvent[] = [];
    const outputs: (NewOutput | NewRunOutput)[] = [];
    const notes: Note[] = [];
    const facts: Fact[] = [];
    const tx: Tx = {
      async query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]> {
        return (await client.query<Row>(text, values as unknown[])).rows;
      },
      emit: (event) => void events.push(event),
      output: (output) => void outputs.push(output),
      notify: (note) => void notes.push(note),
      fact: (fact) => void facts.push(fact),
    };
    await client.query('BEGIN');
    try {
      if (options.statementTimeout !== undefined) {
        await client.query(`SET LOCAL statement_timeout = ${Math.trunc(options.statementTimeout)}`);
      }
      const result = await body(tx);
      notes.push(...(await storeOutputs(tx, outputs)), ...(await storeEvents(tx, events)));
      const { command } = await client.query('COMMIT');
      // PostgreSQL answers so when a statement had failed and the body went on.
      if (command !== 'COMMIT') throw new Error('the transaction had failed before its commit');
      database.notifier.add(...notes);
      for (const fact of facts) database.facts.tell(fact);
      return result;
    } catch (error) {
      // On a silent connection ROLLBACK would only hang too: it is closed instead.
      broken = isConnectionError(error) ? (error as Error) : await failureOf(client.query('ROLLBACK'));
      throw error;
    }
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

const failureOf = (done: Promise<unknown>): Promise<Error | undefined> =>
  done.then(
    () => undefined,
    (error: Error) => error,
  );

/** Numbers and stores outputs; the counter rows stay locked until the commit, so numbers ascend in commit order. */
export async function storeOutputs(tx: Queryable, outputs: readonly (NewOutput | NewRunOutput)[]): Promise<Note[]> {
  if (outputs.length === 0) return [];
  const rows = await tx.query<{ session_id: string; number: number }>(storeOutputsSql, [
    outputs.map((output) => ('run' in output ? output.run : output.session)),
    outputs.map((output) => ('run' in output ? output.run : output.turn)),
    outputs.map((output) => output.attempt),
    outputs.map((output) => output.body.type),
    outputs.map((output) => JSON.stringify(output.body)),
  ]);
  return rows.map((row) => ({ channel: 'outputs', id: row.session_id, number: row.number }));
}

const storeOutputsSql = `
WITH new AS (
  SELECT session_id, turn_id, attempt, type, body, position,
         row_number() OVER (PARTITION BY session_id ORDER BY position) AS nth
  FROM unnest($1::uuid[], $2::uuid[], $3::integer[], $4::text[], $5::jsonb[])
       WITH ORDINALITY AS n (session_id, turn_id, attempt, type, body, position)
), counted AS (
  INSERT INTO planner_output_counters AS c (session_id, number)
  SELECT session_id, count(*) FROM new GROUP BY session_id ORDER BY session_id
  ON CONFLICT (session_id) DO UPDATE SET number = c.number + excluded.number
  RETURNING session_id, number
), stored AS (
  INSERT INTO planner_outputs (session_id, number, turn_id, attempt, type, body)
  SELECT n.session_id, c.number - (SELECT count(*) FROM new m WHERE m.session_id = n.session_id) + n.nth,
         n.turn_id, n.attempt, n.type, n.body
  FROM new n JOIN counted c USING (session_id)
)
SELECT session_id, number FROM counted`;

async function storeEvents(tx: Queryable, events: readonly NewEvent[]): Promise<Note[]> {
  if (events.length === 0) return [];
  const rows = await tx.query<{ scope: string; seq: number }>(storeEventsSql, [
    events.map(eventScope),
    events.map(() => uuidv7()),
    events.map((event) => event.organization_id ?? null),
    events.map((event) => event.project_id ?? null),
    events.map((event) => event.type),
    events.map((event) => event.entity_type),
    events.map((event) => event.entity_id),
    events.map((event) => event.entity_key ?? null),
    events.map((event) => JSON.stringify(event.actor)),
    events.map((event) => JSON.stringify(event.payload ?? {})),
  ]);
  return rows.map((row) => ({ channel: 'events', id: row.scope, number: row.seq }));
}

const storeEventsSql = `
WITH new AS (
  SELECT n.*, row_number() OVER (PARTITION BY scope ORDER BY position) AS nth
  FROM unnest($1::text[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[],
              $9::jsonb[], $10::jsonb[])
       WITH ORDINALITY AS n (scope, id, organization_id, project_id, type, entity_type, entity_id, entity_key, actor,
                             payload, position)
), counted AS (
  INSERT INTO event_counters AS c (scope, seq)
  SELECT scope, count(*) FROM new GROUP BY scope ORDER BY scope
  ON CONFLICT (scope) DO UPDATE SET seq = c.seq + excluded.seq
  RETURNING scope, seq
), stored AS (
  INSERT INTO events (scope, seq, id, occurred_at, organization_id, project_id, type, entity_type, entity_id,
                      entity_key, actor, payload)
  SELECT n.scope, c.seq - (SELECT count(*) FROM new m WHERE m.scope = n.scope) + n.nth, n.id, clock_timestamp(),
         n.organization_id, n.project_id, n.type, n.entity_type, n.entity_id, n.entity_key, n.actor, n.payload
  FROM new n JOIN counted c USING (scope)
)
SELECT scope, seq FROM counted`;

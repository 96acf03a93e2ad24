// A lock that one process of all holds for as long as its connection lives.

import pg from 'pg';

export interface HeldLock {
  /** False once the connection broke: another process may hold the lock then. */
  readonly held: boolean;
  release(): Promise<void>;
}

/** Undefined when another process holds it. `key`: any integer, the lock's own. */
export async function tryHold(url: string, key: number, name: string): Promise<HeldLock | undefined> {
  const client = new pg.Client({
    connectionString: url,
    application_name: name,
    keepAlive: true,
    connectionTimeoutMillis: 5_000,
    query_timeout: 5_000,
  });
  let held = false;
  const lost = (): void => void (held = false);
  client.on('error', lost);
  client.on('end', lost);
  await client.connect();
  try {
    const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [key]);
    held = rows[0]?.taken === true;
  } catch (error) {
    void client.end().catch(() => undefined);
    throw error;
  }
  const release = async (): Promise<void> => {
    await client.end().catch(() => undefined);
  };
  if (held) {
    return {
      get held() {
        return held;
      },
      release,
    };
  }
  await release();
  return undefined;
}

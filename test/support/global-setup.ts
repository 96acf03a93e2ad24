// Starts what the tests share, once a run: PostgreSQL and Temporal's dev server. TEST_DATABASE_URL and
// TEST_TEMPORAL_ADDRESS name running ones instead.

import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** An administrator's URL: databases are made and dropped through it. */
    databaseUrl: string;
    temporalAddress: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const databaseUrl = process.env['TEST_DATABASE_URL'];
  const temporalAddress = process.env['TEST_TEMPORAL_ADDRESS'];
  if (!databaseUrl || !temporalAddress) throw new Error('Set TEST_DATABASE_URL and TEST_TEMPORAL_ADDRESS.');
  project.provide('databaseUrl', databaseUrl);
  project.provide('temporalAddress', temporalAddress);
  return async () => undefined;
}

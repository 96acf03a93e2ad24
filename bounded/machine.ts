// The name of this computer: it names the queue of the worker that holds its repositories.

import { hostname } from 'node:os';

/** PLANNER_MACHINE, else the host's name; as it may stand in a queue's name. Set it where host names change. */
export function machineName(env: NodeJS.ProcessEnv = process.env): string {
  return (env['PLANNER_MACHINE'] || hostname() || 'local').replace(/[^A-Za-z0-9._-]+/g, '-').slice(0, 200);
}

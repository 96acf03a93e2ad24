// When a detached stack ends: nobody has used it for a while. Used: a client at the API, an open turn, an open run.

import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from './postgres.ts';
import type { StackFile } from './stack-file.ts';

export const defaultIdleSeconds = 600;

export interface Use {
  /** Open sockets. */
  sockets: number;
  /** Requests answered since the API's start, those that ask for its health or its metrics not counted. */
  requests: number;
  /** Turns and runs that have not ended. */
  open: boolean;
}

export interface IdleHooks {
  read(): Promise<Use>;
  /** From now on no new client finds the stack. */
  hide(): void;
  /** It is used after all. */
  show(): void;
}

/**
 * Resolves when nobody has used the stack for `idleMs`. What can't be read counts as used: an open run is never cut
 * because the database was away for a moment. The last look comes after the stack is hidden, so that no client that
 * found it in time is left behind.
 */
export async function untilIdle(idleMs: number, hooks: IdleHooks): Promise<void> {
  const everyMs = Math.min(15_000, idleMs / 10);
  let requests: number | undefined;
  let usedAt = performance.now();
  const isUsed = async (): Promise<boolean> => {
    const use = await hooks.read().catch(() => undefined);
    if (!use) return true;
    const asked = use.requests !== requests;
    requests = use.requests;
    return asked || use.open || use.sockets > 0;
  };
  for (;;) {
    await sleep(everyMs);
    if (await isUsed()) usedAt = performance.now();
    if (performance.now() - usedAt < idleMs) continue;
    hooks.hide();
    await sleep(Math.min(1_000, everyMs));
    if (!(await isUsed())) return;
    hooks.show();
    usedAt = performance.now();
  }
}

/** Errors: the API or the database does not answer. */
export async function readUse({ api, database }: Pick<StackFile, 'api' | 'database'>): Promise<Use> {
  const answer = await fetch(`${api}/metrics`, { signal: AbortSignal.timeout(5_000) });
  if (!answer.ok) throw new Error(`The API answers ${answer.status}.`);
  const metrics = await answer.text();
  const open = await ask(database, openWork);
  return {
    sockets: sum(metrics, /^ballet_api_sockets(?:\{.*\})? (\S+)$/gm),
    requests:
      sum(metrics, /^ballet_api_request_seconds_count\{(?!.*route="\/(?:healthz|metrics)").*\} (\S+)$/gm) +
      sum(metrics, /^ballet_api_rpc_total\{.*\} (\S+)$/gm),
    open: open > 0,
  };
}

const openWork = `
(SELECT 1 FROM planner_turns WHERE status <> 'ended' LIMIT 1)
UNION ALL (SELECT 1 FROM bounded_runs WHERE status IN ('pending', 'running') LIMIT 1)
UNION ALL (SELECT 1 FROM revalidations WHERE status IN ('pending', 'running') LIMIT 1)
UNION ALL (SELECT 1 FROM revalidation_schedules WHERE NOT deleted AND NOT paused LIMIT 1)`;

const sum = (text: string, pattern: RegExp): number =>
  [...text.matchAll(pattern)].reduce((total, [, value]) => total + Number(value), 0);

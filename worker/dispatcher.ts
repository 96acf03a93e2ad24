// Starts pending turns, repeats cancels, and mends what processes that died left behind. One in each worker.
// (spec: orchestration "Send", "Cancel", "Sweep")

import type { Client } from '@temporalio/client';
import { failureTexts } from '../domain/turn.ts';
import { signalCancel, startTurn, terminateTurn, workflowState } from '../planner/engine.ts';
import type { LiveCalls } from '../planner/live-calls.ts';
import { transaction, type Database } from '../store/database.ts';
import type { Listener } from '../store/listener.ts';
import {
  claimPending,
  claimStuck,
  endFromOutside,
  flaggedTurns,
  pruneOutputs,
  releasePending,
} from '../store/turns.ts';

export interface DispatcherOptions {
  database: Database;
  listener: Listener;
  /** On the worker's own connection: eager start hands the first task to this process. */
  client: Client;
  liveCalls: LiveCalls;
  warn(message: string, error: unknown): void;
  intervals?: Partial<Intervals>;
}

/** Milliseconds. */
export interface Intervals {
  /** Pending turns are looked for, should a notification be lost. */
  pending: number;
  /** Flagged turns are signalled again. */
  cancel: number;
  /** A flagged turn that has not ended is ended in the database. */
  force: number;
  /** Turns without progress are looked for. */
  sweep: number;
  /** Without progress for as long, a turn is looked at. */
  stuck: number;
}

const defaults: Intervals = { pending: 1_000, cancel: 2_000, force: 10_000, sweep: 10_000, stuck: 15_000 };
const atOnce = 50;

export interface Dispatcher {
  close(): Promise<void>;
}

export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const { database, client, listener, liveCalls } = options;
  const intervals = { ...defaults, ...options.intervals };
  let closed = false;

  /** What is asked of the engine beside the loops: they must go on while it is away. */
  const asides = new Set<Promise<void>>();
  const aside = (what: string, act: Promise<void>): void => {
    const done = act.catch((error: unknown) => options.warn(what, error)).finally(() => asides.delete(done));
    asides.add(done);
  };

  const dispatch = single('starting pending turns', async () => {
    for (;;) {
      const turns = await claimPending(database, atOnce);
      const started = await Promise.allSettled(turns.map(start));
      const failed = started.find((one) => one.status === 'rejected');
      if (failed) throw failed.reason;
      if (turns.length < atOnce) return;
    }
  });

  async function start({ id, session_id }: { id: string; session_id: string }): Promise<void> {
    try {
      await startTurn(client, { session: session_id, turn: id }, true);
    } catch (error) {
      await releasePending(database, id);
      throw error;
    }
  }

  const cancel = single('repeating cancels', async () => {
    for (const { id, cancel_by, age } of await flaggedTurns(database)) {
      liveCalls.cancel(id);
      if (age * 1_000 >= intervals.force) {
        await transaction(database, (tx) => endFromOutside(tx, id, 'cancelled'));
        aside('terminating a cancelled turn', terminateTurn(client, id, 'cancelled; did not end in time'));
      } else {
        aside('signalling a cancel', signalCancel(client, id, cancel_by ?? 'user'));
      }
    }
  });

  const sweep = single('sweeping', async () => {
    for (const { id, session_id, workflow_id } of await claimStuck(database, intervals.stuck / 1_000)) {
      const state = await workflowState(client, workflow_id);
      if (state === 'none') await startTurn(client, { session: session_id, turn: id });
      if (state === 'over') {
        await transaction(database, (tx) => endFromOutside(tx, id, 'error', failureTexts.workflow_lost));
      }
    }
  });

  const prune = single('pruning outputs', async () => {
    await transaction(database, (tx) => pruneOutputs(tx));
  });

  function single(what: string, act: () => Promise<void>): { run(): void; idle(): Promise<void> } {
    let running: Promise<void> | undefined;
    let again = false;
    const run = (): void => {
      if (closed) return;
      if (running) {
        again = true;
        return;
      }
      running = act()
        .catch((error: unknown) => options.warn(what, error))
        .finally(() => {
          running = undefined;
          if (again) {
            again = false;
            run();
          }
        });
    };
    return { run, idle: async () => running };
  }

  const timers = [
    setInterval(dispatch.run, intervals.pending),
    setInterval(cancel.run, intervals.cancel),
    setInterval(sweep.run, intervals.sweep),
    setInterval(prune.run, intervals.sweep),
  ];
  const offs = [
    listener.on('turns', dispatch.run),
    listener.on('cancels', (note) => liveCalls.cancel(note.id)),
    listener.onConnect(() => {
      dispatch.run();
      cancel.run();
    }),
  ];
  dispatch.run();
  return {
    async close() {
      closed = true;
      for (const off of offs) off();
      for (const timer of timers) clearInterval(timer);
      await Promise.all([dispatch, cancel, sweep, prune].map((task) => task.idle()));
      await Promise.all(asides);
    },
  };
}

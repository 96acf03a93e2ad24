// Starts pending turns, repeats cancels, and mends what processes that died left behind. One in each worker.
// (spec: orchestration "Send", "Cancel", "Sweep")

import type { Client } from '@temporalio/client';
import { failureTexts } from '../domain/turn.ts';
import { signalCancel, startTurn, terminateTurn, workflowState } from '../planner/engine.ts';
import type { LiveCalls } from '../planner/live-calls.ts';
import { turnLabels, type Visibility } from '../planner/visibility.ts';
import { transaction, type Database } from '../store/database.ts';
import type { Listener } from '../store/listener.ts';
import {
  claimPending,
  claimStuck,
  endFromOutside,
  flaggedTurns,
  pruneOutputs,
  releasePending,
  type TurnToStart,
} from '../store/turns.ts';
import { dispatchIntervals, startDispatching, task, type Intervals } from './loops.ts';

export interface DispatcherOptions {
  database: Database;
  listener: Listener;
  /** On the worker's own connection, as eager start needs it. */
  client: Client;
  liveCalls: LiveCalls;
  visibility: Visibility;
  /** The first task goes to this process. Not so under worker versioning: this may be an old version. Default true. */
  eager?: boolean;
  warn(message: string, error: unknown): void;
  intervals?: Partial<Intervals>;
}

const atOnce = 50;
/** For how long a turn that is to be ended may be locked by another transaction. */
const lockMs = 500;

export interface Dispatcher {
  close(): Promise<void>;
}

export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const { database, client, listener, liveCalls, visibility } = options;
  const intervals = dispatchIntervals(options.intervals);

  /** What is asked of the engine beside the loops: they must go on while it is away. */
  const asides = new Set<Promise<void>>();
  const aside = (what: string, act: Promise<void>): void => {
    const done = act.catch((error: unknown) => options.warn(what, error)).finally(() => asides.delete(done));
    asides.add(done);
  };

  const dispatch = task('starting pending turns', async () => {
    for (;;) {
      const turns = await claimPending(database, atOnce);
      const started = await Promise.allSettled(turns.map(startClaimed));
      const failed = started.find((one) => one.status === 'rejected');
      if (failed) throw failed.reason;
      if (turns.length < atOnce) return;
    }
  }, options.warn);

  async function startClaimed(turn: TurnToStart): Promise<void> {
    try {
      await start(turn, options.eager ?? true);
    } catch (error) {
      await releasePending(database, turn.id);
      throw error;
    }
  }

  async function start(turn: TurnToStart, eager: boolean): Promise<void> {
    const input = { session: turn.session_id, turn: turn.id };
    await visibility.start(turnLabels(turn), (described) => startTurn(client, input, { eager, described }));
  }

  /** False when it can't be ended now: it is looked at again, and holds up no other turn. */
  async function end(turn: string, reason: 'cancelled' | 'error', text?: string): Promise<boolean> {
    try {
      await transaction(database, async (tx) => {
        await tx.query(`SET LOCAL lock_timeout = ${lockMs}`);
        await endFromOutside(tx, turn, reason, text);
      });
      return true;
    } catch (error) {
      options.warn('ending a turn from outside', error);
      return false;
    }
  }

  const cancel = task('repeating cancels', async () => {
    for (const { id, cancel_by, age } of await flaggedTurns(database)) {
      liveCalls.cancel(id);
      if (age * 1_000 >= intervals.force) {
        if (!(await end(id, 'cancelled'))) continue;
        aside('terminating a cancelled turn', terminateTurn(client, id, 'cancelled; did not end in time'));
      } else {
        aside('signalling a cancel', signalCancel(client, id, cancel_by ?? 'user'));
      }
    }
  }, options.warn);

  const sweep = task('sweeping', async () => {
    for (const turn of await claimStuck(database, intervals.stuck / 1_000)) {
      const state = await workflowState(client, turn.workflow_id);
      if (state === 'none') await start(turn, false);
      if (state === 'over') await end(turn.id, 'error', failureTexts.workflow_lost);
    }
  }, options.warn);

  const prune = task('pruning outputs', async () => {
    await transaction(database, (tx) => pruneOutputs(tx));
  }, options.warn);

  const loops = startDispatching({ dispatch, cancel, sweep, prune }, intervals, listener, [
    listener.on('turns', dispatch.run),
    listener.on('cancels', (note) => liveCalls.cancel(note.id)),
  ]);
  return {
    async close() {
      await loops.close();
      await Promise.all(asides);
    },
  };
}

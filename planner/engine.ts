// What the planner asks of Temporal: start a turn's workflow, signal its cancel, look at it. (spec: orchestration)

import { fileURLToPath } from 'node:url';
import {
  Client,
  Connection,
  WorkflowExecutionAlreadyStartedError,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  WorkflowNotFoundError,
  type ConnectionLike,
} from '@temporalio/client';
import { plannerTaskQueue, turnWorkflow, turnWorkflowId, type CancelSignal, type TurnInput } from '../domain/turn.ts';
import type { Database } from '../store/database.ts';
import { findTurn } from '../store/turns.ts';
import { turnLabels, Visibility, type Described } from './visibility.ts';

/** How the API tells Temporal; all calls return at once, and what they miss the workers' sweep does. */
export interface Engine {
  /** A message was committed: its turn is started if no worker has begun within 200 ms. */
  sent(turn: string): void;
  /** A stop was asked for: the turn's workflow is signalled. */
  cancelled(turn: string): void;
  close(): Promise<void>;
}

export interface EngineOptions {
  address: string;
  namespace: string;
  /** Of the page: workflows link to it. */
  publicUrl?: string | undefined;
  /** Told of what could not be done now; the workers do it later. */
  warn?: (message: string) => void;
}

const graceMs = 200;
const failureConverterPath = fileURLToPath(new URL('../workflows/failure-converter.ts', import.meta.url));

/** The data converter of every client and worker: failures stay short. */
export const dataConverter = { failureConverterPath };

export function engineClient(connection: ConnectionLike, namespace: string): Client {
  return new Client({ connection, namespace, dataConverter });
}

/** Milliseconds that the engine gets for one request; a dead network would otherwise hold the caller for minutes. */
const requestMs = 10_000;
const inTime = <T>(client: Client, request: () => Promise<T>): Promise<T> =>
  client.withDeadline(Date.now() + requestMs, request);

/** Starts a turn's workflow once; one that runs or has run is left alone. `eager` needs a worker's connection. */
export async function startTurn(
  client: Client,
  { session, turn }: TurnInput,
  how: { eager?: boolean; described?: Described } = {},
): Promise<void> {
  try {
    await inTime(client, () =>
      client.workflow.start(turnWorkflow, {
        taskQueue: plannerTaskQueue,
        workflowId: turnWorkflowId(turn),
        args: [{ session, turn }],
        workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
        workflowIdConflictPolicy: WorkflowIdConflictPolicy.FAIL,
        workflowExecutionTimeout: '2h',
        ...how.described,
        ...(how.eager ? { requestEagerStart: true } : {}),
      }),
    );
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** Signals `cancel`; a workflow that has ended, or was never started, needs none. */
export async function signalCancel(client: Client, turn: string, by: string): Promise<void> {
  try {
    const handle = client.workflow.getHandle(turnWorkflowId(turn));
    await inTime(client, () => handle.signal<[CancelSignal]>('cancel', { by }));
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

const over = new Set(['COMPLETED', 'FAILED', 'CANCELLED', 'TERMINATED', 'TIMED_OUT']);

/** The newest run of a workflow: `open` while it can go on by itself or by an operator (running, paused). */
export async function workflowState(client: Client, workflowId: string): Promise<'open' | 'over' | 'none'> {
  try {
    const { status } = await inTime(client, () => client.workflow.getHandle(workflowId).describe());
    return over.has(status.name) ? 'over' : 'open';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'none';
    throw error;
  }
}

/** Ends a workflow whose turn was ended in the database. */
export async function terminateTurn(client: Client, turn: string, reason: string): Promise<void> {
  try {
    await inTime(client, () => client.workflow.getHandle(turnWorkflowId(turn)).terminate(reason));
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

/** The API's engine. Connects when first used, so that the API serves while Temporal is away. */
export function connectEngine(database: Database, options: EngineOptions): Engine {
  const connection = Connection.lazy({ address: options.address });
  const client = engineClient(connection, options.namespace);
  const visibility = new Visibility({ publicUrl: options.publicUrl, warn: (message) => options.warn?.(message) });
  const timers = new Set<NodeJS.Timeout>();
  const running = new Set<Promise<void>>();
  const later = (what: string, act: () => Promise<void>): void => {
    const done = act()
      .catch((error: unknown) => options.warn?.(`${what} failed, a worker does it later: ${String(error)}`))
      .finally(() => running.delete(done));
    running.add(done);
  };
  return {
    sent(turn) {
      const timer = setTimeout(() => {
        timers.delete(timer);
        later('starting a turn', async () => {
          const row = await findTurn(database, turn);
          if (row?.status !== 'pending') return;
          const input = { session: row.session_id, turn };
          await visibility.start(turnLabels(row), (described) => startTurn(client, input, { described }));
        });
      }, graceMs);
      timers.add(timer);
    },
    cancelled(turn) {
      later('signalling a cancel', async () => {
        const row = await findTurn(database, turn);
        await signalCancel(client, turn, row?.cancel_by ?? 'user');
      });
    },
    async close() {
      for (const timer of timers) clearTimeout(timer);
      await Promise.allSettled(running);
      await connection.close();
    },
  };
}

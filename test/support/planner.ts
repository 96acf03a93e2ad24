// A whole planner for a test: its own database, its own Temporal namespace, a scripted model, workers in this process or
// as processes of their own. The world it starts with: project WEB, engineer ada.

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Connection, type Client } from '@temporalio/client';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import type { Principal } from '../../domain/actor.ts';
import { systemActor } from '../../domain/actor.ts';
import type { StoredOutput } from '../../domain/output.ts';
import { searchAttributes } from '../../domain/search-attributes.ts';
import { cancelTurn, createSession, listTurns, readOutputs, readSession, sendMessage, type Turn } from '../../planner/conversation.ts';
import { connectEngine, engineClient, type Engine } from '../../planner/engine.ts';
import { transaction, type Database } from '../../store/database.ts';
import { createOrganization, createProject, projectByKey } from '../../store/projects.ts';
import { bindRole } from '../../store/role-bindings.ts';
import { createSubject } from '../../store/tokens.ts';
import { startTurnWorker, type TurnWorker, type TurnWorkerOptions } from '../../worker/turn-worker.ts';
import { createTestDatabase } from './database.ts';
import { temporalAddress } from './servers.ts';
import { startScriptedModel, type Script, type ScriptedModel } from './scripted-model.ts';

Runtime.install({ logger: new DefaultLogger('ERROR') });

export const ada: Principal = { subject: 'ada', kind: 'human' };

export interface TestPlanner {
  url: string;
  database: Database;
  model: ScriptedModel;
  temporal: { address: string; namespace: string };
  client: Client;
  engine: Engine;
  /** A worker in this process. */
  startWorker(options?: Partial<TurnWorkerOptions>): Promise<TurnWorker>;
  /** A worker as a process of its own, ready. */
  spawnWorker(env?: Record<string, string>): Promise<ChildProcess>;
  session(): Promise<string>;
  /** Commits a message and tells the engine. */
  send(session: string, text: string, messageId?: string): Promise<string>;
  cancel(session: string, turn?: string): Promise<void>;
  /** Waits for the turn's end. */
  ended(turn: string, ms?: number): Promise<Turn>;
  turn(id: string): Promise<Turn>;
  outputs(session: string): Promise<StoredOutput[]>;
  /** Waits until the predicate holds of the session's outputs. */
  seen(session: string, predicate: (outputs: StoredOutput[]) => boolean, ms?: number): Promise<StoredOutput[]>;
  transcript(session: string): Promise<Awaited<ReturnType<typeof readSession>>['messages']>;
  close(): Promise<void>;
}

/** Polls until `probe` returns something other than undefined or false. */
export async function until<T>(what: string, probe: () => Promise<T | undefined | false>, ms = 15_000): Promise<T> {
  const deadline = Date.now() + ms;
  for (;;) {
    const found = await probe();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > deadline) throw new Error(`waited ${ms} ms for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}

export async function startTestPlanner(script?: Script): Promise<TestPlanner> {
  const { url, database, drop } = await createTestDatabase();
  const model = await startScriptedModel(script);
  const address = temporalAddress();
  const namespace = `test-${randomBytes(6).toString('hex')}`;
  const connection = await Connection.connect({ address });
  await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: { seconds: 86_400 as never } });
  const temporal = { address, namespace };
  const client = engineClient(connection, namespace);
  const warnings: string[] = [];
  const warn = (message: string, error?: unknown): void => void warnings.push(`${message} ${String(error ?? '')}`);
  const engine = connectEngine(database, { ...temporal, warn });
  await transaction(database, async (tx) => {
    await createSubject(tx, { subject: 'ada', kind: 'human', name: 'Ada' });
    const organization = await createOrganization(tx, systemActor, { key: 'acme', name: 'Acme' });
    await createProject(tx, systemActor, { organization_id: organization.id, key: 'WEB', name: 'Web shop' });
  });
  await transaction(database, async (tx) => {
    const project = await projectByKey(tx, 'WEB');
    await bindRole(tx, systemActor, { subject: 'ada', role: 'engineer', project_id: project.id });
  });

  const workers: TurnWorker[] = [];
  const children: ChildProcess[] = [];
  const planner: TestPlanner = {
    url,
    database,
    model,
    temporal,
    client,
    engine,
    async startWorker(options = {}) {
      const worker = await startTurnWorker({
        database,
        temporal,
        settings: {
          baseUrl: model.baseUrl,
          apiKey: 'test',
          model: 'scripted',
          maxTokens: 1_000,
          callTimeoutMs: 60_000,
          silentStreamMs: 20_000,
        },
        maxRounds: 20,
        maxOutputCharacters: 60_000,
        shutdownGraceMs: 500,
        warn,
        ...options,
      });
      workers.push(worker);
      return worker;
    },
    async spawnWorker(env = {}) {
      const child = spawn(process.execPath, [fileURLToPath(new URL('../../worker/main.ts', import.meta.url))], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: {
          ...process.env,
          DATABASE_URL: url,
          TEMPORAL_ADDRESS: address,
          TEMPORAL_NAMESPACE: namespace,
          PLANNER_MODEL_BASE_URL: model.baseUrl,
          PLANNER_MODEL_API_KEY: 'test',
          PLANNER_MODEL: 'scripted',
          ...env,
        },
      });
      children.push(child);
      const [chunk] = (await once(child.stdout!, 'data')) as [Buffer];
      if (!chunk.toString().includes('"ready":true')) throw new Error(`the worker said ${chunk.toString()}`);
      return child;
    },
    session: async () => (await transaction(database, (tx) => createSession(tx, ada, { project: 'WEB' }))).id,
    async send(session, text, messageId) {
      const sent = await sendMessage(database, ada, { session, text, message_id: messageId });
      if (sent.fresh) engine.sent(sent.turn);
      return sent.turn;
    },
    async cancel(session, turn) {
      const told = await cancelTurn(database, ada, { session, turn });
      if (told.turn) engine.cancelled(told.turn);
    },
    async turn(id) {
      const [row] = await database.query<{ session_id: string }>('SELECT session_id FROM planner_turns WHERE id = $1', [id]);
      const { items } = await listTurns(database, ada, row!.session_id, { limit: 100 });
      return items.find((turn) => turn.id === id)!;
    },
    async ended(turn, ms) {
      return until(
        `the end of turn ${turn}; warnings: ${warnings.join('; ')}`,
        async () => {
          const now = await planner.turn(turn);
          return now.status === 'ended' && now;
        },
        ms,
      );
    },
    outputs: (session) => readOutputs(database, [{ session, after: 0 }], 100_000),
    seen: (session, predicate, ms) =>
      until('outputs', async () => {
        const outputs = await planner.outputs(session);
        return predicate(outputs) && outputs;
      }, ms),
    transcript: async (session) => (await readSession(database, ada, session)).messages,
    async close() {
      for (const child of children) {
        if (child.exitCode === null && child.signalCode === null) {
          child.kill('SIGCONT');
          child.kill('SIGKILL');
          await once(child, 'exit');
        }
      }
      await Promise.all(workers.map((worker) => worker.close()));
      await engine.close();
      await connection.close();
      await model.close();
      await drop();
    },
  };
  return planner;
}

/** Waits until the server takes search attributes, which it learns of within seconds of a worker's start. */
export async function knowsSearchAttributes({ client }: TestPlanner): Promise<void> {
  const query = searchAttributes.map((name) => `${name} = 'none'`).join(' AND ');
  await until('search attributes', () => client.workflow.count(query).then(() => true, () => false), 30_000);
}

/** Outputs in short: `message 1`, `text Hel|lo`, `tool_call list_items`, ... */
export function brief(outputs: readonly StoredOutput[]): string[] {
  const lines: string[] = [];
  let text: string | undefined;
  const flush = (): void => {
    if (text !== undefined) lines.push(`text ${text}`);
    text = undefined;
  };
  for (const { body } of outputs) {
    if (body.type === 'text') {
      text = body.replace ? body.text : (text ?? '') + body.text;
      continue;
    }
    flush();
    switch (body.type) {
      case 'message':
        lines.push(`message ${body.seq}`);
        break;
      case 'compacted':
        lines.push(`compacted ${body.up_to}`);
        break;
      case 'tool_call':
        lines.push(`tool_call ${body.tool}`);
        break;
      case 'tool_result':
        lines.push(`tool_result ${body.tool} ${body.is_error ? 'error' : 'ok'}`);
        break;
      case 'retrying':
        lines.push(`retrying ${body.reason}`);
        break;
      case 'error':
        lines.push(`error ${body.text}`);
        break;
      case 'done':
        lines.push(`done ${body.text}`);
        break;
    }
  }
  flush();
  return lines;
}

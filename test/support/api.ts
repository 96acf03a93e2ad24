// An API in the test's process on a database of its own, with an organization, two projects, people and tokens; and a
// plain socket to speak to it.

import { once } from 'node:events';
import { WebSocket, type ClientOptions } from 'ws';
import { startApi, type Api, type ApiOptions } from '../../api/server.ts';
import type { EngineDoor } from '../../api/app.ts';
import { systemActor, type Role } from '../../domain/actor.ts';
import { transaction, type Database } from '../../store/database.ts';
import { listen, type Listener } from '../../store/listener.ts';
import { createOrganization, createProject, type Project } from '../../store/projects.ts';
import { bindRole } from '../../store/role-bindings.ts';
import { createSubject, createToken, type NewToken } from '../../store/tokens.ts';
import { createTestDatabase } from './database.ts';

export interface TestApi {
  api: Api;
  address: string;
  database: Database;
  listener: Listener;
  /** What the API told the engine. */
  told: { sent: string[]; cancelled: string[] };
  web: Project;
  ops: Project;
  /** Tokens: admin of the platform; engineer and viewer of WEB; a stranger without any role. */
  tokens: { admin: string; engineer: string; viewer: string; stranger: string };
  rest(token: string | undefined, method: string, path: string, body?: unknown, headers?: Sent): Promise<Answer>;
  socket(options?: SocketOptions): Promise<TestSocket>;
  close(): Promise<void>;
}

type Sent = Record<string, string>;

export interface Answer {
  status: number;
  body: Record<string, unknown> & { items?: Record<string, unknown>[] };
  headers: Headers;
}

type Options = Partial<Omit<ApiOptions, 'database' | 'listener'>>;

export async function startTestApi(options: Options = {}): Promise<TestApi> {
  const { url, database, drop } = await createTestDatabase();
  const listener = await listen(url);
  const told: TestApi['told'] = { sent: [], cancelled: [] };
  const engine: EngineDoor = {
    sent: (turn) => void told.sent.push(turn),
    cancelled: (turn) => void told.cancelled.push(turn),
  };
  const { web, ops, tokens } = await seed(database);
  const api = await startApi({
    database,
    listener,
    engine,
    port: 0,
    model: { name: 'demo-planner', demo: true },
    checkAnswers: true,
    temporal: { ui: 'http://127.0.0.1:8233', namespace: 'default' },
    ...options,
  });
  return {
    api,
    address: api.address,
    database,
    listener,
    told,
    web,
    ops,
    tokens,
    rest: (token, method, path, body, headers) => request(api.address, token, method, path, body, headers),
    socket: (socketOptions) => openSocket(api.address, socketOptions),
    async close() {
      await api.close();
      await listener.close();
      await drop();
    },
  };
}

async function seed(database: Database): Promise<Pick<TestApi, 'web' | 'ops' | 'tokens'>> {
  return transaction(database, async (tx) => {
    const { id: organization_id } = await createOrganization(tx, systemActor, { key: 'acme', name: 'Acme' });
    const web = await createProject(tx, systemActor, { organization_id, key: 'WEB', name: 'Web shop' });
    const ops = await createProject(tx, systemActor, { organization_id, key: 'OPS', name: 'Operations' });
    const person = async (subject: string, role?: Role, project_id?: string): Promise<string> => {
      await createSubject(tx, { subject, kind: 'human', name: subject });
      if (role) await bindRole(tx, systemActor, { subject, role, ...(project_id ? { project_id } : {}) });
      return (await createToken(tx, { subject, expires_at: inHours(1) })).token;
    };
    const tokens = {
      admin: await person('admin', 'platform-admin'),
      engineer: await person('engineer', 'engineer', web.id),
      viewer: await person('viewer', 'viewer', web.id),
      stranger: await person('stranger'),
    };
    return { web, ops, tokens };
  });
}

export const inHours = (hours: number): Date => new Date(Date.now() + hours * 3_600_000);

export function makeToken(database: Database, input: NewToken): Promise<{ id: string; token: string }> {
  return transaction(database, (tx) => createToken(tx, input));
}

async function request(
  address: string,
  token: string | undefined,
  method: string,
  path: string,
  body?: unknown,
  headers: Sent = {},
): Promise<Answer> {
  const response = await fetch(address + path, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : JSON.parse(text), headers: response.headers };
}

export interface SocketOptions extends ClientOptions {
  protocols?: string[];
  /** Signs in at once. */
  token?: string;
}

export type Frame = Record<string, unknown> & {
  id?: unknown;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
};

/** A socket that keeps all it receives. */
export class TestSocket {
  readonly ws: WebSocket;
  readonly frames: Frame[] = [];
  closed: { code: number; reason: string } | undefined;
  readonly #waiting = new Set<() => void>();
  #id = 0;

  constructor(ws: WebSocket) {
    this.ws = ws;
    ws.on('message', (data) => {
      this.frames.push(JSON.parse(String(data)) as Frame);
      this.#wake();
    });
    ws.on('close', (code, reason) => {
      this.closed = { code, reason: String(reason) };
      this.#wake();
    });
    ws.on('error', () => undefined);
  }

  send(frame: unknown): void {
    this.ws.send(typeof frame === 'string' || Buffer.isBuffer(frame) ? frame : JSON.stringify(frame));
  }

  /** Calls a method and waits for its answer. */
  async call(method: string, params: unknown = {}): Promise<Frame> {
    const id = `t${++this.#id}`;
    this.send({ jsonrpc: '2.0', id, method, params });
    return this.until((frames) => frames.find((frame) => frame.id === id));
  }

  /** Waits until `find` finds something in all that was received. */
  async until<T>(find: (frames: Frame[]) => T | undefined, ms = 10_000): Promise<T> {
    const deadline = Date.now() + ms;
    for (;;) {
      const found = find(this.frames);
      if (found !== undefined) return found;
      const left = deadline - Date.now();
      if (left <= 0 || this.closed) {
        const seen = JSON.stringify({ closed: this.closed, last: this.frames.slice(-3) });
        throw new Error(`Not received: ${find}. ${seen}`);
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(done, left);
        const waiting = this.#waiting;
        waiting.add(done);
        function done(): void {
          clearTimeout(timer);
          waiting.delete(done);
          resolve();
        }
      });
    }
  }

  async untilClosed(ms = 10_000): Promise<{ code: number; reason: string }> {
    if (!this.closed) await once(this.ws, 'close', { signal: AbortSignal.timeout(ms) });
    return this.closed!;
  }

  /** Params of the notifications of a method, of one subscription. */
  notes(method: string, subscription: string): Record<string, unknown>[] {
    return this.frames
      .filter((frame) => frame.method === method && frame.params?.['subscription'] === subscription)
      .map((frame) => frame.params!);
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}

export async function openSocket(address: string, options: SocketOptions = {}): Promise<TestSocket> {
  const { protocols = ['ballet.v1.json'], token, ...rest } = options;
  const ws = new WebSocket(`${address.replace('http', 'ws')}/rpc`, protocols, { perMessageDeflate: false, ...rest });
  const socket = new TestSocket(ws);
  await once(ws, 'open');
  if (token !== undefined) {
    const { error } = await socket.call('auth', { token });
    if (error) throw new Error(`auth: ${error.message}`);
  }
  return socket;
}

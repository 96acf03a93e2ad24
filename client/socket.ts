// One authenticated WebSocket connection: requests with ids and time limits, heartbeat, death (spec: planner 11).

import { ConnectionError, RpcError } from './errors.ts';
import type { AuthResult } from './wire.ts';

const subprotocol = 'ballet.v1.json';

/** All in milliseconds. */
export interface Timings {
  /** Between two heartbeats of ours. Default 15,000. */
  heartbeat: number;
  /** Without any frame for so long, the connection counts as dead. Default 45,000. */
  dead: number;
  /** For opening and signing in. Default 10,000. */
  connect: number;
  /** For the answer to a request. Default 30,000. */
  request: number;
  /** The first pause before connecting again; doubles up to `backoffMax`, with jitter. Default 200. */
  backoff: number;
  /** Default 10,000. */
  backoffMax: number;
}

export const defaultTimings: Timings = {
  heartbeat: 15_000,
  dead: 45_000,
  connect: 10_000,
  request: 30_000,
  backoff: 200,
  backoffMax: 10_000,
};

export interface SocketOptions {
  /** `ws://` or `wss://`, with the path. */
  url: string;
  token: string;
  timings: Timings;
  onNotification(method: string, params: Record<string, unknown>): void;
  /** Called once after a successful `open`, when the connection has ended for whatever reason but `close`. */
  onEnd(code: number, reason: string): void;
}

interface Pending {
  resolve(result: unknown): void;
  reject(error: Error): void;
  timer: ReturnType<typeof setTimeout>;
}

/** Errors: `RpcError` where the API refuses, `ConnectionError` where it cannot be reached or falls silent. */
export class Socket {
  readonly #options: SocketOptions;
  readonly #socket: WebSocket;
  readonly #pending = new Map<number, Pending>();
  #nextId = 1;
  #alive = Date.now();
  #beaten = Date.now();
  #timer: ReturnType<typeof setInterval> | undefined;
  #ended = false;
  #open = false;

  private constructor(options: SocketOptions) {
    this.#options = options;
    this.#socket = new WebSocket(options.url, [subprotocol]);
  }

  /** Connects and signs in: `auth` is the first frame. */
  static async open(options: SocketOptions): Promise<{ socket: Socket; auth: AuthResult }> {
    const socket = new Socket(options);
    try {
      await socket.#opened();
      const auth = (await socket.call('auth', { token: options.token }, options.timings.connect)) as AuthResult;
      socket.#open = true;
      socket.#timer = setInterval(() => socket.#beat(), Math.min(options.timings.heartbeat, options.timings.dead) / 3);
      return { socket, auth };
    } catch (error) {
      socket.#end(1000, '', false);
      throw error;
    }
  }

  call(method: string, params: object, timeout = this.#options.timings.request): Promise<unknown> {
    if (this.#ended) return Promise.reject(lost());
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending.delete(id);
        reject(new ConnectionError('timeout', `The API did not answer "${method}" within ${timeout / 1000} s.`));
      }, timeout);
      this.#pending.set(id, { resolve, reject, timer });
      this.#send({ id, method, params });
    });
  }

  close(): void {
    this.#end(1000, '', false);
  }

  #opened(): Promise<void> {
    const socket = this.#socket;
    return new Promise((resolve, reject) => {
      const unreachable = (): void => reject(new ConnectionError('unreachable', 'The API cannot be reached.'));
      const timer = setTimeout(unreachable, this.#options.timings.connect);
      socket.onopen = () => {
        clearTimeout(timer);
        resolve();
      };
      socket.onmessage = (message) => this.#receive(message.data);
      socket.onerror = () => undefined;
      socket.onclose = (closing) => {
        clearTimeout(timer);
        unreachable();
        this.#end(closing.code, closing.reason, true);
      };
    });
  }

  #receive(data: unknown): void {
    this.#alive = Date.now();
    if (typeof data !== 'string') return;
    let frame: unknown;
    try {
      frame = JSON.parse(data);
    } catch {
      return;
    }
    if (!isObject(frame)) return;
    if (typeof frame.method === 'string') {
      const params = isObject(frame.params) ? frame.params : {};
      // Background tabs throttle timers; an answer to the API's own beat keeps the connection alive there.
      if (frame.method === '$/heartbeat') this.#beatIfDue();
      else this.#options.onNotification(frame.method, params);
    } else {
      this.#settle(frame);
    }
  }

  #settle(frame: Record<string, unknown>): void {
    const pending = typeof frame.id === 'number' ? this.#pending.get(frame.id) : undefined;
    const error = isObject(frame.error) ? rpcError(frame.error) : undefined;
    if (!pending) return;
    this.#pending.delete(frame.id as number);
    clearTimeout(pending.timer);
    if (error) pending.reject(error);
    else pending.resolve(frame.result);
  }

  #beat(): void {
    if (Date.now() - this.#alive > this.#options.timings.dead) this.#end(4000, 'no heartbeat', true);
    else this.#beatIfDue();
  }

  #beatIfDue(): void {
    if (!this.#open || Date.now() - this.#beaten < this.#options.timings.heartbeat * 0.8) return;
    this.#beaten = Date.now();
    this.#send({ method: '$/heartbeat', params: { time: new Date().toISOString() } });
  }

  #send(frame: object): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ jsonrpc: '2.0', ...frame }));
  }

  /** A dead peer never completes the closing handshake: nothing here waits for it. */
  #end(code: number, reason: string, tell: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#timer);
    const socket = this.#socket;
    socket.onmessage = socket.onclose = socket.onopen = null;
    socket.close();
    for (const pending of this.#pending.values()) {
      clearTimeout(pending.timer);
      pending.reject(code === 4001 ? new RpcError(-32001, reason || 'The token is not valid any more.') : lost());
    }
    this.#pending.clear();
    if (tell && this.#open) this.#options.onEnd(code, reason);
  }
}

function lost(): ConnectionError {
  return new ConnectionError('lost', 'The connection to the API was lost.');
}

function rpcError(error: Record<string, unknown>): RpcError {
  const number = typeof error.code === 'number' ? error.code : -32603;
  return new RpcError(number, typeof error.message === 'string' ? error.message : 'The API refused.', error.data);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

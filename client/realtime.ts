// The realtime client: one connection that mends itself, and watches that go on where they stopped.
// For browsers and Node >= 22.
//
//   const realtime = connect({ address: 'http://127.0.0.1:8787', token });
//   const onOutput = (output) => { view = fold(view, output); };
//   const watch = realtime.watch(session, { onOutput }, { from_output: 12 });
//   const { turn } = await realtime.send({ session, text: 'Plan the release.' });
//   watch.close(); realtime.close();
//
// After a lost connection it connects again (back-off with jitter), signs in, and asks each watch to go on after the
// last number that it has: no output is missed, none comes twice.

import { ConnectionError, RpcError } from './errors.ts';
import { defaultTimings, isObject, Socket, type Timings } from './socket.ts';
import type {
  AuthResult,
  Output,
  PingResult,
  RunOutput,
  RunWatchResult,
  Sent,
  StreamEvent,
  SubscribeResult,
  WatchResult,
} from './wire.ts';

export type RealtimeState = 'connecting' | 'open' | 'waiting' | 'closed';

export interface RealtimeOptions {
  /** The API's address, for example `http://127.0.0.1:8787`. */
  address: string;
  /** Or a function, asked again after the API has refused a token; the same token twice ends the client. */
  token: string | (() => string | Promise<string>);
  /** `waiting`: the connection is lost, the next attempt is on its way. `closed`: for good; `problem` says why. */
  onState?(state: RealtimeState, problem?: Error): void;
  timings?: Partial<Timings>;
}

interface FeedHandlers {
  /**
   * What lies between the last number that the client has and `newest` is gone: reload what you show. May return the
   * number to go on after (a session's `output` as read); by default that is `newest`.
   */
  onResync?(newest: number): number | void | Promise<number | void>;
  /** The API has ended it: `forbidden`, `not_found`, `unauthenticated` or `invalid_argument`. It does not come back. */
  onClosed?(reason: string): void;
}

export interface WatchHandlers extends FeedHandlers {
  onOutput(output: Output): void;
}

export interface RunHandlers extends FeedHandlers {
  onOutput(output: RunOutput): void;
}

export interface StreamHandlers extends FeedHandlers {
  onEvent(event: StreamEvent): void;
}

export interface Feed<Result> {
  /** The API's first answer. */
  readonly ready: Promise<Result>;
  /** The newest number received. */
  readonly last: number | undefined;
  close(): void;
}

export interface CallOptions {
  /** Milliseconds, waiting for a connection included. Default: `timings.request`. */
  timeout?: number;
  /** Send it again when the connection is lost before its answer: for what may take effect twice. Default false. */
  retry?: boolean;
}

export interface Realtime {
  readonly state: RealtimeState;
  /** Errors: `RpcError`, `ConnectionError`. */
  call(method: string, params: object, options?: CallOptions): Promise<unknown>;
  ping(): Promise<PingResult>;
  /** Safe to repeat: without a `message_id` it makes one, and sends again after a lost connection. */
  send(params: { session: string; text: string; message_id?: string }): Promise<Sent>;
  /** `turn` guards against cancelling the next one. */
  cancel(params: { session: string; turn?: string }): Promise<void>;
  /** Outputs after number `from_output` (0: from the first); without it, the running turn from its start; then live. */
  watch(session: string, handlers: WatchHandlers, from?: { from_output?: number }): Feed<WatchResult>;
  /** As `watch`, of a bounded run (its own id); without a number, the present attempt from its start. */
  watchRun(run: string, handlers: RunHandlers, from?: { from_output?: number }): Feed<RunWatchResult>;
  cancelRun(run: string): Promise<void>;
  /** Events of `project:<KEY>` or `item:<KEY>` after number `from_seq`; without it, live only. */
  subscribe(stream: string, handlers: StreamHandlers, from?: { from_seq?: number }): Feed<SubscribeResult>;
  /** Signs in anew on the open connection, as the same subject, before the token expires. */
  refresh(token: string): Promise<AuthResult>;
  close(): void;
}

export function connect(options: RealtimeOptions): Realtime {
  return new Connection(options);
}

/** Refusals that a later attempt may not meet. */
const passing = new Set(['internal', 'unavailable', 'rate_limited']);

/** Unique enough to tell two messages of a session apart; `crypto.randomUUID` needs a secure context in browsers. */
export function newMessageId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

interface FeedState {
  method: 'planner.watch' | 'run.watch' | 'stream.subscribe';
  params: Record<string, unknown>;
  fromKey: 'from_output' | 'from_seq';
  handlers: FeedHandlers;
  deliver(params: Record<string, unknown>): void;
  settle: { resolve(result: unknown): void; reject(error: Error): void };
  last: number | undefined;
  /** The id on the wire now; a new one whenever the feed begins anew, so that late frames are not taken for its own. */
  id: string;
  begun: boolean;
  running: string | undefined;
  closed: boolean;
}

class Connection implements Realtime {
  readonly #options: RealtimeOptions;
  readonly #timings: Timings;
  readonly #feeds = new Set<FeedState>();
  readonly #waiters = new Set<{ resolve(socket: Socket): void; reject(error: Error): void }>();
  #state: RealtimeState = 'connecting';
  #problem: Error | undefined;
  #socket: Socket | undefined;
  #token: string | undefined;
  #refused: string | undefined;
  #failures = 0;
  #counter = 0;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: RealtimeOptions) {
    this.#options = options;
    this.#timings = { ...defaultTimings, ...options.timings };
    void this.#connect();
  }

  get state(): RealtimeState {
    return this.#state;
  }

  async call(method: string, params: object, options: CallOptions = {}): Promise<unknown> {
    const deadline = Date.now() + (options.timeout ?? this.#timings.request);
    for (;;) {
      const socket = await this.#opened(deadline - Date.now());
      try {
        return await socket.call(method, params, Math.max(1, deadline - Date.now()));
      } catch (error) {
        const lost = error instanceof ConnectionError && error.code === 'lost';
        if (!lost || !options.retry || this.#state === 'closed') throw error;
      }
    }
  }

  async ping(): Promise<PingResult> {
    return (await this.call('system.ping', {}, { retry: true })) as PingResult;
  }

  async send(params: { session: string; text: string; message_id?: string }): Promise<Sent> {
    const message = { ...params, message_id: params.message_id ?? newMessageId() };
    return (await this.call('planner.send', message, { retry: true })) as Sent;
  }

  async cancel(params: { session: string; turn?: string }): Promise<void> {
    await this.call('planner.cancel', params, { retry: params.turn !== undefined });
  }

  watch(session: string, handlers: WatchHandlers, from: { from_output?: number } = {}): Feed<WatchResult> {
    return this.#feed<WatchResult>({
      method: 'planner.watch',
      params: { session },
      fromKey: 'from_output',
      handlers,
      last: from.from_output,
      deliver: (params) => handlers.onOutput(params as unknown as Output),
    });
  }

  watchRun(run: string, handlers: RunHandlers, from: { from_output?: number } = {}): Feed<RunWatchResult> {
    return this.#feed<RunWatchResult>({
      method: 'run.watch',
      params: { run },
      fromKey: 'from_output',
      handlers,
      last: from.from_output,
      deliver: (params) => handlers.onOutput(params as unknown as RunOutput),
    });
  }

  async cancelRun(run: string): Promise<void> {
    await this.call('run.cancel', { run }, { retry: true });
  }

  subscribe(stream: string, handlers: StreamHandlers, from: { from_seq?: number } = {}): Feed<SubscribeResult> {
    return this.#feed<SubscribeResult>({
      method: 'stream.subscribe',
      params: { stream },
      fromKey: 'from_seq',
      handlers,
      last: from.from_seq,
      deliver: (params) => handlers.onEvent(params as unknown as StreamEvent),
    });
  }

  async refresh(token: string): Promise<AuthResult> {
    const auth = (await this.call('auth.refresh', { token })) as AuthResult;
    this.#token = token;
    return auth;
  }

  close(): void {
    this.#finish(new ConnectionError('closed', 'The client is closed.'), false);
  }

  async #connect(): Promise<void> {
    this.#enter('connecting');
    try {
      const given = this.#token ?? this.#options.token;
      const token = typeof given === 'function' ? await given() : given;
      if (token === this.#refused) return this.#finish(new RpcError(-32001, this.#problem?.message ?? 'Refused.'));
      this.#token = token;
      const opened = Date.now();
      const { socket } = await Socket.open({
        url: realtimeUrl(this.#options.address),
        token,
        timings: this.#timings,
        onNotification: (method, params) => this.#notified(method, params),
        onEnd: (code, reason) => {
          if (Date.now() - opened > 5_000) this.#failures = 0;
          this.#lost(code === 4001 ? new RpcError(-32001, reason || 'The token is not valid any more.') : undefined);
        },
      });
      if (this.#state === 'closed') return socket.close();
      this.#socket = socket;
      this.#refused = undefined;
      this.#enter('open');
      for (const waiter of this.#waiters) waiter.resolve(socket);
      this.#waiters.clear();
      for (const feed of this.#feeds) void this.#begin(feed, socket);
    } catch (error) {
      this.#lost(error instanceof Error ? error : undefined);
    }
  }

  #lost(problem: Error | undefined): void {
    if (this.#state === 'closed') return;
    this.#socket = undefined;
    this.#problem = problem;
    if (problem instanceof RpcError && problem.code === 'unauthenticated') {
      this.#refused = this.#token;
      this.#token = undefined;
      if (typeof this.#options.token === 'string') return this.#finish(problem);
    }
    const pause = Math.min(this.#timings.backoffMax, this.#timings.backoff * 2 ** this.#failures++);
    this.#enter('waiting', problem);
    this.#retryTimer = setTimeout(() => void this.#connect(), pause * (0.5 + Math.random() / 2));
  }

  /** Ends the client for good; `tell`: unless it is the caller's own wish. */
  #finish(error: Error, tell = true): void {
    if (this.#state === 'closed') return;
    clearTimeout(this.#retryTimer);
    this.#socket?.close();
    this.#socket = undefined;
    this.#problem = error;
    for (const waiter of this.#waiters) waiter.reject(error);
    this.#waiters.clear();
    this.#enter('closed', tell ? error : undefined);
    for (const feed of [...this.#feeds]) this.#drop(feed, error, tell ? reasonOf(error) : undefined);
  }

  #enter(state: RealtimeState, problem?: Error): void {
    this.#state = state;
    this.#options.onState?.(state, problem);
  }

  #opened(timeout: number): Promise<Socket> {
    if (this.#socket) return Promise.resolve(this.#socket);
    if (this.#state === 'closed') return Promise.reject(this.#problem);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.delete(waiter);
        reject(new ConnectionError('unreachable', `The API at ${this.#options.address} cannot be reached.`));
      }, timeout);
      const waiter = {
        resolve: (socket: Socket) => (clearTimeout(timer), resolve(socket)),
        reject: (error: Error) => (clearTimeout(timer), reject(error)),
      };
      this.#waiters.add(waiter);
    });
  }

  #feed<Result>(
    given: Pick<FeedState, 'method' | 'params' | 'fromKey' | 'handlers' | 'last' | 'deliver'>,
  ): Feed<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    // Who does not wait for `ready` learns of the end through onClosed.
    promise.catch(() => undefined);
    const feed: FeedState = {
      ...given,
      settle: { resolve, reject },
      id: '',
      begun: false,
      running: undefined,
      closed: false,
    };
    if (this.#state === 'closed') {
      feed.closed = true;
      reject(this.#problem ?? new ConnectionError('closed', 'The client is closed.'));
    } else {
      this.#feeds.add(feed);
      if (this.#socket) void this.#begin(feed, this.#socket);
    }
    return {
      ready: promise as Promise<Result>,
      get last() {
        return feed.last;
      },
      close: () => {
        const id = feed.id;
        const ready = this.#socket;
        this.#drop(feed, new ConnectionError('closed', 'The watch is closed.'), undefined);
        ready?.call('stream.unsubscribe', { subscription: id }).catch(() => undefined);
      },
    };
  }

  /** Subscribes a feed on this connection, after its last number; stays with it until that holds or is refused. */
  async #begin(feed: FeedState, socket: Socket): Promise<void> {
    for (let failures = 0; !feed.closed && socket === this.#socket; failures++) {
      const id = `${++this.#counter}`;
      feed.id = id;
      const current = (): boolean => feed.id === id && !feed.closed && socket === this.#socket;
      try {
        const from = feed.last === undefined ? {} : { [feed.fromKey]: feed.last };
        const result = await socket.call(feed.method, { subscription: id, ...feed.params, ...from });
        await this.#accepted(feed, isObject(result) ? result : {});
        return;
      } catch (error) {
        if (!current()) return;
        if (error instanceof RpcError) {
          if (error.code === 'resync') {
            const newest = newestOf(error.data);
            const next = await this.#resync(feed, newest);
            if (!current()) return;
            if (next !== undefined) {
              feed.last = next;
              if (failures === 0) continue;
            }
          } else if (!passing.has(error.code)) {
            return this.#drop(feed, error, error.code);
          }
        }
        await pause(Math.min(this.#timings.backoffMax, this.#timings.backoff * 2 ** failures));
      }
    }
  }

  async #accepted(feed: FeedState, result: Record<string, unknown>): Promise<void> {
    feed.settle.resolve(result);
    const newest = newestOf(result);
    const running = typeof result.running === 'string' ? result.running : undefined;
    if (feed.last === undefined && feed.method !== 'stream.subscribe') {
      // A turn that ran unheard at the first answer and does not run at the second has ended in between.
      const missed = feed.begun && feed.running !== undefined && feed.running !== running;
      feed.running = running;
      if (!running) feed.last = newest;
      feed.begun = true;
      if (missed) {
        const next = await this.#resync(feed, newest);
        if (!running) feed.last = Math.max(feed.last ?? 0, next ?? 0);
      }
    } else {
      feed.last ??= newest;
      feed.begun = true;
    }
  }

  async #resync(feed: FeedState, newest: number): Promise<number | undefined> {
    try {
      return (await feed.handlers.onResync?.(newest)) ?? newest;
    } catch {
      return undefined;
    }
  }

  #notified(method: string, params: Record<string, unknown>): void {
    const feed = [...this.#feeds].find((each) => each.id === params.subscription);
    if (!feed) return;
    if (method === 'stream.closed') {
      const reason = String(params.reason);
      if (reason === 'lagging' && this.#socket) void this.#begin(feed, this.#socket);
      else if (reason !== 'lagging') this.#drop(feed, new RpcError(-32003, `The watch was closed: ${reason}.`), reason);
      return;
    }
    const number = method === 'stream.event' ? params.seq : params.output;
    if (typeof number !== 'number' || (feed.last !== undefined && number <= feed.last)) return;
    feed.last = number;
    feed.deliver(params);
  }

  #drop(feed: FeedState, error: Error, reason: string | undefined): void {
    if (feed.closed) return;
    feed.closed = true;
    this.#feeds.delete(feed);
    feed.settle.reject(error);
    if (reason !== undefined) feed.handlers.onClosed?.(reason);
  }
}

/** `http://host:port` -> `ws://host:port/rpc`. */
export function realtimeUrl(address: string): string {
  const url = new URL('rpc', address.endsWith('/') ? address : `${address}/`);
  url.protocol = url.protocol === 'https:' || url.protocol === 'wss:' ? 'wss:' : 'ws:';
  return url.href;
}

function newestOf(data: unknown): number {
  if (!isObject(data)) return 0;
  const newest = data.output ?? data.seq;
  return typeof newest === 'number' ? newest : 0;
}

function reasonOf(problem: Error): string {
  return problem instanceof RpcError || problem instanceof ConnectionError ? problem.code : 'closed';
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

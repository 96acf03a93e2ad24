// One socket: sign-in, heartbeat, requests in their order, subscriptions, and the bounds that keep it from harming
// others (spec: planner 11).

import type { WebSocket } from 'ws';
import { DomainError } from '../../domain/errors.ts';
import { authenticate, type Authenticated } from '../../store/tokens.ts';
import type { App } from '../app.ts';
import {
  closeCodes,
  rpcCodes,
  rpcParams,
  type RpcErrorBody,
  type RpcId,
  type RpcNotifications,
} from '../contracts/realtime.ts';
import { logError, withIds } from '../../telemetry/log.ts';
import { newTrace } from '../../telemetry/trace.ts';
import { parse } from '../../domain/input.ts';
import type { EventFeed } from './event-feed.ts';
import { isMethod, methods, type Answer } from './methods.ts';
import type { OutputFeed } from './output-feed.ts';
import type { Read, RightsWatch, SignedIn } from './rights-watch.ts';
import { internalError, readRequest, RpcFault, rpcError, type Request } from './rpc.ts';
import { Subscriptions } from './subscriptions.ts';

export interface Timing {
  /** How long a socket may take to sign in. Default 10 s. */
  authMs: number;
  /** Between two heartbeats; a socket that was silent for three is closed. Default 15 s. */
  heartbeatMs: number;
}

export interface Realtime {
  app: App;
  outputs: OutputFeed;
  events: EventFeed;
  rights: RightsWatch;
  timing: Timing;
}

/** Bytes of requests that wait for their turn, before the socket is read no further. */
const queueBytes = 1024 * 1024;
/** Bytes of a frame before sign-in. */
const authBytes = 16 * 1024;
/** Bytes that may wait for a reader in all: past it the socket is cut. Subscriptions are ended long before. */
const outboundBytes = 16 * 1024 * 1024;
/** How long a closing handshake may take. */
const lingerMs = 2_000;
/** The longest that a timer of the runtime can wait. */
const longestTimerMs = 2 ** 31 - 1;

export class Connection implements SignedIn {
  readonly realtime: Realtime;
  readonly subscriptions: Subscriptions;
  readonly #socket: WebSocket;
  #who: Authenticated | undefined;
  /** A token was presented and is looked up. */
  #judging = false;
  #closed = false;
  #lastSeen = Date.now();
  #queue: string[] = [];
  #queuedBytes = 0;
  #draining = false;
  #authTimer: NodeJS.Timeout | undefined;
  #expiryTimer: NodeJS.Timeout | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #unwatch: (() => void) | undefined;

  constructor(socket: WebSocket, realtime: Realtime) {
    this.#socket = socket;
    this.realtime = realtime;
    this.subscriptions = new Subscriptions(this, realtime);
    realtime.app.metrics.sockets.inc();
    this.#authTimer = setTimeout(() => {
      if (this.#judging) this.close(closeCodes.tryAgainLater, 'unavailable');
      else this.close(closeCodes.unauthenticated, 'not signed in in time');
    }, realtime.timing.authMs);
    socket.on('message', (data, isBinary) => this.#receive(data as Buffer, isBinary));
    socket.on('ping', () => (this.#lastSeen = Date.now()));
    socket.on('pong', () => (this.#lastSeen = Date.now()));
    // Broken frames, over-long ones (1009), resets: ws closes the socket; there is nothing more to do.
    socket.on('error', () => undefined);
    socket.on('close', () => this.#release());
  }

  token(): string | undefined {
    return this.#who!.token_id;
  }

  principal(): Authenticated['principal'] {
    return this.#who!.principal;
  }

  reads(): Iterable<Read> {
    return this.subscriptions.reads();
  }

  revoked(): void {
    this.close(closeCodes.unauthenticated, 'the token was revoked');
  }

  /** Bytes that wait for the reader. */
  buffered(): number {
    return this.#socket.bufferedAmount;
  }

  notify<Method extends keyof RpcNotifications>(method: Method, params: RpcNotifications[Method]): void {
    this.#send({ jsonrpc: '2.0', method, params });
  }

  close(code: number, reason: string): void {
    if (this.#closed) return;
    this.#release();
    this.#socket.resume();
    this.#socket.close(code, reason);
    setTimeout(() => this.#socket.terminate(), lingerMs).unref();
  }

  #release(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#authTimer);
    clearTimeout(this.#expiryTimer);
    clearInterval(this.#heartbeat);
    this.#unwatch?.();
    this.subscriptions.close();
    this.#queue = [];
    this.realtime.app.metrics.sockets.dec();
  }

  #send(frame: Record<string, unknown>): void {
    if (this.#closed) return;
    this.#socket.send(JSON.stringify(frame), () => undefined);
    if (this.#socket.bufferedAmount > outboundBytes) {
      this.#release();
      this.#socket.terminate();
    }
  }

  #fail(id: RpcId, error: RpcErrorBody): void {
    this.#send({ jsonrpc: '2.0', id, error });
  }

  #receive(data: Buffer, isBinary: boolean): void {
    if (this.#closed) return;
    this.#lastSeen = Date.now();
    if (isBinary) return this.close(1003, 'text frames only');
    if (!this.#who && data.length > authBytes) return this.#refuse(null, 'Sign in first: call auth with a token.');
    this.#queue.push(data.toString('utf8'));
    this.#queuedBytes += data.length + 100;
    if (this.#queuedBytes > queueBytes) this.#socket.pause();
    if (!this.#draining) void this.#drain();
  }

  async #drain(): Promise<void> {
    this.#draining = true;
    for (let frame = this.#queue.shift(); frame !== undefined; frame = this.#queue.shift()) {
      const next = frame;
      await withIds({ trace_id: newTrace() }, () => this.#handle(next));
      if (this.#queue.length > 0) continue;
      this.#queuedBytes = 0;
      if (this.#socket.isPaused && !this.#closed) {
        this.#lastSeen = Date.now();
        this.#socket.resume();
      }
    }
    this.#draining = false;
  }

  async #handle(frame: string): Promise<void> {
    let request: Request | undefined;
    try {
      request = readRequest(frame);
      if (!this.#who) return await this.#signIn(request);
      const answer = await this.#call(request);
      if (request.id !== undefined) this.#send({ jsonrpc: '2.0', id: request.id, result: answer.result });
      this.#count(request.method, 0);
      if (!this.#closed) answer.begin?.();
    } catch (error) {
      const known = rpcError(error);
      if (!known) logError(`rpc: ${request?.method ?? 'frame'} failed`, error);
      const id = request ? request.id : error instanceof RpcFault ? error.id : null;
      if (id !== undefined) this.#fail(id, known ?? internalError);
      if (request) this.#count(request.method, known?.code ?? rpcCodes.internal);
      if (!this.#who) this.#closeAfter(known?.code);
    }
  }

  /** A sign-in failed. A token that could not be judged may be good: the client keeps it and comes back. */
  #closeAfter(code: number | undefined): void {
    if (code === undefined) this.close(closeCodes.internal, 'internal error');
    else if (code === rpcCodes.unavailable) this.close(closeCodes.tryAgainLater, 'unavailable');
    else this.close(closeCodes.unauthenticated, 'sign in first');
  }

  #count(method: string, code: number): void {
    this.realtime.app.metrics.calls.inc({ method: isMethod(method) ? method : 'unknown', code });
  }

  async #call(request: Request): Promise<Answer> {
    const { method } = request;
    if (!isMethod(method)) {
      throw new RpcFault(rpcCodes.method, `There is no method ${JSON.stringify(method.slice(0, 100))}.`);
    }
    if (method === 'auth') {
      throw new RpcFault(rpcCodes.invalid_request, 'This socket is signed in already; auth.refresh takes a new token.');
    }
    if (method !== '$/heartbeat') this.realtime.app.limits.requests.take(this.principal().subject);
    if (method === 'auth.refresh') return this.#refresh(request);
    return methods[method](this, request.params);
  }

  async #signIn(request: Request): Promise<void> {
    const first = validateAuth(request);
    if (first === undefined) return this.#refuse(request.id, 'Sign in first: call auth with a token.');
    this.#judging = true;
    const who = await this.#authenticate(first);
    if (this.#closed) return;
    clearTimeout(this.#authTimer);
    this.#admit(who);
    this.#unwatch = this.realtime.rights.add(this);
    this.#heartbeat = setInterval(() => this.#beat(), this.realtime.timing.heartbeatMs);
    if (request.id !== undefined) this.#send({ jsonrpc: '2.0', id: request.id, result: this.#identity() });
    this.#count('auth', 0);
  }

  #refuse(id: RpcId | undefined, message: string): void {
    if (id !== undefined) this.#fail(id, { code: rpcCodes.unauthenticated, message });
    this.close(closeCodes.unauthenticated, 'sign in first');
  }

  #authenticate(token: string): Promise<Authenticated> {
    const { database, verify } = this.realtime.app;
    return authenticate(database, token, verify);
  }

  async #refresh(request: Request): Promise<Answer> {
    const { token } = parse(rpcParams['auth.refresh'], request.params);
    const who = await this.#authenticate(token);
    if (who.principal.subject !== this.principal().subject) {
      throw new DomainError('forbidden', 'This token is another subject\'s. Open a new socket for it.');
    }
    if (!this.#closed) {
      this.#admit(who);
      this.realtime.rights.recheck(who.principal.subject);
    }
    return { result: this.#identity() };
  }

  #identity(): { subject: string; expires_at: string } {
    return { subject: this.principal().subject, expires_at: this.#who!.expires_at };
  }

  #admit(who: Authenticated): void {
    this.#who = who;
    clearTimeout(this.#expiryTimer);
    const wait = (): void => {
      const left = Date.parse(who.expires_at) - Date.now();
      if (left <= 0) this.close(closeCodes.unauthenticated, 'the token has expired');
      else this.#expiryTimer = setTimeout(wait, Math.min(left, longestTimerMs));
    };
    wait();
  }

  #beat(): void {
    if (Date.now() - this.#lastSeen >= 3 * this.realtime.timing.heartbeatMs) {
      this.close(closeCodes.silent, 'no frame for three heartbeats');
    } else {
      this.notify('$/heartbeat', { time: new Date().toISOString() });
    }
  }
}

/** The token of a first frame; undefined when it is anything but a sign-in. */
function validateAuth(request: Request): string | undefined {
  if (request.method !== 'auth') return undefined;
  const parsed = rpcParams.auth.safeParse(request.params);
  return parsed.success ? parsed.data.token : undefined;
}

// What all REST routes share: the caller, the body, one answer a key, status codes (spec: planner 10).

import { createHash } from 'node:crypto';
import express, { type Request, type Response, type Router } from 'express';
import type { z } from 'zod';
import type { Principal } from '../../domain/actor.ts';
import { invalid } from '../../domain/errors.ts';
import { parse } from '../../domain/input.ts';
import { transaction, type Database, type Tx } from '../../store/database.ts';
import { once, type Keep, type KeyedRequest } from '../../store/idempotency.ts';
import type { Authenticated } from '../../store/tokens.ts';
import type { App } from '../app.ts';
import { empty } from '../contracts/common.ts';
import { bodyOf } from './body.ts';

/** One request as a handler sees it. */
export interface Call<Query = unknown> {
  app: App;
  database: Database;
  principal: Principal;
  /** When the presented token expires. */
  expiresAt: string;
  param(name: string): string;
  /** The body as it came; `{}` when there was none. */
  body: unknown;
  query: Query;
  /** The same for each repetition under one Idempotency-Key; undefined without one. */
  repetition: string | undefined;
  /** Runs in one transaction, together with storing its result as the answer under the Idempotency-Key. */
  write<T>(body: (tx: Tx) => Promise<T>): Promise<T>;
}

type Handler<Query = unknown> = (call: Call<Query>) => Promise<unknown>;

/** An answer that is no JSON. */
export class TextAnswer {
  readonly type: string;
  readonly text: string;

  constructor(type: string, text: string) {
    this.type = type;
    this.text = text;
  }
}

/** Kept by the middleware that signs requests in. */
export function setCaller(response: Response, caller: Authenticated): void {
  response.locals['caller'] = caller;
}

/** Registers routes of one family. A handler's result is the answer; undefined is 204 without a body. */
export class Routes {
  readonly router: Router = express.Router({ caseSensitive: true });
  readonly #app: App;

  constructor(app: App) {
    this.#app = app;
  }

  get<Query extends z.ZodType>(path: string, query: Query, handler: Handler<z.output<Query>>): void {
    this.router.get(path, async (request, response) => {
      const wanted = parse(query, { ...request.query });
      answer(response, 200, await handler({ ...this.#call(request, response), query: wanted }));
    });
  }

  /** Honours Idempotency-Key. `status`: 201 where it creates. */
  post(path: string, status: 200 | 201, handler: Handler): void {
    this.router.post(path, async (request, response) => {
      parse(empty, { ...request.query });
      const call = this.#call(request, response);
      const key = request.get('Idempotency-Key');
      if (key === undefined) return answer(response, status, await handler(call));
      const keyed = keyedRequest(call.principal.subject, key, request, call.body);
      const kept = await once(this.#app.database, keyed, async (keep) => {
        const write = keptWrite(call.database, keep, status);
        return { status, body: await handler({ ...call, repetition: repetitionOf(keyed), write }) };
      });
      answer(response, kept.status, kept.body);
    });
  }

  patch(path: string, handler: Handler): void {
    this.router.patch(path, async (request, response) => {
      parse(empty, { ...request.query });
      answer(response, 200, await handler(this.#call(request, response)));
    });
  }

  delete(path: string, handler: Handler): void {
    this.router.delete(path, async (request, response) => {
      parse(empty, { ...request.query });
      answer(response, 200, await handler(this.#call(request, response)));
    });
  }

  #call(request: Request, response: Response): Call {
    const { principal, expires_at } = response.locals['caller'] as Authenticated;
    const { database } = this.#app;
    return {
      app: this.#app,
      database,
      principal,
      expiresAt: expires_at,
      param(name) {
        const value = request.params[name];
        if (typeof value !== 'string' || value.includes('\0')) throw invalid(`The path's ${name} can't be read.`);
        return value;
      },
      body: bodyOf(request),
      query: undefined,
      repetition: undefined,
      write: (body) => transaction(database, body),
    };
  }
}

function answer(response: Response, status: number, body: unknown): void {
  if (body instanceof TextAnswer) response.status(status).type(body.type).send(body.text);
  else if (body === undefined) response.status(204).end();
  else response.status(status).json(body);
}

function keyedRequest(subject: string, key: string, request: Request, body: unknown): KeyedRequest {
  const asked = JSON.stringify([request.method, request.originalUrl, body]);
  return { subject, key, hash: createHash('sha256').update(asked).digest() };
}

function repetitionOf({ subject, key }: KeyedRequest): string {
  return `key-${createHash('sha256').update(JSON.stringify([subject, key])).digest('hex')}`;
}

function keptWrite(database: Database, keep: Keep, status: number): Call['write'] {
  return (body) =>
    transaction(database, async (tx) => {
      const result = await body(tx);
      await keep(tx, { status, body: result });
      return result;
    });
}

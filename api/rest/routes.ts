// How REST routes are declared, and what they share: the caller, the body, one answer a key (spec: planner 10).
//
//   routes.post('/projects/:project/items', {
//     summary: 'Create an item',
//     body: newItem,
//     status: 201,
//     answer: item,
//     errors: ['forbidden', 'not_found'],
//   }, ({ principal, param, body, write }) => write((tx) => createItem(tx, principal, param('project'), body)));
//
// A declaration is the one source of the route, of its entry in the OpenAPI document and, in tests, of the check that
// what is answered is what is documented.

import { createHash } from 'node:crypto';
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import { z } from 'zod';
import type { Principal } from '../../domain/actor.ts';
import { invalid } from '../../domain/errors.ts';
import { parse, quoted } from '../../domain/input.ts';
import { transaction, type Database, type Tx } from '../../store/database.ts';
import { once, type Keep, type KeyedRequest } from '../../store/idempotency.ts';
import type { Authenticated } from '../../store/tokens.ts';
import type { App } from '../app.ts';
import { empty, pathParameters, type errorCodes } from '../contracts/common.ts';
import { bodyBytes, bodyOf, bodyReader } from './body.ts';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
export type RouteError = (typeof errorCodes)[number];

/** What every route may answer: a request that can't be read, no token, too many requests, an outage, a fault. */
export const commonErrors: readonly RouteError[] = [
  'invalid_argument',
  'unauthenticated',
  'rate_limited',
  'unavailable',
  'internal',
];

type None = typeof empty;
type Checker = 'here' | 'room';

/** What a route takes and answers. */
export interface Declaration<
  Query extends z.ZodType = None,
  Body extends z.ZodType = None,
  Answer extends z.ZodType = z.ZodVoid,
  By extends Checker = 'here',
> {
  /** What it does: a few words, as a title. */
  summary: string;
  /** Markdown: rules that the schemas don't tell. */
  description?: string;
  /** What a name in the path stands for here. Default: as in `pathParameters`. */
  params?: Readonly<Record<string, z.ZodType>>;
  /** Default: none. */
  query?: Query;
  /** Default: none, or `{}`. */
  body?: Body;
  /** room: the handler gets the body as it came, for the room below checks it, with all else that it may violate. */
  checkedBy?: By;
  /** Bytes that a body may have. Default 1 MiB. */
  bodyLimit?: number;
  /** 201 where it creates. Default 200; 204 without an `answer`. */
  status?: 200 | 201;
  answer?: Answer;
  /** The types of an answer that is no JSON: a TextAnswer. */
  media?: readonly string[];
  /** Beside `commonErrors`, and the `conflict` of an Idempotency-Key. */
  errors?: readonly RouteError[];
}

/** A route as the OpenAPI document and the checks see it. */
export interface Route {
  method: Method;
  /** Below /api/v1, with `:name` for parameters. */
  path: string;
  family: string;
  summary: string;
  description?: string;
  params: z.ZodObject;
  query: z.ZodType;
  body: z.ZodType;
  bodyLimit: number;
  status: 200 | 201 | 204;
  answer: z.ZodType | undefined;
  media: readonly string[] | undefined;
  errors: readonly RouteError[];
}

/** The parameters in a path. */
type Params<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | Params<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** One request as a handler sees it. */
export interface Call<Query = unknown, Body = unknown, Name extends string = string> {
  app: App;
  database: Database;
  principal: Principal;
  /** When the presented token expires. */
  expiresAt: string;
  param(name: Name): string;
  query: Query;
  body: Body;
  /** The same for each repetition under one Idempotency-Key; undefined without one. */
  repetition: string | undefined;
  /** Runs in one transaction, together with storing its result as the answer under the Idempotency-Key. */
  write<T>(body: (tx: Tx) => Promise<T>): Promise<T>;
}

type Handler<
  Path extends string,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Answer extends z.ZodType,
  By extends Checker,
> = (
  call: Call<z.output<Query>, By extends 'room' ? unknown : z.output<Body>, Params<Path>>,
) => Promise<z.input<Answer>>;

type Declare = <
  Path extends string,
  Query extends z.ZodType = None,
  Body extends z.ZodType = None,
  Answer extends z.ZodType = z.ZodVoid,
  By extends Checker = 'here',
>(
  path: Path,
  declared: Declaration<Query, Body, Answer, By>,
  handler: Handler<NoInfer<Path>, Query, Body, Answer, By>,
) => void;

/** An answer that is no JSON. */
export class TextAnswer {
  readonly type: string;
  readonly text: string;

  constructor(type: string, text: string) {
    this.type = type;
    this.text = text;
  }
}

/** For the `answer` of a route with `media`. */
export const textAnswer = z.instanceof(TextAnswer);

/** Kept by the middleware that signs requests in. */
export function setCaller(response: Response, caller: Authenticated): void {
  response.locals['caller'] = caller;
}

/** The route that a request has reached. */
export function routeOf(response: Response): Route | undefined {
  return response.locals['route'] as Route | undefined;
}

/** Declares the routes of one family, which is their heading in the document. */
export class Routes {
  readonly router: Router = express.Router({ caseSensitive: true });
  readonly list: Route[] = [];
  readonly #app: App;
  readonly #family: string;

  constructor(app: App, family: string) {
    this.#app = app;
    this.#family = family;
  }

  readonly get: Declare = (path, declared, handler) => this.#add('get', path, declared, handler);
  /** Honours Idempotency-Key. */
  readonly post: Declare = (path, declared, handler) => this.#add('post', path, declared, handler);
  readonly put: Declare = (path, declared, handler) => this.#add('put', path, declared, handler);
  readonly patch: Declare = (path, declared, handler) => this.#add('patch', path, declared, handler);
  readonly delete: Declare = (path, declared, handler) => this.#add('delete', path, declared, handler);

  #add<
    Path extends string,
    Query extends z.ZodType,
    Body extends z.ZodType,
    Answer extends z.ZodType,
    By extends Checker,
  >(
    method: Method,
    path: Path,
    declared: Declaration<Query, Body, Answer, By>,
    handler: Handler<Path, Query, Body, Answer, By>,
  ): void {
    const route = routeFrom(method, path, this.#family, declared);
    this.list.push(route);
    const known: RequestHandler = (_request, response, next) => {
      response.locals['route'] = route;
      next();
    };
    this.router[method](path, known, ...bodyReader(route.bodyLimit), async (request: Request, response: Response) => {
      const query = parse(route.query, queryOf(request)) as z.output<Query>;
      const given = bodyOf(request);
      const body = (declared.checkedBy === 'room' ? given : parse(route.body, given)) as Parameters<
        typeof handler
      >[0]['body'];
      const call = { ...this.#call(request, response), query, body };
      const key = method === 'post' ? request.get('Idempotency-Key') : undefined;
      if (key === undefined) return this.#answer(response, route, route.status, await handler(call));
      const keyed = keyedRequest(call.principal.subject, key, request, given);
      const kept = await once(this.#app.database, keyed, async (keep) => {
        const write = keptWrite(call.database, keep, route.status);
        return {
          status: route.status,
          body: await handler({ ...call, repetition: repetitionOf(keyed), write }),
        };
      });
      this.#answer(response, route, kept.status, kept.body);
    });
  }

  #call(request: Request, response: Response): Omit<Call, 'query' | 'body'> {
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
      repetition: undefined,
      write: (body) => transaction(database, body),
    };
  }

  #answer(response: Response, route: Route, status: number, body: unknown): void {
    if (this.#app.checkAnswers) checkAnswer(route, body);
    if (body instanceof TextAnswer) response.status(status).type(body.type).send(body.text);
    else if (route.status === 204) response.status(204).end();
    else response.status(status).json(body);
  }
}

function routeFrom(
  method: Method,
  path: string,
  family: string,
  declared: Declaration<z.ZodType, z.ZodType, z.ZodType, Checker>,
): Route {
  const { summary, description, query, body, bodyLimit, answer, media, errors = [] } = declared;
  const keyed: RouteError[] = method === 'post' ? ['conflict'] : [];
  return {
    method,
    path,
    family,
    summary,
    ...(description === undefined ? {} : { description }),
    params: paramsOf(path, declared.params),
    query: query ?? empty,
    body: body ?? empty,
    bodyLimit: bodyLimit ?? bodyBytes,
    status: answer === undefined ? 204 : (declared.status ?? 200),
    answer,
    media,
    errors: [...new Set([...commonErrors, ...keyed, ...errors])],
  };
}

function paramsOf(path: string, own: Declaration['params'] = {}): z.ZodObject {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!);
  return z.object(
    Object.fromEntries(
      names.map((name) => {
        const parameter = own[name] ?? pathParameters[name];
        if (!parameter) throw new Error(`${path}: say in pathParameters or in params what ${name} is.`);
        return [name, parameter];
      }),
    ),
  );
}

/** Throws what is answered but not documented: a fault of ours. */
function checkAnswer(route: Route, body: unknown): void {
  const told = body instanceof TextAnswer ? body : body === undefined ? undefined : JSON.parse(JSON.stringify(body));
  const { success, error } = (route.answer ?? z.undefined()).safeParse(told);
  const typed = !(body instanceof TextAnswer) || route.media?.includes(body.type.split(';')[0]!);
  if (success && typed) return;
  const why = success ? `${(body as TextAnswer).type} is none of its types` : z.prettifyError(error);
  throw new Error(`${route.method.toUpperCase()} ${route.path} answers what it does not document: ${why}`);
}

function queryOf(request: Request): object {
  const query = { ...request.query };
  for (const [name, value] of Object.entries(query)) {
    if (String(value).includes('\0')) throw invalid(`${quoted(name)} can't be read.`);
  }
  return query;
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

// A scripted model: chat completions over HTTP, with the answers, delays and faults that a test asks for.
// Also a process of its own: SCRIPTED_MODEL_SCRIPT=<module with a default Script> node test/support/scripted-model.ts

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

export interface ScriptedRequest {
  model: string;
  messages: { role: string; content: string | null; tool_calls?: unknown[]; tool_call_id?: string }[];
  tools?: { type: 'function'; function: { name: string } }[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  [field: string]: unknown;
}

/** What an answer is made of, in order. Without `finish`, `cut`, `end` or `hang` it ends well, usage if asked for. */
export type Step =
  | { text: string }
  /** One delta a word, `delayMs` (0) apart. */
  | { words: string; delayMs?: number }
  | { call: { id?: string; name: string; input: Record<string, unknown> | string } }
  | { usage: { input: number; output: number; cached?: number } }
  | { wait: number }
  | { gate: Promise<unknown> }
  /** A chunk as it stands. */
  | { chunk: unknown }
  /** Bytes as they stand. */
  | { raw: string }
  /** Ends well with this finish reason. */
  | { finish: string | null }
  /** Ends the body without an end mark. */
  | { end: true }
  /** Destroys the connection. */
  | { cut: true }
  /** Sends nothing more; as the first step not even headers. */
  | { hang: true };

/** An answer, or a plain HTTP response. */
export type Reply = Step[] | { status: number; headers?: Record<string, string>; body?: unknown };

/** `n` counts requests from 0. */
export type Script = (request: ScriptedRequest, n: number) => Reply | Promise<Reply>;

export interface RecordedRequest {
  body: ScriptedRequest;
  headers: IncomingMessage['headers'];
  /** `performance.now()` when it had arrived. */
  at: number;
  /** `performance.now()` when the client closed the connection before the answer's end. */
  closedAt: number | undefined;
  /** The answer was sent to its end. */
  finished: boolean;
  /** Resolves once the connection is closed or the answer is sent. */
  over: Promise<void>;
}

export interface ScriptedModel {
  /** For `ModelSettings.baseUrl`. */
  baseUrl: string;
  requests: RecordedRequest[];
  /** The request number `n`, from 0, as soon as it has arrived. */
  request(n: number): Promise<RecordedRequest>;
  /** Later requests get another script. */
  play(script: Script): void;
  close(): Promise<void>;
}

export const says = (text: string): Reply => [{ text }];
export const calls = (name: string, input: Record<string, unknown> | string, id?: string): Reply => [
  { call: { ...(id === undefined ? {} : { id }), name, input } },
];
/** An OpenAI-like error. */
export const fails = (status: number, message = 'no', headers: Record<string, string> = {}): Reply => ({
  status,
  headers,
  body: { error: { message, type: 'error', code: null } },
});

/** The replies in turn, the last one again and again. */
export function inTurn(...replies: Reply[]): Script {
  return (_, n) => replies[Math.min(n, replies.length - 1)] ?? says('');
}

export async function startScriptedModel(script: Script = () => says('Hello.'), port = 0): Promise<ScriptedModel> {
  let current = script;
  const requests: RecordedRequest[] = [];
  const waiting = new Map<number, (request: RecordedRequest) => void>();

  const server = createServer((incoming, response) => {
    void (async () => {
      const body = await readBody(incoming);
      const n = requests.length;
      const recorded = record(incoming, response, body);
      requests.push(recorded);
      waiting.get(n)?.(recorded);
      const reply = await current(body, n);
      await (Array.isArray(reply) ? answer(response, body, reply) : respond(response, reply));
    })().catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));

  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    request: (n) => {
      const present = requests[n];
      return present ? Promise.resolve(present) : new Promise((resolve) => waiting.set(n, resolve));
    },
    play: (next) => {
      current = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function record(incoming: IncomingMessage, response: ServerResponse, body: ScriptedRequest): RecordedRequest {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const recorded: RecordedRequest = {
    body,
    headers: incoming.headers,
    at: performance.now(),
    closedAt: undefined,
    finished: false,
    over,
  };
  response.on('close', () => {
    recorded.finished = response.writableFinished;
    if (!recorded.finished) recorded.closedAt = performance.now();
    resolve();
  });
  return recorded;
}

async function readBody(incoming: IncomingMessage): Promise<ScriptedRequest> {
  let text = '';
  for await (const bytes of incoming.setEncoding('utf8')) text += String(bytes);
  return JSON.parse(text) as ScriptedRequest;
}

function respond(response: ServerResponse, reply: Exclude<Reply, Step[]>): void {
  const text = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body ?? {});
  response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers }).end(text);
}

async function answer(response: ServerResponse, body: ScriptedRequest, steps: readonly Step[]): Promise<void> {
  const stream = new AnswerStream(response, body);
  for (const step of steps) {
    if (response.destroyed) return;
    if (await stream.play(step)) return;
  }
  stream.finish(undefined);
}

/** One answer being sent; `play` tells whether the step was the last. */
class AnswerStream {
  readonly #response: ServerResponse;
  readonly #body: ScriptedRequest;
  #calls = 0;
  #usage = { input: 100, output: 10, cached: 0 };

  constructor(response: ServerResponse, body: ScriptedRequest) {
    this.#response = response;
    this.#body = body;
  }

  async play(step: Step): Promise<boolean> {
    if ('wait' in step) await sleep(step.wait);
    else if ('gate' in step) await step.gate;
    else if ('text' in step) this.#delta({ content: step.text });
    else if ('words' in step) await this.#words(step.words, step.delayMs ?? 0);
    else if ('call' in step) this.#call(step.call);
    else if ('usage' in step) this.#usage = { cached: 0, ...step.usage };
    else if ('chunk' in step) this.#send(step.chunk);
    else if ('raw' in step) this.#write(step.raw);
    else return await this.#last(step);
    return false;
  }

  finish(reason: string | null | undefined): void {
    this.#delta({}, reason === undefined ? (this.#calls > 0 ? 'tool_calls' : 'stop') : reason);
    const counted = this.#body.stream_options?.include_usage === true;
    if (counted) this.#send({ ...this.#frame(), choices: [], usage: this.#wireUsage() });
    this.#write('data: [DONE]\n\n');
    this.#response.end();
  }

  async #last(step: { finish: string | null } | { end: true } | { cut: true } | { hang: true }): Promise<boolean> {
    if ('finish' in step) this.finish(step.finish);
    else if ('end' in step) this.#response.end();
    else if ('cut' in step) {
      // What was written first leaves first.
      await sleep(5);
      this.#response.destroy();
    }
    return true;
  }

  async #words(text: string, delayMs: number): Promise<void> {
    for (const word of text.match(/\S+\s*/g) ?? []) {
      if (this.#response.destroyed) return;
      this.#delta({ content: word });
      if (delayMs > 0) await sleep(delayMs);
    }
  }

  #call(call: { id?: string; name: string; input: Record<string, unknown> | string }): void {
    const index = this.#calls++;
    const text = typeof call.input === 'string' ? call.input : JSON.stringify(call.input);
    const id = call.id ?? `call_${index}`;
    this.#delta({ tool_calls: [{ index, id, type: 'function', function: { name: call.name, arguments: text } }] });
  }

  #delta(delta: Record<string, unknown>, reason: string | null = null): void {
    this.#send({ ...this.#frame(), choices: [{ index: 0, delta, finish_reason: reason }] });
  }

  #send(chunk: unknown): void {
    this.#write(`data: ${JSON.stringify(chunk)}\n\n`);
  }

  #write(text: string): void {
    if (this.#response.destroyed) return;
    if (!this.#response.headersSent) this.#response.writeHead(200, { 'content-type': 'text/event-stream' });
    this.#response.write(text);
  }

  #frame(): Record<string, unknown> {
    return { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: this.#body.model };
  }

  #wireUsage(): Record<string, unknown> {
    const { input, output, cached } = this.#usage;
    return {
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: input + output,
      prompt_tokens_details: { cached_tokens: cached },
    };
  }
}

if (import.meta.main) {
  const path = process.env.SCRIPTED_MODEL_SCRIPT;
  const module = path === undefined ? {} : ((await import(pathToFileURL(path).href)) as { default?: Script });
  const model = await startScriptedModel(module.default, Number(process.env.SCRIPTED_MODEL_PORT ?? 0));
  console.log(JSON.stringify({ ready: true, address: model.baseUrl }));
  process.once('SIGTERM', () => void model.close().then(() => process.exit(0)));
}

// The demo model over HTTP: POST /v1/chat/completions (streamed or whole), GET /v1/models, GET /healthz. Loopback only.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { logError } from '../../telemetry/log.ts';
import { isObject, parsedObject } from '../json.ts';
import { replyTo } from './brain.ts';
import { conversationOf, type Reply } from './conversation.ts';

export const demoModel = 'demo-planner';

export interface DemoServer {
  /** Without `/v1`. */
  address: string;
  close(): Promise<void>;
}

/** `port` 0: a free one. `delayMs`: between two words of an answer. */
export async function startDemoModel(options: { port: number; delayMs: number }): Promise<DemoServer> {
  const server = createServer((request, response) => {
    serve(request, response, options.delayMs).catch((error: unknown) => {
      logError('the demo model failed', error);
      if (response.headersSent) response.destroy();
      else sendError(response, 500, 'The demo model failed.');
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, '127.0.0.1', resolve);
  });
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const maxBody = 16 * 1024 * 1024;

async function serve(request: IncomingMessage, response: ServerResponse, delayMs: number): Promise<void> {
  const path = (request.url ?? '').split('?')[0];
  if (request.method === 'GET' && path === '/healthz') return sendJson(response, 200, { status: 'ok' });
  if (request.method === 'GET' && path === '/v1/models') {
    return sendJson(response, 200, { object: 'list', data: [{ id: demoModel, object: 'model', owned_by: 'demo' }] });
  }
  if (request.method !== 'POST' || path !== '/v1/chat/completions') {
    return sendError(response, 404, 'There is no such route.');
  }
  const text = await bodyOf(request);
  if (text === undefined) return sendError(response, 413, 'The request is too large.');
  const body = parsedObject(text);
  if (!body || !Array.isArray(body.messages)) return sendError(response, 400, 'The body must be JSON with messages.');
  const reply = replyTo(conversationOf(body));
  const usage = usageOf(text, reply);
  if (body.stream === true) return await stream(response, reply, wantsUsage(body) ? usage : undefined, delayMs);
  const message = { role: 'assistant', content: reply.text, ...toolCalls(reply) };
  const choices = [{ index: 0, message, finish_reason: finish(reply) }];
  sendJson(response, 200, { ...frame('chat.completion'), choices, usage });
}

async function stream(
  response: ServerResponse,
  reply: Reply,
  usage: object | undefined,
  delayMs: number,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  const send = (delta: object, reason: string | null = null): void => {
    const chunk = { ...frame('chat.completion.chunk'), choices: [{ index: 0, delta, finish_reason: reason }] };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  };
  send({ role: 'assistant', content: '' });
  for (const word of reply.text.match(/\s*\S+|\s+$/g) ?? []) {
    if (response.destroyed) return;
    send({ content: word });
    if (delayMs > 0) await sleep(delayMs);
  }
  for (const [index, call] of (toolCalls(reply).tool_calls ?? []).entries()) send({ tool_calls: [{ index, ...call }] });
  send({}, finish(reply));
  if (usage) response.write(`data: ${JSON.stringify({ ...frame('chat.completion.chunk'), choices: [], usage })}\n\n`);
  response.end('data: [DONE]\n\n');
}

const finish = (reply: Reply): string => (reply.calls.length > 0 ? 'tool_calls' : 'stop');

function toolCalls(reply: Reply) {
  if (reply.calls.length === 0) return {};
  return {
    tool_calls: reply.calls.map((call) => ({
      id: `call_${crypto.randomUUID().replaceAll('-', '').slice(0, 24)}`,
      type: 'function',
      function: { name: call.name, arguments: JSON.stringify(call.input) },
    })),
  };
}

function frame(object: string) {
  return { id: `chatcmpl-${crypto.randomUUID()}`, object, created: Math.floor(Date.now() / 1000), model: demoModel };
}

const wantsUsage = (body: Record<string, unknown>): boolean =>
  isObject(body.stream_options) && body.stream_options.include_usage === true;

/** About four characters a token. */
function usageOf(request: string, reply: Reply) {
  const prompt = Math.ceil(request.length / 4);
  const completion = Math.ceil((reply.text.length + JSON.stringify(reply.calls).length) / 4);
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBody) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function sendError(response: ServerResponse, status: number, message: string): void {
  const type = status < 500 ? 'invalid_request_error' : 'server_error';
  sendJson(response, status, { error: { message, type, code: null } });
}

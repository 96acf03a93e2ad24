// A stand-in for the API that the real CLI speaks to: loopback HTTP, scripted answers, every request kept.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the stand-in does with a request for a message. */
export type Script =
  | { do: 'answer'; text: string; stop?: string; input?: number; output?: number; lineMs?: number }
  | { do: 'status'; status: number; type: string }
  /** Streams the text, then breaks the connection, or says nothing more. */
  | { do: 'cut' | 'stall'; text: string }
  | { do: 'tool' };

export interface StandIn {
  url: string;
  /** Bodies of the requests for a message, as text. */
  requests: string[];
  /** All other paths that were asked for. */
  others: string[];
  /** The n-th request takes the n-th script, then the last one again. */
  play(...scripts: Script[]): void;
  close(): Promise<void>;
}

export async function startStandIn(): Promise<StandIn> {
  let scripts: Script[] = [];
  let count = 0;
  const requests: string[] = [];
  const others: string[] = [];
  const server = createServer((request, response) => {
    void body(request).then((text) => {
      if (request.method !== 'POST' || !/^\/v1\/messages(?:\?|$)/.test(request.url ?? '')) {
        others.push(`${request.method} ${request.url}`);
        response.writeHead(404, { 'content-type': 'application/json' }).end('{"type":"error"}');
        return;
      }
      requests.push(text);
      const script = scripts[Math.min(count++, scripts.length - 1)];
      if (script) answer(script, modelOf(text), response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    others,
    play(...next) {
      scripts = next;
      count = 0;
      requests.length = others.length = 0;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function body(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk as string;
  return text;
}

const modelOf = (text: string): string => {
  try {
    return String((JSON.parse(text) as { model?: unknown }).model);
  } catch {
    return 'unknown';
  }
};

function answer(script: Script, model: string, response: ServerResponse): void {
  if (script.do === 'status') {
    const error = { type: 'error', error: { type: script.type, message: script.type } };
    response.writeHead(script.status, { 'content-type': 'application/json' }).end(JSON.stringify(error));
    return;
  }
  void stream(script, model, response);
}

async function stream(
  script: Exclude<Script, { do: 'status' }>,
  model: string,
  response: ServerResponse,
): Promise<void> {
  const send = (event: { type: string; [key: string]: unknown }): void =>
    void response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  const usage = { input_tokens: script.do === 'answer' ? (script.input ?? 1_200) : 1_200, output_tokens: 1 };
  const message = {
    id: `msg_${Date.now()}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    usage,
  };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  send({ type: 'message_start', message });
  if (script.do === 'tool') return tool(send, response);
  send({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
  for (const line of script.text.match(/[^\n]*\n|[^\n]+/g) ?? []) {
    send({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: line } });
    if (script.do === 'answer' && script.lineMs) await new Promise((resolve) => setTimeout(resolve, script.lineMs));
  }
  if (script.do === 'stall') return;
  if (script.do === 'cut') return void setTimeout(() => response.destroy(), 100);
  send({ type: 'content_block_stop', index: 0 });
  const { stop = 'end_turn', output = 150 } = script.do === 'answer' ? script : {};
  send({ type: 'message_delta', delta: { stop_reason: stop }, usage: { output_tokens: output } });
  send({ type: 'message_stop' });
  response.end();
}

function tool(send: (event: { type: string; [key: string]: unknown }) => void, response: ServerResponse): void {
  send({
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'tool_use', id: 'toolu_01', name: 'Bash', input: {} },
  });
  send({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'input_json_delta', partial_json: '{"command":"ls"}' },
  });
  send({ type: 'content_block_stop', index: 0 });
  send({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 20 } });
  send({ type: 'message_stop' });
  response.end();
}

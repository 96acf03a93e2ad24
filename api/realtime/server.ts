// Opens the sockets of /rpc: headers, origin, subprotocol (spec: planner 11).

import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { App } from '../app.ts';
import { subprotocol } from '../contracts/realtime.ts';
import { tooManyHeaders } from '../headers.ts';
import type { Listener } from '../../store/listener.ts';
import { Connection, type Realtime, type Timing } from './connection.ts';
import { EventFeed } from './event-feed.ts';
import { originAllowed } from './origin.ts';
import { OutputFeed, type OutputFeedOptions } from './output-feed.ts';
import { RightsWatch } from './rights-watch.ts';

export interface RealtimeOptions extends Partial<Timing>, OutputFeedOptions {
  publicUrl?: string | undefined;
  /** Between two looks at rights and tokens without notification. Default 1 s. */
  recheckMs?: number;
}

/** Bytes of an inbound frame at most: a longer one closes the socket with 1009. */
const frameBytes = 4 * 1024 * 1024;

export interface RealtimeServer {
  /** Closes all sockets with 1001. */
  close(): Promise<void>;
}

export function serveRealtime(server: Server, app: App, listener: Listener, options: RealtimeOptions): RealtimeServer {
  const realtime: Realtime = {
    app,
    outputs: new OutputFeed(app.database, listener, options),
    events: new EventFeed(app.database, listener, options),
    rights: new RightsWatch(app.database, listener, options.recheckMs),
    timing: { authMs: options.authMs ?? 10_000, heartbeatMs: options.heartbeatMs ?? 15_000 },
  };
  const connections = new Set<Connection>();
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: frameBytes,
    perMessageDeflate: false,
    clientTracking: false,
    handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
  });
  let closed = false;

  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    const refusal = closed ? stopping : refusalOf(request, options.publicUrl);
    if (refusal) return refuse(socket, ...refusal);
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      if (webSocket.protocol !== subprotocol) {
        webSocket.on('error', () => undefined);
        webSocket.close(1008, `offer the subprotocol ${subprotocol}`);
        return;
      }
      const connection = new Connection(webSocket, realtime);
      connections.add(connection);
      webSocket.on('close', () => connections.delete(connection));
    });
  });

  return {
    async close() {
      closed = true;
      for (const connection of [...connections]) connection.close(1001, 'the server is stopping');
      realtime.rights.close();
      await Promise.all([realtime.outputs.close(), realtime.events.close()]);
      sockets.close();
    },
  };
}

type Refusal = readonly [status: number, code: string, message: string];

const stopping: Refusal = [503, 'unavailable', 'The server is stopping.'];

function refusalOf(request: IncomingMessage, publicUrl: string | undefined): Refusal | undefined {
  const { headers, url } = request;
  if (tooManyHeaders(request)) return [400, 'invalid_argument', 'Too many headers.'];
  if (url?.split('?')[0] !== '/rpc') return [404, 'not_found', 'Sockets are opened at /rpc.'];
  if (headers.upgrade?.toLowerCase() !== 'websocket') {
    return [400, 'invalid_argument', 'Only an upgrade to "websocket" is possible.'];
  }
  if (!originAllowed(headers.origin, headers.host, publicUrl)) {
    const mend = 'Set PLANNER_PUBLIC_URL to the address that people use.';
    return [403, 'forbidden', `Pages of this origin may not connect. ${mend}`];
  }
  const offered = headers['sec-websocket-protocol'];
  if (offered !== undefined && !offered.split(',').some((name) => name.trim() === subprotocol)) {
    return [400, 'invalid_argument', `Unknown subprotocol. This server speaks ${subprotocol}.`];
  }
  return undefined;
}

function refuse(socket: Duplex, status: number, code: string, message: string): void {
  const reasons: Record<number, string> = { 400: 'Bad Request', 403: 'Forbidden', 404: 'Not Found' };
  const body = JSON.stringify({ error: code, message });
  const head = [
    `HTTP/1.1 ${status} ${reasons[status] ?? 'Service Unavailable'}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

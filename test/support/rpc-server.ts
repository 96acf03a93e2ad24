// A small realtime server whose every step a test decides: for the client's behaviour when connections fail.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';

export interface Frame {
  id?: number;
  method: string;
  params: Record<string, unknown>;
}

export interface Peer {
  /** The connection's number, from 1. */
  number: number;
  notify(method: string, params: object): void;
  reply(frame: Frame, result: object): void;
  refuse(frame: Frame, code: number, message?: string, data?: object): void;
  /** Ends the connection without a closing handshake. */
  drop(): void;
  close(code: number): void;
}

export interface RpcServer {
  address: string;
  /** Every frame received, in order. */
  frames: (Frame & { peer: number })[];
  protocols: string[];
  close(): Promise<void>;
}

/** `handle` sees each frame; `auth` is answered here unless it is handled (returns true). */
export async function startRpcServer(
  handle: (frame: Frame, peer: Peer) => boolean | void,
  port = 0,
): Promise<RpcServer> {
  const http = createServer();
  const sockets = new WebSocketServer({
    server: http,
    path: '/rpc',
    handleProtocols: (offered) => (offered.has('ballet.v1.json') ? 'ballet.v1.json' : false),
  });
  const frames: RpcServer['frames'] = [];
  const protocols: string[] = [];
  let connections = 0;
  sockets.on('connection', (socket) => {
    const peer = peerOf(socket, ++connections);
    protocols.push(socket.protocol);
    socket.on('message', (data) => {
      const frame = JSON.parse(String(data)) as Frame;
      frames.push({ ...frame, peer: peer.number });
      if (handle(frame, peer)) return;
      if (frame.method === 'auth') peer.reply(frame, { subject: 'ada', expires_at: '2030-01-01T00:00:00.000Z' });
    });
  });
  await new Promise<void>((resolve) => http.listen(port, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    frames,
    protocols,
    async close() {
      for (const socket of sockets.clients) socket.terminate();
      sockets.close();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

function peerOf(socket: WebSocket, number: number): Peer {
  const send = (frame: object): void => socket.send(JSON.stringify({ jsonrpc: '2.0', ...frame }));
  return {
    number,
    notify: (method, params) => send({ method, params }),
    reply: (frame, result) => send({ id: frame.id, result }),
    refuse: (frame, code, message = 'refused', data) => send({ id: frame.id, error: { code, message, data } }),
    drop: () => socket.terminate(),
    close: (code) => socket.close(code),
  };
}

// A proxy that a test cuts or stalls, for connections that break while both ends are well.

import { connect as connectTcp, createServer, type AddressInfo, type Socket } from 'node:net';

export interface Proxy {
  address: string;
  port: number;
  /** Breaks all its connections; new ones are accepted. */
  cut(): void;
  /** Connections stay open, new ones too, and no byte passes: a network that swallows everything. */
  stall(): void;
  /** Bytes pass again. */
  resume(): void;
  close(): Promise<void>;
}

/** Passes bytes on to a port of this machine. */
export async function startProxy(port: number): Promise<Proxy> {
  const pairs = new Map<Socket, Socket>();
  let stalled = false;
  const server = createServer((near) => {
    const far = connectTcp(port, '127.0.0.1');
    for (const [from, to] of [[near, far], [far, near]] as const) {
      pairs.set(from, to);
      if (!stalled) from.pipe(to);
      from.on('error', () => undefined);
      from.on('close', () => (pairs.delete(from), to.destroy()));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => [...pairs.keys()].forEach((socket) => socket.destroy());
  const own = (server.address() as AddressInfo).port;
  return {
    address: `http://127.0.0.1:${own}`,
    port: own,
    cut,
    stall: () => {
      stalled = true;
      for (const [from, to] of pairs) from.unpipe(to).pause();
    },
    resume: () => {
      stalled = false;
      for (const [from, to] of pairs) from.pipe(to);
    },
    close: () => (cut(), new Promise((resolve) => server.close(() => resolve()))),
  };
}

// A proxy that a test cuts, for connections that break while both ends are well.

import { connect as connectTcp, createServer, type AddressInfo, type Socket } from 'node:net';

export interface Proxy {
  address: string;
  /** Breaks all its connections; new ones are accepted. */
  cut(): void;
  close(): Promise<void>;
}

/** Passes bytes on to a port of this machine. */
export async function startProxy(port: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connectTcp(port, '127.0.0.1');
    for (const [from, to] of [[near, far], [far, near]] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on('error', () => undefined);
      from.on('close', () => (sockets.delete(from), to.destroy()));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => sockets.forEach((socket) => socket.destroy());
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    close: () => (cut(), new Promise((resolve) => server.close(() => resolve()))),
  };
}

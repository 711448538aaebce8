import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/**
 * A TCP proxy in front of a server. When the test shuts the gate, it breaks open connections and accepts no new ones.
 */
export async function startGate(address: string) {
  const [hostname, port] = address.split(':');
  const pairs = new Set<Socket>();
  let isOpen = true;
  const server = createServer((near) => {
    if (!isOpen) return near.destroy();
    const far = connect(Number(port), hostname);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      pairs.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        pairs.delete(socket);
        other.destroy();
      });
    }
    near.pipe(far).pipe(near);
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  function shut(): void {
    isOpen = false;
    for (const socket of pairs) socket.destroy();
  }

  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    shut,
    open: () => void (isOpen = true),
    close(): Promise<void> {
      shut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

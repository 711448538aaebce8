import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export type StoreLink = Awaited<ReturnType<typeof startStoreLink>>;

/**
 * A link to the MongoDB server that a test can break: as a whole, or only for commands on one collection. It counts the
 * messages that name a collection.
 */
export async function startStoreLink(serverUri: string) {
  const server = new URL(serverUri);
  const sockets = new Set<Socket>();
  const counts = new Map<string, number>();
  let isBroken = false;
  let brokenFor: string | undefined;
  let isHeld = false;

  const link = createServer((client) => {
    if (isBroken) {
      client.destroy();
      return;
    }
    const upstream = connect(Number(server.port), server.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (bytes) => {
      for (const name of counts.keys()) if (bytes.includes(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
      if (brokenFor !== undefined && bytes.includes(brokenFor)) client.destroy();
      else upstream.write(bytes);
    });
    upstream.on('data', (bytes) => isHeld || client.write(bytes));
  });
  await new Promise<void>((resolve) => link.listen(0, '127.0.0.1', resolve));
  const { port } = link.address() as AddressInfo;

  return {
    uri: (database: string, options = '') => `mongodb://127.0.0.1:${port}/${database}${options}`,
    /** Breaks every connection whose command names the collection. */
    breakFor: (collection: string) => void (brokenFor = collection),
    breakAll(): void {
      isBroken = true;
      for (const socket of sockets) socket.destroy();
    },
    /** Withholds all responses; those of this time are lost. */
    hold: () => void (isHeld = true),
    repair(): void {
      isHeld = false;
      isBroken = false;
      brokenFor = undefined;
    },
    /** Counts messages that name the collection from now on. @returns the count so far */
    countOf(collection: string): () => number {
      counts.set(collection, 0);
      return () => counts.get(collection) ?? 0;
    },
    async close(): Promise<void> {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => link.close(resolve));
    },
  };
}

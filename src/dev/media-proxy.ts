import { connect, createServer, type Socket } from 'node:net';

export interface MediaProxy {
  close: () => Promise<void>;
}

/**
 * Distributes connections over the media processes round-robin, as a load balancer does in production.
 * @param p.ports of the media processes; a port that rejects a connection is skipped
 */
export async function startMediaProxy(p: {
  host: string;
  port: number;
  ports: readonly number[];
}): Promise<MediaProxy> {
  const sockets = new Set<Socket>();
  let turn = 0;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.once('close', () => sockets.delete(socket));
    // The closing of a client's socket also closes its socket to the media process, and the reverse.
    socket.on('error', () => socket.destroy());
  };

  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    keep(client);
    turn += 1;
    const inTurn = p.ports.map((_, index) => p.ports[(turn + index) % p.ports.length]);
    void firstThatTakes(inTurn).then((media) => {
      if (media === undefined || client.destroyed) {
        client.destroy();
        media?.destroy();
        return;
      }
      keep(media);
      client.pipe(media).pipe(client);
      client.once('close', () => media.destroy());
      media.once('close', () => client.destroy());
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(p.port, p.host, resolve);
  });
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

async function firstThatTakes(ports: readonly (number | undefined)[]): Promise<Socket | undefined> {
  for (const port of ports) {
    if (port === undefined) continue;
    const socket = await tryConnect(port);
    if (socket !== undefined) return socket;
  }
  return undefined;
}

function tryConnect(port: number): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.once('connect', () => resolve(socket));
    socket.once('error', () => resolve(undefined));
  });
}

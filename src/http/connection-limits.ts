import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface ConnectionLimits {
  /** Requests of one connection in flight. Browsers and most clients send one at a time. */
  maxInFlight: number;
  /** A connection with output that its client does not read is closed after so many ms. */
  unreadForMs: number;
}

/** Bytes; the shortest request has 18. */
const PARSED_AT_ONCE = 1_024;

const DEFAULT_LIMITS: ConnectionLimits = { maxInFlight: 16, unreadForMs: 30_000 };

interface Connection {
  inFlight: number;
  /** What has left the process, to see whether more has. */
  sent: string;
  /** When more had left, or nothing was waiting; ms since the epoch. */
  progressedAt: number;
}

/**
 * Bounds what a client can make a server hold for it: HTTP/1.1 lets it send any number of requests without reading one
 * response. Event streams may last, since they have no output waiting as long as their client reads.
 */
export function limitConnections(server: Server, given: Partial<ConnectionLimits> = {}) {
  const { maxInFlight, unreadForMs } = { ...DEFAULT_LIMITS, ...given };
  const connections = new Map<Socket, Connection>();

  server.on('connection', (socket: Socket) => {
    connections.set(socket, { inFlight: 0, sent: '', progressedAt: Date.now() });
    parseInParts(socket);
    socket.once('close', () => connections.delete(socket));
  });
  const timer = setInterval(closeUnread, unreadForMs / 4);
  timer.unref();
  server.once('close', () => clearInterval(timer));

  function closeUnread(): void {
    const now = Date.now();
    for (const [socket, connection] of connections) {
      const sent = sentBy(socket);
      if (socket.writableLength === 0 || sent !== connection.sent) {
        connection.sent = sent;
        connection.progressedAt = now;
      } else if (now - connection.progressedAt >= unreadForMs) socket.destroy();
    }
  }

  return {
    /**
     * Counts a request until its response has been sent.
     * @returns false when the connection is closed, or has too many requests in flight and is closed for it: its client
     *   does not wait for responses, and an answer to each would be what it is after
     */
    admit(req: IncomingMessage, res: ServerResponse): boolean {
      const connection = connections.get(req.socket);
      // Requests that came in one piece are still parsed when their connection is closed already.
      if (connection === undefined || req.socket.destroyed) return false;
      if (connection.inFlight >= maxInFlight) {
        req.socket.destroy();
        return false;
      }
      connection.inFlight += 1;
      res.once('close', () => (connection.inFlight -= 1));
      return true;
    },
  };
}

/**
 * Hands what arrives to the parser in small parts. The parser makes requests of all that it is given, also when the first of
 * them has closed the connection, and 64 KiB may hold 2,600 of them.
 */
function parseInParts(socket: Socket): void {
  // Node's own listener. Where a later release reads in another way, there is none and nothing changes.
  const [parse] = socket.listeners('data');
  if (parse === undefined || socket.listenerCount('data') !== 1) return;
  socket.removeListener('data', parse as (chunk: Buffer) => void);
  socket.on('data', (chunk: Buffer) => {
    // Nothing that comes behind the last answer is read.
    for (let at = 0; at < chunk.length && socket.writable; at += PARSED_AT_ONCE) {
      // Node pauses a connection whose output is full, and its parser does not take bytes meanwhile.
      if (socket.isPaused()) return void socket.unshift(chunk.subarray(at));
      parse.call(socket, chunk.subarray(at, at + PARSED_AT_ONCE));
    }
  });
}

/** Changes whenever the kernel takes more of a socket's output, also in the middle of a large write. */
function sentBy(socket: Socket): string {
  const { _handle: handle } = socket as { _handle?: { writeQueueSize?: number } | null };
  return `${socket.bytesWritten - socket.writableLength}:${handle?.writeQueueSize ?? 0}`;
}

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface ConnectionLimits {
  /** Maximum concurrent requests on one connection. Browsers and most clients send one at a time. */
  maxInFlight: number;
  /** Close a connection when output is pending and the client has read nothing for this time, in ms. */
  unreadForMs: number;
  /** Close a connection when the same output has been pending for this time in ms, even if the client reads slowly. */
  readWithinMs: number;
}

const DEFAULT_LIMITS: ConnectionLimits = { maxInFlight: 16, unreadForMs: 30_000, readWithinMs: 60_000 };

interface Connection {
  inFlight: number;
  /** How much output the kernel has accepted, to detect progress. */
  sent: string;
  /** Last time at which there was progress, or no pending output; ms since the epoch. */
  progressedAt: number;
  /** The client must have read this number of bytes by this time, in ms since the epoch. */
  due: { bytes: number; by: number };
}

/**
 * Limits how much output a client can make a server buffer. With HTTP/1.1 a client can send any number of requests
 * without reading a response, or read a large response a few bytes at a time. Streams may last as long as the client
 * reads fast enough.
 */
export function limitConnections(server: Server, given: Partial<ConnectionLimits> = {}) {
  const { maxInFlight, unreadForMs, readWithinMs } = { ...DEFAULT_LIMITS, ...given };
  const connections = new Map<Socket, Connection>();

  server.on('connection', (socket: Socket) => {
    connections.set(socket, { inFlight: 0, sent: '', progressedAt: Date.now(), due: { bytes: 0, by: 0 } });
    socket.once('close', () => connections.delete(socket));
  });
  const timer = setInterval(closeUnread, Math.min(unreadForMs, readWithinMs) / 4);
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
      const { bytesWritten, writableLength } = socket;
      if (bytesWritten - writableLength >= connection.due.bytes) {
        connection.due = { bytes: bytesWritten, by: now + readWithinMs };
      } else if (now >= connection.due.by) socket.destroy();
    }
  }

  return {
    /**
     * Counts a request until its response has been sent.
     * @returns false if the connection is closed, or has too many requests in flight. In the second case it is closed
     * without a response, because answering a client that reads none would only help an attack.
     */
    admit(req: IncomingMessage, res: ServerResponse): boolean {
      const connection = connections.get(req.socket);
      // Requests that arrived in one chunk are still parsed after their connection was closed.
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

/** Returns a value that changes when the kernel accepts more of a socket's output, even during a large write. */
function sentBy(socket: Socket): string {
  const { _handle: handle } = socket as { _handle?: { writeQueueSize?: number } | null };
  return `${socket.bytesWritten - socket.writableLength}:${handle?.writeQueueSize ?? 0}`;
}

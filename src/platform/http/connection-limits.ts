import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { parseInParts } from '../egress/parse-in-parts.js';

export interface ConnectionLimits {
  /** Concurrent requests on one connection. Browsers and most clients send one at a time. */
  maxInFlight: number;
  /** Close a connection whose client has read nothing of pending output for this time. */
  unreadForMs: number;
  /** Close a connection with output that has been pending for this time, even if the client reads slowly. */
  readWithinMs: number;
}

const DEFAULT_LIMITS: ConnectionLimits = { maxInFlight: 16, unreadForMs: 30_000, readWithinMs: 60_000 };

interface Connection {
  inFlight: number;
  /** Output that the kernel has accepted, to detect progress. */
  sent: string;
  /** Last time with progress or no pending output; ms since the epoch. */
  progressedAt: number;
  /** Bytes that had been written when the deadline was set; the client must have read them by then. */
  due: { bytes: number; by: number };
}

/**
 * Limits what a client can make a server buffer: with HTTP/1.1 it can send any number of requests without reading a
 * response, or read a large one a few bytes at a time. Streams may last as long as the client keeps up.
 */
export function limitConnections(server: Server, given: Partial<ConnectionLimits> = {}) {
  const { maxInFlight, unreadForMs, readWithinMs } = { ...DEFAULT_LIMITS, ...given };
  const connections = new Map<Socket, Connection>();

  parseInParts(server);
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
     * @returns false if the connection is closed, or has too many requests in flight and is closed for it, because
     *   answering a client that reads no responses would only help an attack
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

/** Changes whenever the kernel accepts more of a socket's output, even in the middle of a large write. */
function sentBy(socket: Socket): string {
  const { _handle: handle } = socket as { _handle?: { writeQueueSize?: number } | null };
  return `${socket.bytesWritten - socket.writableLength}:${handle?.writeQueueSize ?? 0}`;
}

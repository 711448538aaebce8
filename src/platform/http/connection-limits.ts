import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { parseInParts } from '../egress/parse-in-parts.js';

export interface ConnectionLimits {
  /** Requests of one connection in flight. Browsers and most clients send one at a time. */
  maxInFlight: number;
  /** A connection with output that its client does not read is closed after so many ms. */
  unreadForMs: number;
  /** So is one of which some output has waited for so many ms, although other output was read. */
  readWithinMs: number;
}

const DEFAULT_LIMITS: ConnectionLimits = { maxInFlight: 16, unreadForMs: 30_000, readWithinMs: 60_000 };

interface Connection {
  inFlight: number;
  /** What has left the process, to see whether more has. */
  sent: string;
  /** When more had left, or nothing was waiting; ms since the epoch. */
  progressedAt: number;
  /** What had been written when the deadline was set: that much must have left by then. */
  due: { bytes: number; by: number };
}

/**
 * Bounds what a client can make a server hold for it: HTTP/1.1 lets it send any number of requests without reading one
 * response, or take a large one in a few bytes at a time. Streams may last as long as their client keeps up with them.
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

/** Changes whenever the kernel takes more of a socket's output, also in the middle of a large write. */
function sentBy(socket: Socket): string {
  const { _handle: handle } = socket as { _handle?: { writeQueueSize?: number } | null };
  return `${socket.bytesWritten - socket.writableLength}:${handle?.writeQueueSize ?? 0}`;
}

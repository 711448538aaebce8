import { createServer, STATUS_CODES } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { clientOf } from '../../platform/egress/client-address.js';
import { parseInParts } from '../../platform/egress/parse-in-parts.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import { createConnectionGate } from './connection-gate.js';
import { MAX_STREAMS } from './stream-places.js';

/**
 * Connections without a verified signature. One address may have as many as a process has calls, because they all
 * reconnect at once when another process dies.
 */
const MAX_STRANGERS = { perClient: 1_000, total: 2_000 };
/** More than both limits together, so that the oldest unverified connection is dropped and not the newest refused. */
const MAX_CONNECTIONS = MAX_STREAMS.all + MAX_STRANGERS.total + 100;
const HTTP_LIMITS = {
  maxHeaderSize: 8_192,
  headersTimeout: 2_000,
  requestTimeout: 5_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 500,
};

/** The HTTP server of a media server: health checks, WebSocket upgrades, and limits for unverified connections. */
export function createMediaFront(p: {
  /** Whether a proxy in front sets the client's address. */
  trustProxy: boolean;
  health: () => { closing: boolean; calls: number };
  onUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  logger: Logger;
}) {
  const { trustProxy, logger } = p;
  const server = createServer(HTTP_LIMITS, answer);
  server.maxHeadersCount = 100;
  server.maxConnections = MAX_CONNECTIONS;
  const gate = createConnectionGate(MAX_STRANGERS);
  parseInParts(server);
  const answered = new WeakSet<Duplex>();

  function answer(request: IncomingMessage, response: ServerResponse): void {
    // One response per connection: a further request destroys it.
    if (answered.has(request.socket)) return void request.socket.destroy();
    answered.add(request.socket);
    identify(request);
    const isHealth = request.url === '/health' && (request.method === 'GET' || request.method === 'HEAD');
    const { closing, calls } = p.health();
    const status = isHealth ? (closing ? 503 : 200) : 404;
    const body = isHealth
      ? { status: closing ? 'closing' : 'ok', calls }
      : { success: false, message: 'There is nothing at this path.', error_code: 'NOT_FOUND' };
    // Close the connection, so that no request body is read to its end.
    response.writeHead(status, {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      connection: 'close',
    });
    response.end(JSON.stringify(body));
  }

  /** Sets the client of the connection; behind a proxy only the request's headers name it. */
  function identify(request: IncomingMessage): void {
    const { remoteAddress } = request.socket;
    const forwardedFor = request.headers['x-forwarded-for'];
    gate.identify(request.socket, clientOf({ forwardedFor: String(forwardedFor ?? ''), remoteAddress, trustProxy }));
  }

  server.on('connection', (socket) => {
    const { remoteAddress } = socket;
    const own = trustProxy ? undefined : clientOf({ forwardedFor: '', remoteAddress, trustProxy: false });
    gate.enter(socket, own);
  });
  server.on('upgrade', (request, socket, head) => {
    identify(request);
    socket.on('error', (error) => logger.debug({ err: error }, 'an upgrade broke off'));
    p.onUpgrade(request, socket, head);
  });

  return {
    /** Stops counting the socket as unverified. */
    welcome: (socket: Duplex) => gate.leave(socket),

    /** @returns the port, which the system chooses for port 0 */
    async listen({ port, host }: { port: number; host: string }): Promise<number> {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => {
          server.off('error', reject);
          resolve();
        });
      });
      return (server.address() as AddressInfo).port;
    },

    /** Refuses new connections. @returns a promise that resolves when the last one is closed */
    stop(): Promise<void> {
      const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      return stopped;
    },

    closeAll: () => server.closeAllConnections(),
  };
}

/** Answers an upgrade request with an HTTP error status. */
export function refuse(socket: Duplex, status: number, why: string): void {
  const body = JSON.stringify({ success: false, message: why });
  socket.once('finish', () => socket.destroy());
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

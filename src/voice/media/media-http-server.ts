import { noSuchEndpoint } from '../../kernel/common-errors.js';
import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { clientOf } from '../../platform/egress/client-address.js';
import { createHttpServer } from '../../platform/http/server/http-server.js';
import type { DependencyState } from '../../platform/telemetry/readiness.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import { createConnectionGate } from './connection-gate.js';
import { MAX_STREAMS } from './stream-slots.js';

/**
 * Limits of connections without a verified signature. One address may have as many connections as a process has calls,
 * because all calls of a process that died reconnect at once.
 */
const MAX_UNVERIFIED = { perClient: 1_000, total: 2_000 };
/**
 * Maximum connections. It exceeds the limits of streams and of unverified connections together, so that those limits
 * decide which connections are dropped.
 */
const MAX_CONNECTIONS = MAX_STREAMS.all + MAX_UNVERIFIED.total + 100;
const HTTP_LIMITS = {
  maxHeaderSize: 8_192,
  headersTimeout: 2_000,
  requestTimeout: 5_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 500,
};

/** `stopping`: the process stops. `full`: it carries as many calls as it may. `unavailable`: MongoDB does not respond. */
export interface MediaReadiness {
  status: 'ready' | 'stopping' | 'full' | 'unavailable';
  mongodb: DependencyState;
}

/** The HTTP server of a media server: health checks, WebSocket upgrades, and limits for unverified connections. */
export function createMediaHttpServer(p: {
  /** Whether a proxy in front sets the client's address. */
  trustProxy: boolean;
  health: () => { closing: boolean; calls: number };
  /** Whether the server should get new streams. Never rejects. */
  checkReadiness: () => Promise<MediaReadiness>;
  /** @param client the client's address, as returned by `clientOf` */
  onUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer, client: string) => void;
  logger: Logger;
}) {
  const { trustProxy, logger } = p;
  const server = createHttpServer(HTTP_LIMITS, answer);
  server.maxHeadersCount = 100;
  server.maxConnections = MAX_CONNECTIONS;
  const gate = createConnectionGate(MAX_UNVERIFIED);
  const answered = new WeakSet<Duplex>();

  function answer(request: IncomingMessage, response: ServerResponse): void {
    // Send only one response per connection. A second request destroys the connection.
    if (answered.has(request.socket)) return void request.socket.destroy();
    answered.add(request.socket);
    identify(request);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const check = isRead ? CHECKS[request.url ?? ''] : undefined;
    if (check === undefined) {
      return respond(response, 404, { success: false, message: noSuchEndpoint().message, error_code: 'NOT_FOUND' });
    }
    const { headers, socket } = request;
    const isLocal = isFromSameMachine({ headers, remoteAddress: socket.remoteAddress });
    void check(isLocal).then(({ status, body }) => respond(response, status, body));
  }

  const CHECKS: Readonly<Record<string, (isLocal: boolean) => Promise<{ status: number; body: object }>>> = {
    '/health': async (isLocal) => {
      const { closing, calls } = p.health();
      const body = { status: closing ? 'closing' : 'ok', ...(isLocal ? { calls } : {}) };
      return { status: closing ? 503 : 200, body };
    },
    '/health/live': async () => ({ status: 200, body: { status: 'live' } }),
    '/health/ready': async () => {
      const readiness = await p.checkReadiness();
      return { status: readiness.status === 'ready' ? 200 : 503, body: readiness };
    },
  };

  /**
   * Records the client's address of a connection, and returns it. Behind a proxy, only the request's headers contain the
   * address.
   */
  function identify(request: IncomingMessage): string {
    const { remoteAddress } = request.socket;
    const forwardedFor = request.headers['x-forwarded-for'];
    const client = clientOf({ forwardedFor: String(forwardedFor ?? ''), remoteAddress, trustProxy });
    gate.identify(request.socket, client);
    return client;
  }

  server.on('connection', (socket) => {
    const { remoteAddress } = socket;
    const own = trustProxy ? undefined : clientOf({ forwardedFor: '', remoteAddress, trustProxy: false });
    gate.enter(socket, own);
  });
  server.on('upgrade', (request, socket, head) => {
    const client = identify(request);
    socket.on('error', (error) => logger.debug({ err: error }, 'WebSocket upgrade aborted'));
    p.onUpgrade(request, socket, head, client);
  });

  return {
    /** Stops counting the socket as unverified. */
    markVerified: (socket: Duplex) => gate.leave(socket),

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

    /** Stops accepting connections. @returns a promise that resolves when the last one is closed */
    stop(): Promise<void> {
      const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      return stopped;
    },

    closeAll: () => server.closeAllConnections(),
  };
}

function respond(response: ServerResponse, status: number, body: object): void {
  // Close the connection, so that no request body is read to its end.
  response.writeHead(status, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    connection: 'close',
  });
  response.end(JSON.stringify(body));
}

/**
 * Whether a request comes from the same machine, without a proxy. Only such requests learn how many calls there are,
 * because the port is public.
 */
export function isFromSameMachine(request: {
  headers: IncomingMessage['headers'];
  remoteAddress: string | undefined;
}): boolean {
  const { headers, remoteAddress = '' } = request;
  const isForwarded = ['x-forwarded-for', 'x-real-ip', 'forwarded', 'via'].some((name) => headers[name] !== undefined);
  return !isForwarded && /^(?:(?:::ffff:)?127\.[\d.]+|::1)$/.test(remoteAddress);
}

/** Answers an upgrade request with an HTTP error status. */
export function rejectUpgrade(socket: Duplex, status: number, why: string): void {
  const body = JSON.stringify({ success: false, message: why });
  socket.once('finish', () => socket.destroy());
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

import { createCallGate } from '../calls/wiring.js';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { ERRORS, errorDocsUrl, errorObject } from '../platform/http/contract/errors.js';
import { ServiceError, type ErrorCode } from '../kernel/errors.js';
import { hostnameOf, isLoopbackHost } from '../platform/config/addresses.js';
import { createApp, type AppDeps } from './app.js';
import { limitConnections, type ConnectionLimits } from '../platform/http/connection-limits.js';
import { createMailer, type MailerDeps } from '../platform/mail/mailer.js';
import { createRequestIds } from '../platform/http/request-id.js';
import { closeSoon } from '../platform/http/server/close-soon.js';
import { createHttpServer } from '../platform/http/server/http-server.js';
import { SECURITY_HEADERS } from '../platform/http/security.js';

/** Requests are small and fast, so a client that sends slowly is disconnected. */
const LIMITS = {
  maxHeaderSize: 8_192,
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  connectionsCheckingInterval: 1_000,
  // The handler below responds to a missing Host header with the usual error object.
  requireHostHeader: false,
} as const;
/**
 * How long an idle connection is kept. Load balancers keep theirs for 60 s or less and must close them first: a request
 * that arrives on a connection that is being closed is lost.
 */
const KEEP_ALIVE_MS = { behindProxy: 75_000, direct: 5_000 };
const MAX_CONNECTIONS = 10_000;
const MAX_HEADERS = 100;
const MAX_REQUESTS_PER_SOCKET = 1_000;

/** Time for requests in progress to finish when the server closes. */
const CLOSE_TIMEOUT_MS = 5_000;

/**
 * Creates the HTTP server of the API role.
 * @param limits tests pass these to replace the default limits
 */
export function createApiServer(
  deps: Omit<AppDeps, 'dialGate' | 'mailer'> & MailerDeps,
  limits: Partial<ConnectionLimits> = {},
): {
  /** @returns the port, which the system chooses if the configured one is 0 */
  listen(): Promise<{ port: number }>;
  /**
   * Serves for the drain delay while it is not ready, then stops accepting requests, lets those in progress finish for at
   * most 5 s, and waits for e-mails being sent.
   */
  close(): Promise<void>;
} {
  const dialGate = createCallGate(deps);
  const mailer = createMailer(deps);
  let draining = false;
  const handle = createApp({ ...deps, dialGate, mailer, isDraining: () => draining }).callback();
  const keepAliveTimeout = deps.config.api.trustProxy ? KEEP_ALIVE_MS.behindProxy : KEEP_ALIVE_MS.direct;
  const server = createHttpServer({ ...LIMITS, keepAliveTimeout }, handleRequest);
  const connections = limitConnections(server, limits);
  const exchanges = new WeakMap<Duplex, Exchange>();
  const bareError = createBareErrors(errorDocsUrl(deps.config));

  function handleRequest(req: IncomingMessage, res: ServerResponse): void {
    if (!connections.admit(req, res)) return;
    exchanges.set(req.socket, { req, res });
    // A pipelined response has a socket only when it is its turn. If the connection ends before, Node closes the socket but
    // not the response, so nothing may be acquired for it yet.
    if (res.socket === null) res.once('socket', () => respond(req, res));
    else respond(req, res);
  }

  function respond(req: IncomingMessage, res: ServerResponse): void {
    // The client then opens its next connection elsewhere, before this process stops.
    if (draining) res.setHeader('Connection', 'close');
    const fault = hostFault(req, deps.config.api.hosts) ?? targetFault(req);
    // Koa responds to every failure itself; the promise never rejects.
    if (fault === undefined) return void handle(req, res);
    const { status, body, headers } = bareError(new ServiceError('MISSING_PARAMS', fault));
    res.writeHead(status, headers).end(body);
  }

  /** Responds to malformed HTTP, oversized headers and incomplete requests, which reach no handler. */
  function respondToClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const last = exchanges.get(socket);
    if (last !== undefined && isAnsweringEarlier(last)) return endAfter(last, socket);
    const { status, reason, code, message } = clientErrorOf(error);
    const { body, headers } = bareError(new ServiceError(code, message));
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    socket.end(`HTTP/1.1 ${status} ${reason}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
    closeSoon(socket);
  }

  server.maxConnections = MAX_CONNECTIONS;
  server.maxHeadersCount = MAX_HEADERS;
  server.maxRequestsPerSocket = MAX_REQUESTS_PER_SOCKET;
  server.on('clientError', respondToClientError);
  server.on('checkExpectation', handleRequest);

  return {
    async listen() {
      const { host, port } = deps.config.api;
      await dialGate.loadNumberingPlans();
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => {
          server.off('error', reject);
          resolve();
        });
      });
      return { port: (server.address() as AddressInfo).port };
    },
    async close() {
      draining = true;
      await sleep(deps.config.drainDelayMs);
      await closeServer(server);
      await mailer.close();
    },
  };
}

/** A request and its response. */
interface Exchange {
  req: IncomingMessage;
  res: ServerResponse;
}

/**
 * Whether a connection still has to send the response to an earlier request than the one that is malformed. The client would take an
 * error for that response, or for a part of it.
 */
function isAnsweringEarlier({ req, res }: Exchange): boolean {
  return !res.writableFinished && (res.headersSent || req.complete);
}

/** Reads nothing more from a connection, and closes it after the response. A response without a known end is cut off. */
function endAfter({ res }: Exchange, socket: Duplex): void {
  if (res.headersSent && !res.writableEnded) {
    socket.destroy();
    return;
  }
  socket.pause();
  if (!res.headersSent) res.setHeader('Connection', 'close');
  res.once('finish', () => closeSoon(socket));
}

/**
 * Returns an error message for an invalid Host header, otherwise undefined. A repeated header is invalid, because
 * servers and proxies disagree on which of the two counts.
 * @param accepted allowed host names besides the loopback ones; undefined: any
 */
function hostFault(req: IncomingMessage, accepted: readonly string[] | undefined): string | undefined {
  const hosts = req.headersDistinct['host'] ?? [];
  if (hosts.length > 1) return 'The Host header must occur once.';
  const [host] = hosts;
  if (host === undefined) return req.httpVersion === '1.1' ? 'The Host header is missing.' : undefined;
  if (accepted === undefined || isLoopbackHost(host) || accepted.includes(hostnameOf(host))) return undefined;
  return 'The Host header must be localhost, 127.0.0.1, [::1] or the host of PUBLIC_BASE_URL: this service runs in development mode.';
}

/**
 * Returns an error message unless the request target is a path. An absolute URL may name another host than the Host
 * header.
 */
function targetFault({ url = '' }: IncomingMessage): string | undefined {
  return url.startsWith('/') || url === '*' ? undefined : 'The request target must be a path that begins with /.';
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const force = setTimeout(() => server.closeAllConnections(), CLOSE_TIMEOUT_MS);
    server.close(() => {
      clearTimeout(force);
      resolve();
    });
    server.closeIdleConnections();
  });
}

function clientErrorOf(error: NodeJS.ErrnoException): {
  status: number;
  reason: string;
  code: ErrorCode;
  message: string;
} {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return {
        status: 431,
        reason: 'Request Header Fields Too Large',
        code: 'PAYLOAD_TOO_LARGE',
        message: `The request headers must have at most ${LIMITS.maxHeaderSize} bytes.`,
      };
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return {
        status: 408,
        reason: 'Request Timeout',
        code: 'MISSING_PARAMS',
        message: 'The request did not arrive completely in time.',
      };
    case 'ERR_SMALL_CHUNKS':
      return {
        status: 400,
        reason: 'Bad Request',
        code: 'MISSING_PARAMS',
        message: 'The request body comes in too many small chunks: send it with a Content-Length or in larger chunks.',
      };
    default:
      return { status: 400, reason: 'Bad Request', code: 'MISSING_PARAMS', message: 'The request is not valid HTTP.' };
  }
}

/** Creates the function that builds the responses to requests that reach no handler. */
function createBareErrors(errorDocs: string) {
  const newRequestId = createRequestIds();
  return (error: ServiceError) => {
    const requestId = newRequestId();
    const body = JSON.stringify(errorObject(error, { requestId, errorDocs }));
    const headers: Record<string, string> = {
      ...SECURITY_HEADERS,
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': String(Buffer.byteLength(body)),
      Connection: 'close',
      'X-Request-Id': requestId,
    };
    return { status: ERRORS[error.code].status, body, headers };
  };
}

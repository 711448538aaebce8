import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostnameOf, isLoopbackHost } from '../../platform/config/addresses.js';
import { readBodyUpTo } from '../../platform/http/server/body-bytes.js';
import { createHttpServer } from '../../platform/http/server/http-server.js';
import { isFromWebPage } from '../../platform/http/web-pages.js';
import { isEventOfItsCall, isSignedBy } from './webhook-signature.js';

/** A received delivery and its result. */
export interface Received {
  received_at: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** The body as parsed JSON, or as text if it is not JSON. */
  body: unknown;
  /** Absent if no secret was given. */
  signature?: 'valid' | 'invalid';
  /** The status returned to the service. */
  status: number;
  /** Duration of the forwarded request, in ms. */
  duration_ms?: number;
  /** Why forwarding failed. */
  error?: string;
}

export interface WebhookListener {
  url: string;
  close: () => Promise<void>;
}

const LARGEST_BODY = 1_048_576;
const LARGEST_RESPONSE = 65_536;
/** Timeout of forwarding. It is less than the 5 s that the service waits for each attempt. */
const FORWARD_TIMEOUT_MS = 4_500;
const CONNECTIONS = 100;

/** Headers not to forward, because they belong to one connection or the forwarded request sets them. */
const HOP_HEADERS = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Starts a local webhook receiver. It forwards deliveries to the target and returns the target's response, so that the
 * service retries as it would in production.
 * @throws Error with the system's error code when the port is not available
 */
export async function startWebhookListener(p: {
  port: number;
  forwardTo?: string;
  secret?: Buffer;
  /** The host name of a tunnel, to be accepted in addition to loopback names. */
  acceptedHost?: string;
  onReceived: (received: Received) => void;
}): Promise<WebhookListener> {
  const server = createHttpServer({ requestTimeout: 10_000 }, (request, response) => {
    void take(request, response).catch(() => request.destroy());
  });
  server.maxConnections = CONNECTIONS;

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') {
      response.writeHead(405, { allow: 'POST' }).end();
      return;
    }
    if (!isForUs(request.headers, p.acceptedHost)) {
      response.writeHead(403, { connection: 'close' }).end();
      return;
    }
    const raw = await readBodyUpTo(LARGEST_BODY, request);
    if (raw === undefined) {
      response.writeHead(413, { connection: 'close' }).end();
      return;
    }
    const { headers, url: path = '/' } = request;
    const received = { received_at: new Date().toISOString(), path, headers, body: parse(raw) };
    const signed =
      p.secret === undefined
        ? undefined
        : isSignedBy(p.secret, headers, raw.toString()) && isEventOfItsCall(headers, received.body);
    const signature = signed === undefined ? {} : { signature: signed ? ('valid' as const) : ('invalid' as const) };
    const { body, ...outcome } =
      signed === false
        ? { status: 401, body: Buffer.alloc(0) }
        : p.forwardTo === undefined
          ? { status: 204, body: Buffer.alloc(0) }
          : await forward(p.forwardTo, headers, raw);
    response.writeHead(outcome.status).end(body);
    p.onReceived({ ...received, ...signature, ...outcome });
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(p.port, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Whether to accept a request. Rejects those of web pages, even if a foreign DNS name points to this machine. */
function isForUs(headers: IncomingHttpHeaders, acceptedHost: string | undefined): boolean {
  const { host = '' } = headers;
  if (isFromWebPage(headers) || !/^[\w.:[\]-]+$/.test(host)) return false;
  return isLoopbackHost(host) || (acceptedHost !== undefined && hostnameOf(host) === acceptedHost);
}

type Outcome = Pick<Received, 'status' | 'duration_ms' | 'error'> & { body: Buffer };

async function forward(url: string, headers: IncomingHttpHeaders, raw: Buffer): Promise<Outcome> {
  const began = performance.now();
  const duration = () => Math.round(performance.now() - began);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: passedOn(headers),
      body: new Uint8Array(raw),
      redirect: 'manual',
      signal: AbortSignal.timeout(FORWARD_TIMEOUT_MS),
    });
    const body = await readBodyUpTo(LARGEST_RESPONSE, response.body ?? []);
    return { status: response.status, body: body ?? Buffer.alloc(0), duration_ms: duration() };
  } catch (error) {
    const timedOut = error instanceof Error && error.name === 'TimeoutError';
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    const reason = timedOut ? 'timeout' : cause || 'the connection failed';
    return { status: timedOut ? 504 : 502, body: Buffer.alloc(0), duration_ms: duration(), error: reason };
  }
}

function passedOn(headers: IncomingHttpHeaders): Headers {
  const passed = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || HOP_HEADERS.has(name)) continue;
    for (const each of Array.isArray(value) ? value : [value]) passed.append(name, each);
  }
  return passed;
}

function parse(raw: Buffer): unknown {
  const text = raw.toString();
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

import type { Readable } from 'node:stream';
import { Agent, request } from 'undici';
import { loadTrustAnchors, type TrustAnchors } from './certificates/anchors.js';
import { createBoundedConnector } from './bounded-connection.js';
import { classifyFailure, type EgressFailure } from './failure.js';
import { createGuardedLookup, urlFault, type GuardConfig } from './guard.js';
import { createNameResolver, type ResolveName } from './name-resolver.js';

/** Maximum bytes of a response body. The request fails if the body is larger. */
export const MAX_RESPONSE_BYTES = 65_536;
/**
 * Maximum bytes that a server may send in total: informational responses, headers, the body and its framing in chunks.
 */
const MAX_RECEIVED_BYTES = 2 * MAX_RESPONSE_BYTES;
/** Maximum encrypted bytes that a server may send in total, including the TLS handshake. */
const MAX_WIRE_BYTES = 2 * MAX_RECEIVED_BYTES;
/** Time limit to read the body of an unsuccessful response, which only helps people to find the error. */
const REFUSAL_BODY_MS = 1_000;

export interface EgressRequest {
  /** Account that gave the URL. Slow name lookups of one account do not delay those of another. */
  accountId: string;
  method: 'GET' | 'POST';
  url: string;
  body?: string;
  headers: Record<string, string>;
  /** Timeout of the whole request, in ms: name lookup, connection, TLS, headers and body. */
  timeoutMs: number;
  /**
   * Maximum bytes of the response body to return. A successful response is read to its end anyway, to verify that it is
   * complete.
   */
  keepBytes: number;
}

export interface EgressResponse {
  /** A 2xx response, read to its end. */
  succeeded: boolean;
  durationMs: number;
  /** Why the request failed. */
  error?: EgressFailure;
  httpStatus?: number;
  /** The response headers by name, in lower case; several values of a name are a list. Absent without a response. */
  headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The first `keepBytes` of the response body. */
  body?: string;
}

export interface EgressClient {
  /** Sends one request. Never throws, and takes no longer than its timeout. The result reports any failure. */
  send(request: EgressRequest): Promise<EgressResponse>;
}

type UntimedResponse = Omit<EgressResponse, 'durationMs'>;

interface Exchange extends EgressRequest {
  agent: Agent;
  signal: AbortSignal;
  /** Set when the status line arrives, even if the rest never does. */
  httpStatus?: number;
}

/**
 * Creates a client for requests to servers that customers name and that are not trusted. It follows no redirects,
 * decompresses nothing, limits all bytes and times, and connects only to the address that it checked.
 */
export function createEgressClient(deps: { config: GuardConfig; resolve?: ResolveName }): EgressClient {
  const { config, resolve = createNameResolver(config.webhooks) } = deps;
  let anchors: TrustAnchors | undefined;
  return {
    async send(asked) {
      const startedAt = performance.now();
      const response = await attempt(asked);
      return { ...response, durationMs: Math.round(performance.now() - startedAt) };
    },
  };

  async function attempt(asked: EgressRequest): Promise<UntimedResponse> {
    // The lookup is not called for a literal IP address, so the URL is checked here for each request.
    if (urlFault('url', asked.url, config) !== undefined) return { succeeded: false, error: 'blocked' };
    const { accountId, timeoutMs } = asked;
    const signal = AbortSignal.timeout(timeoutMs);
    const lookup = createGuardedLookup(config, (name) => resolve(name, { accountId, signal }));
    // Use one connection per request, so that customers never share one, and a stale one cannot fail a delivery.
    const agent = new Agent({
      connect: createBoundedConnector({
        anchors: () => (anchors ??= loadTrustAnchors()),
        lookup,
        timeoutMs,
        signal,
        maxBytes: MAX_RECEIVED_BYTES,
        maxWireBytes: MAX_WIRE_BYTES,
      }),
      maxResponseSize: MAX_RESPONSE_BYTES,
      pipelining: 0,
    });
    const exchange: Exchange = { ...asked, agent, signal };
    try {
      // undici checks the signal only once it is connected. `Promise.race` also ends a slow lookup or handshake.
      return await Promise.race([run(exchange), aborted(signal)]);
    } catch (error) {
      const { httpStatus } = exchange;
      return { succeeded: false, error: classifyFailure(error), ...(httpStatus === undefined ? {} : { httpStatus }) };
    } finally {
      await agent.destroy();
    }
  }
}

async function run(exchange: Exchange): Promise<UntimedResponse> {
  const { method, url, body, headers, agent, signal, keepBytes } = exchange;
  const response = await request(url, {
    method,
    headers: { ...headers, 'accept-encoding': 'identity' },
    dispatcher: agent,
    signal,
    ...(body === undefined ? {} : { body }),
  });
  const { statusCode: httpStatus, headers: received } = response;
  exchange.httpStatus = httpStatus;
  if (httpStatus >= 200 && httpStatus < 300) {
    return { succeeded: true, httpStatus, headers: received, body: await readWhole(response.body, keepBytes) };
  }
  const error = httpStatus >= 300 && httpStatus < 400 ? 'redirect' : 'status';
  return { succeeded: false, httpStatus, error, headers: received, body: await readStart(response.body, keepBytes) };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

/** Reads the body to its end, to detect a truncated response, and returns its first `keepBytes` bytes. */
async function readWhole(body: Readable, keepBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of body as AsyncIterable<Buffer>) chunks.push(chunk);
  return beginningOf(chunks, keepBytes);
}

async function readStart(body: Readable, keepBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  const timer = setTimeout(() => body.destroy(), REFUSAL_BODY_MS);
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= keepBytes) break;
    }
  } catch {
    // The request has failed because of its status. Return the part of the body that arrived.
  } finally {
    clearTimeout(timer);
  }
  return beginningOf(chunks, keepBytes);
}

function beginningOf(chunks: Buffer[], keepBytes: number): string {
  return Buffer.concat(chunks).subarray(0, keepBytes).toString('utf8');
}

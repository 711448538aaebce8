import type { Readable } from 'node:stream';
import { Agent, request } from 'undici';
import { classifyFailure, type EgressFailure } from './failure.js';
import { createGuardedLookup, urlFault, type GuardConfig } from './guard.js';
import { createNameResolver, type ResolveName } from './name-resolver.js';

/** An endless answer is none. */
export const MAX_RESPONSE_BYTES = 65_536;
/** A refusal stands by its status; its body only helps people, and is waited for no longer than this. */
const REFUSAL_BODY_MS = 1_000;

export interface EgressRequest {
  /** Whose URL it is: names that one account gives delay no other account's. */
  accountId: string;
  method: 'GET' | 'POST';
  url: string;
  body?: string;
  headers: Record<string, string>;
  /** All of it: name lookup, connection, TLS, headers and body. */
  timeoutMs: number;
  /** How much of the answer is given back; more is read only to see that it is whole. */
  keepBytes: number;
}

export interface EgressAnswer {
  /** A 2xx, read to its end. */
  succeeded: boolean;
  durationMs: number;
  /** Why it did not. */
  error?: EgressFailure;
  httpStatus?: number;
  /** The first bytes of the answer. */
  body?: string;
}

export interface EgressClient {
  /** Sends one request. Never throws and takes no longer than its timeout: the answer says what came of it. */
  send(request: EgressRequest): Promise<EgressAnswer>;
}

type Answer = Omit<EgressAnswer, 'durationMs'>;

interface Exchange extends EgressRequest {
  agent: Agent;
  signal: AbortSignal;
  /** Known as soon as the status line is, also when the rest never comes. */
  httpStatus?: number;
}

/**
 * Sends requests to servers that customers name, without trusting them: no redirect is followed, nothing is
 * decompressed, every byte and second is bounded, and the address connected to is the one that was judged.
 */
export function createEgressClient(deps: { config: GuardConfig; resolve?: ResolveName }): EgressClient {
  const { config, resolve = createNameResolver(config.webhooks) } = deps;
  return {
    async send(asked) {
      const startedAt = performance.now();
      const answer = await attempt(asked);
      return { ...answer, durationMs: Math.round(performance.now() - startedAt) };
    },
  };

  async function attempt(asked: EgressRequest): Promise<Answer> {
    // A literal address never reaches the lookup, so the URL is judged again at each request.
    if (urlFault('url', asked.url, config) !== undefined) return { succeeded: false, error: 'blocked' };
    const { accountId, timeoutMs } = asked;
    const signal = AbortSignal.timeout(timeoutMs);
    const lookup = createGuardedLookup(config, (name) => resolve(name, { accountId, signal }));
    // One connection per request: none is shared with another customer, and no stale one can fail a delivery.
    const agent = new Agent({
      connect: { lookup, timeout: timeoutMs },
      maxResponseSize: MAX_RESPONSE_BYTES,
      pipelining: 0,
    });
    const exchange: Exchange = { ...asked, agent, signal };
    try {
      // undici looks at the signal only once it is connected; the race ends a slow lookup or handshake too.
      return await Promise.race([run(exchange), aborted(signal)]);
    } catch (error) {
      const { httpStatus } = exchange;
      return { succeeded: false, error: classifyFailure(error), ...(httpStatus === undefined ? {} : { httpStatus }) };
    } finally {
      await agent.destroy();
    }
  }
}

async function run(exchange: Exchange): Promise<Answer> {
  const { method, url, body, headers, agent, signal, keepBytes } = exchange;
  const response = await request(url, {
    method,
    headers: { ...headers, 'accept-encoding': 'identity' },
    dispatcher: agent,
    signal,
    ...(body === undefined ? {} : { body }),
  });
  const httpStatus = response.statusCode;
  exchange.httpStatus = httpStatus;
  if (httpStatus >= 200 && httpStatus < 300) {
    return { succeeded: true, httpStatus, body: await readWhole(response.body, keepBytes) };
  }
  const error = httpStatus >= 300 && httpStatus < 400 ? 'redirect' : 'status';
  return { succeeded: false, httpStatus, error, body: await readStart(response.body, keepBytes) };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

/** Reads to the end, so that an answer that breaks off is noticed. Returns the beginning. */
async function readWhole(body: Readable, keepBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of body as AsyncIterable<Buffer>) chunks.push(chunk);
  return beginningOf(chunks, keepBytes);
}

async function readStart(body: Readable, keepBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  const patience = setTimeout(() => body.destroy(), REFUSAL_BODY_MS);
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= keepBytes) break;
    }
  } catch {
    // The attempt has failed by its status already; what arrived of the body is what people get to see.
  } finally {
    clearTimeout(patience);
  }
  return beginningOf(chunks, keepBytes);
}

function beginningOf(chunks: Buffer[], keepBytes: number): string {
  return Buffer.concat(chunks).subarray(0, keepBytes).toString('utf8');
}

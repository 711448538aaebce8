import type { Readable } from 'node:stream';
import { Agent, request } from 'undici';
import type { Config } from '../config.js';
import { classifyFailure, type WebhookFailure } from './failure.js';
import { checkWebhookUrl, createGuardedLookup, type Resolve } from './guard.js';

/** All of one attempt: name lookup, connection, TLS, headers and body. */
export const ATTEMPT_TIMEOUT_MS = 5_000;
/** An endless answer is no acknowledgement. */
const MAX_RESPONSE_BYTES = 65_536;
const KEPT_RESPONSE_BYTES = 1_024;
/** A refusal stands by its status; its body only helps people, and is waited for no longer than this. */
const REFUSAL_BODY_MS = 1_000;

export interface PostResult {
  delivered: boolean;
  durationMs: number;
  /** Why it was not delivered. */
  error?: WebhookFailure;
  httpStatus?: number;
  /** The first KiB of the answer. */
  responseBody?: string;
}

export interface WebhookClient {
  /** Sends one attempt. Never throws and takes 5 s at most: the result says what came of it. */
  post(url: string, body: string, headers: Record<string, string>): Promise<PostResult>;
}

type Answer = Omit<PostResult, 'durationMs'>;

interface Exchange {
  url: string;
  body: string;
  headers: Record<string, string>;
  agent: Agent;
  signal: AbortSignal;
  /** Known as soon as the status line is, also when the rest never comes. */
  httpStatus?: number;
}

/**
 * Sends webhooks without trusting the receiver: no redirect is followed, nothing is decompressed, every byte and second
 * is bounded, and the address connected to is the one that was judged.
 */
export function createWebhookClient(deps: { config: Pick<Config, 'webhooks'>; resolve?: Resolve }): WebhookClient {
  const { config } = deps;
  const lookup = createGuardedLookup(config, deps.resolve);
  return {
    async post(url, body, headers) {
      const startedAt = performance.now();
      const answer = await attempt(url, body, headers);
      return { ...answer, durationMs: Math.round(performance.now() - startedAt) };
    },
  };

  async function attempt(url: string, body: string, headers: Record<string, string>): Promise<Answer> {
    // A literal address never reaches the lookup, so the URL is judged again at each attempt.
    if (checkWebhookUrl(url, config) !== undefined) return { delivered: false, error: 'blocked' };
    // One connection per attempt: none is shared with another customer, and no stale one can fail a delivery.
    const agent = new Agent({
      connect: { lookup, timeout: ATTEMPT_TIMEOUT_MS },
      maxResponseSize: MAX_RESPONSE_BYTES,
      pipelining: 0,
    });
    const signal = AbortSignal.timeout(ATTEMPT_TIMEOUT_MS);
    const exchange: Exchange = { url, body, headers, agent, signal };
    try {
      // undici looks at the signal only once it is connected; the race ends a slow lookup or handshake too.
      return await Promise.race([run(exchange), aborted(signal)]);
    } catch (error) {
      const { httpStatus } = exchange;
      return { delivered: false, error: classifyFailure(error), ...(httpStatus === undefined ? {} : { httpStatus }) };
    } finally {
      await agent.destroy();
    }
  }
}

async function run(exchange: Exchange): Promise<Answer> {
  const { url, body, headers, agent, signal } = exchange;
  const response = await request(url, {
    method: 'POST',
    body,
    headers: { ...headers, 'accept-encoding': 'identity' },
    dispatcher: agent,
    signal,
  });
  const httpStatus = response.statusCode;
  exchange.httpStatus = httpStatus;
  if (httpStatus >= 200 && httpStatus < 300) {
    return { delivered: true, httpStatus, responseBody: await readWhole(response.body) };
  }
  const error = httpStatus >= 300 && httpStatus < 400 ? 'redirect' : 'status';
  return { delivered: false, httpStatus, error, responseBody: await readStart(response.body) };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

/** Reads to the end, so that an answer that breaks off is noticed. Returns the beginning. */
async function readWhole(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of body as AsyncIterable<Buffer>) chunks.push(chunk);
  return beginningOf(chunks);
}

async function readStart(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  const patience = setTimeout(() => body.destroy(), REFUSAL_BODY_MS);
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= KEPT_RESPONSE_BYTES) break;
    }
  } catch {
    // The attempt has failed by its status already; what arrived of the body is what people get to see.
  } finally {
    clearTimeout(patience);
  }
  return beginningOf(chunks);
}

function beginningOf(chunks: Buffer[]): string {
  return Buffer.concat(chunks).subarray(0, KEPT_RESPONSE_BYTES).toString('utf8');
}

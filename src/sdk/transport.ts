import { setTimeout as sleep } from 'node:timers/promises';
import { withoutTrailing } from '../kernel/text.js';
import { ApiError, refusalOf } from './api-error.js';

/** One request as it goes out. */
export interface Sending {
  accept: string;
  body?: object;
  headers?: Record<string, string>;
  idempotencyKey?: string;
  signal?: AbortSignal;
  timeoutMs?: number;
}

const TIMEOUT_MS = 30_000;
/** A stream that is silent for this long is dead: the service sends a comment every 15 s. */
const SILENCE_MS = 45_000;
const MOST_TRIES = 3;
const FIRST_WAIT_MS = 300;
/** Whoever is told to come back later than this is told so. */
const LONGEST_WAIT_MS = 10_000;

/** Away for the moment; what sits between may say so, too. */
const AWAY = new Set([0, 502, 503, 504]);

/** Sends requests with a key, bounded in time, and repeats those that may be repeated. */
export function createTransport({ baseUrl, apiKey }: { baseUrl: string; apiKey: string }) {
  const base = withoutTrailing(baseUrl, '/');

  /** @throws ApiError whatever comes but a 2xx, or nothing */
  async function request(method: string, path: string, p: Sending, signal: AbortSignal): Promise<Response> {
    const response = await fetch(base + path, {
      method: method.toUpperCase(),
      headers: {
        authorization: `Bearer ${apiKey}`,
        accept: p.accept,
        ...(p.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(p.idempotencyKey === undefined ? {} : { 'idempotency-key': p.idempotencyKey }),
        ...p.headers,
      },
      ...(p.body === undefined ? {} : { body: JSON.stringify(p.body) }),
      // The key goes to the address that was given, and nowhere else.
      redirect: 'manual',
      signal,
    });
    if (response.ok) return response;
    const location = response.headers.get('location');
    if (response.status < 400 && location !== null) {
      await response.body?.cancel();
      throw new ApiError(response.status, 'UNKNOWN', `${base} redirects to ${location}: use that address.`);
    }
    throw refusalOf(response.status, await errorObjectOf(response), factsOf(response));
  }

  function failureOf(error: unknown, p: Sending): unknown {
    if (error instanceof ApiError || p.signal?.aborted) return error;
    if (nameOf(error) === 'TimeoutError') {
      return new ApiError(0, 'TIMEOUT', `The service at ${base} did not answer in time.`);
    }
    return new ApiError(0, 'UNREACHABLE', `The service at ${base} cannot be reached${reasonOf(error)}.`);
  }

  return {
    /** A request and its JSON answer. Repeated when it failed for the moment and repeating it does no harm. */
    async json(method: string, path: string, p: Sending): Promise<unknown> {
      for (let tries = 1; ; tries++) {
        const timeout = AbortSignal.timeout(p.timeoutMs ?? TIMEOUT_MS);
        const signal = p.signal === undefined ? timeout : AbortSignal.any([timeout, p.signal]);
        try {
          return await jsonOf(await request(method, path, p, signal));
        } catch (error) {
          const failure = failureOf(error, p);
          const harmless = method === 'get' || p.idempotencyKey !== undefined;
          const waitMs = tries < MOST_TRIES ? waitBefore(failure, tries, harmless) : undefined;
          if (waitMs === undefined) throw failure;
          await sleep(waitMs, undefined, { signal: p.signal });
        }
      }
    },

    /** The bytes of an answer as they come. Never repeated; given up when nothing comes for 45 s. */
    async *stream(path: string, p: Sending): AsyncGenerator<Uint8Array> {
      const silent = new AbortController();
      const giveUp = () => silent.abort(new DOMException('silent', 'TimeoutError'));
      let timer = setTimeout(giveUp, p.timeoutMs ?? TIMEOUT_MS);
      const signal = p.signal === undefined ? silent.signal : AbortSignal.any([silent.signal, p.signal]);
      try {
        const { body } = await request('get', path, p, signal);
        for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
          clearTimeout(timer);
          timer = setTimeout(giveUp, SILENCE_MS);
          yield chunk;
        }
      } catch (error) {
        throw failureOf(error, p);
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

/**
 * How long to wait before the same request is sent again; undefined when it must not be, or not so soon.
 * @param harmless whether asking twice does no more than asking once
 */
export function waitBefore(failure: unknown, tries: number, harmless: boolean): number | undefined {
  if (!(failure instanceof ApiError)) return undefined;
  // Too many requests: nothing was done.
  const again = failure.code === 'RATE_LIMIT_EXCEEDED' || (harmless && AWAY.has(failure.status));
  // Who has waited for so long waits no longer.
  if (!again || failure.code === 'TIMEOUT') return undefined;
  const backoffMs = FIRST_WAIT_MS * 2 ** (tries - 1) * (1 + Math.random() / 2);
  const waitMs = Math.max(backoffMs, failure.retryAfterMs ?? 0);
  return waitMs > LONGEST_WAIT_MS ? undefined : waitMs;
}

/** @throws ApiError when it is no JSON */
async function jsonOf(response: Response): Promise<unknown> {
  try {
    return (await response.json()) as unknown;
  } catch (error) {
    if (nameOf(error) !== 'SyntaxError') throw error;
    throw new ApiError(response.status, 'UNKNOWN', 'What answers at this address is not the service: no JSON.');
  }
}

function factsOf({ headers }: Response) {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const requestId = headers.get('x-request-id');
  return {
    ...(Number.isFinite(seconds) && seconds >= 0 ? { retryAfterMs: seconds * 1_000 } : {}),
    ...(requestId === null ? {} : { requestId }),
  };
}

/** What sits between, such as a proxy, answers pages: then the status tells enough. */
async function errorObjectOf(response: Response): Promise<unknown> {
  try {
    return (await response.json()) as unknown;
  } catch {
    return undefined;
  }
}

/** What fetch throws comes from another realm in some places, where it is no instance of our classes. */
function nameOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, 'name') : undefined;
}

/** Node keeps the cause of a failed fetch apart, and those of several addresses in a list. */
function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: { message?: string; code?: string; errors?: { message?: string }[] } };
  const reason = cause?.errors?.[0]?.message || cause?.message || cause?.code;
  return reason ? `: ${reason}` : '';
}

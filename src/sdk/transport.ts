import { setTimeout as sleep } from 'node:timers/promises';
import { withoutTrailing } from '../kernel/text.js';
import { ApiError, createApiError } from './api-error.js';

/** An outgoing request. */
export interface RequestOptions {
  accept: string;
  body?: object;
  headers?: Record<string, string>;
  idempotencyKey?: string;
  signal?: AbortSignal;
  timeoutMs?: number;
}

const TIMEOUT_MS = 30_000;
/** A stream without data for this long counts as disconnected, because the service sends a comment every 15 s. */
const STREAM_TIMEOUT_MS = 45_000;
const MAX_TRIES = 3;
const FIRST_WAIT_MS = 300;
/** Maximum delay before a retry. If the service asks for a longer delay, the request fails instead. */
const MAX_WAIT_MS = 10_000;

/** Statuses of a temporary outage of the service or a proxy. 0: no response. */
const UNAVAILABLE_STATUSES = new Set([0, 502, 503, 504]);

/** Creates a transport that sends requests with an API key, applies timeouts, and retries requests if that is safe. */
export function createTransport({ baseUrl, apiKey }: { baseUrl: string; apiKey: string }) {
  const base = withoutTrailing(baseUrl, '/');

  /**
   * Sends one request.
   * @throws ApiError for any response other than 2xx; other errors when there is no response
   */
  async function request(method: string, path: string, p: RequestOptions, signal: AbortSignal): Promise<Response> {
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
      // Follow no redirect, so that the API key is sent to no other address.
      redirect: 'manual',
      signal,
    });
    if (response.ok) return response;
    const location = response.headers.get('location');
    if (response.status < 400 && location !== null) {
      await response.body?.cancel();
      throw new ApiError(response.status, 'UNKNOWN', `${base} redirects to ${location}: use that URL.`);
    }
    throw createApiError(response.status, await errorObjectOf(response), factsOf(response));
  }

  function failureOf(error: unknown, p: RequestOptions): unknown {
    if (error instanceof ApiError || p.signal?.aborted) return error;
    if (nameOf(error) === 'TimeoutError') {
      return new ApiError(0, 'TIMEOUT', `The service at ${base} did not respond in time.`);
    }
    return new ApiError(0, 'UNREACHABLE', `The service at ${base} cannot be reached${reasonOf(error)}.`);
  }

  return {
    /**
     * Sends a request and parses the JSON response. Retries temporary failures if that is safe.
     * @throws ApiError
     */
    async json(method: string, path: string, p: RequestOptions): Promise<unknown> {
      for (let tries = 1; ; tries++) {
        const limit = createTimeout(p.signal);
        limit.restart(p.timeoutMs ?? TIMEOUT_MS);
        try {
          return await jsonOf(await request(method, path, p, limit.signal));
        } catch (error) {
          const failure = failureOf(error, p);
          const isSafeToRepeat = method === 'get' || p.idempotencyKey !== undefined;
          const waitMs = tries < MAX_TRIES ? retryDelayAfter(failure, tries, isSafeToRepeat) : undefined;
          if (waitMs === undefined) throw failure;
          await sleep(waitMs, undefined, { signal: p.signal });
        } finally {
          limit.clear();
        }
      }
    },

    /**
     * Streams the bytes of a response. Never retries; times out after 45 s without data.
     * @throws ApiError
     */
    async *stream(path: string, p: RequestOptions): AsyncGenerator<Uint8Array> {
      const limit = createTimeout(p.signal);
      limit.restart(p.timeoutMs ?? TIMEOUT_MS);
      try {
        const { body } = await request('get', path, p, limit.signal);
        for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
          limit.restart(STREAM_TIMEOUT_MS);
          yield chunk;
        }
      } catch (error) {
        throw failureOf(error, p);
      } finally {
        limit.clear();
      }
    },
  };
}

/**
 * Creates a signal that aborts with a TimeoutError, or when the caller's signal aborts. `AbortSignal.any` cannot do
 * this: Node 20 (20.20.2) may collect an `AbortSignal.timeout` that was passed to it as garbage, and then the timeout
 * never fires.
 */
function createTimeout(callersSignal: AbortSignal | undefined) {
  const over = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = () => over.abort(callersSignal?.reason);
  callersSignal?.addEventListener('abort', stop);
  if (callersSignal?.aborted) stop();
  return {
    signal: over.signal,
    restart(ms: number): void {
      clearTimeout(timer);
      timer = setTimeout(() => over.abort(new DOMException('The time limit has passed.', 'TimeoutError')), ms);
    },
    clear(): void {
      clearTimeout(timer);
      callersSignal?.removeEventListener('abort', stop);
    },
  };
}

/**
 * Returns the delay in ms before a request is retried. Undefined when it must not be retried, or only after too long.
 * @param tries attempts so far, from 1
 * @param isSafeToRepeat whether repeating the request has no further effect
 */
export function retryDelayAfter(failure: unknown, tries: number, isSafeToRepeat: boolean): number | undefined {
  if (!(failure instanceof ApiError)) return undefined;
  // A rate-limited request had no effect, so repeating it is always safe.
  const again = failure.code === 'RATE_LIMIT_EXCEEDED' || (isSafeToRepeat && UNAVAILABLE_STATUSES.has(failure.status));
  // A request that timed out has taken long enough, so it is not retried.
  if (!again || failure.code === 'TIMEOUT') return undefined;
  const backoffMs = FIRST_WAIT_MS * 2 ** (tries - 1) * (1 + Math.random() / 2);
  const waitMs = Math.max(backoffMs, failure.retryAfterMs ?? 0);
  return waitMs > MAX_WAIT_MS ? undefined : waitMs;
}

/** @throws ApiError when the body is not JSON */
async function jsonOf(response: Response): Promise<unknown> {
  try {
    return (await response.json()) as unknown;
  } catch (error) {
    if (nameOf(error) !== 'SyntaxError') throw error;
    throw new ApiError(
      response.status,
      'UNKNOWN',
      'The response is not JSON, so this is probably not the Callwright service.',
    );
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

/** Parses the error body. Undefined if it is not JSON, as in responses of proxies. */
async function errorObjectOf(response: Response): Promise<unknown> {
  try {
    return (await response.json()) as unknown;
  } catch {
    return undefined;
  }
}

/** Returns the name of an error. `instanceof` fails for errors of `fetch` from another realm. */
function nameOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, 'name') : undefined;
}

/** Returns the reason of a failed fetch. Node stores it in `cause`, as a list when it tried several addresses. */
function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: { message?: string; code?: string; errors?: { message?: string }[] } };
  const reason = cause?.errors?.[0]?.message || cause?.message || cause?.code;
  return reason ? `: ${reason}` : '';
}

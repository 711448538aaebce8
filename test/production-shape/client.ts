import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';

/** A request to the API through the proxy. */
export interface Answer {
  status: number;
  body: string;
}

/** A request that got the response that it should have, in the end. */
export interface AnsweredRequest {
  request: string;
  began: number;
  /** How long it took, with all repeats. */
  ms: number;
  repeats: number;
  /** Whether the response is that of an earlier request with the same idempotency key. */
  isReplay: boolean;
}

/** A request that did not get the response that it should have. */
export interface FailedRequest {
  request: string;
  reason: string;
  at: Date;
}

const CONNECTIONS = 16;
const TIMEOUT_MS = 30_000;
/** How long a client repeats a request after a 429 or 503, as docs/api.md says. It waits longer each time. */
const REPEAT_FOR_MS = 60_000;
const MAX_WAIT_MS = 8_000;
/** A client that repeats a request until it is answered waits for each response and in all for at most this long. */
const UNTIL_ANSWERED = { responseMs: 10_000, inAllMs: 300_000, betweenMs: 1_000 };

/**
 * A customer's client, which keeps its connections and records every request that failed. It repeats nothing except
 * what docs/api.md tells clients to repeat, and counts these repeats.
 * @param p.untilAnswered whether it also repeats a request without a response, or with one of the proxy
 */
export function createClient(p: { baseUrl: string; ca: string; key: string; untilAnswered: boolean }) {
  const pool = new Pool(p.baseUrl, { connections: CONNECTIONS, connect: { ca: p.ca } });
  const failed: FailedRequest[] = [];
  const repeated: FailedRequest[] = [];
  const answered: AnsweredRequest[] = [];
  let requests = 0;
  const timeoutMs = p.untilAnswered ? UNTIL_ANSWERED.responseMs : TIMEOUT_MS;
  const rejections = p.untilAnswered ? [429, 502, 503, 504] : [429, 503];

  async function once(method: 'GET' | 'POST', path: string, json?: object, headers = {}) {
    requests += 1;
    const response = await pool.request({
      method,
      path,
      headers: {
        authorization: `Bearer ${p.key}`,
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    const retryAfter = Number(response.headers['retry-after'] ?? NaN);
    const isReplay = response.headers['idempotent-replayed'] !== undefined;
    return { status: response.statusCode, body: await response.body.text(), retryAfter, isReplay };
  }

  /** How long to wait before the request is repeated; undefined: it is not. */
  function waitMs(status: number, retryAfter: number, repeats: number): number | undefined {
    if (!rejections.includes(status)) return undefined;
    if (retryAfter >= 0) return Math.min(retryAfter * 1_000 * 2 ** repeats, MAX_WAIT_MS);
    return p.untilAnswered ? UNTIL_ANSWERED.betweenMs : undefined;
  }

  return {
    failed,
    repeated,
    /** The requests that got their response. */
    answered,
    requests: () => requests,

    /**
     * Sends a request.
     * @param expected the statuses of its response
     * @returns undefined if it failed
     */
    async request(
      method: 'GET' | 'POST',
      path: string,
      p_: { json?: object; headers?: Record<string, string>; expected?: readonly number[] } = {},
    ): Promise<Answer | undefined> {
      const { json, headers, expected = [200] } = p_;
      const request = `${method} ${path}`;
      const began = Date.now();
      const giveUpAt = began + (p.untilAnswered ? UNTIL_ANSWERED.inAllMs : REPEAT_FOR_MS);
      for (let repeats = 0; ; repeats += 1) {
        const at = new Date();
        let wait: number | undefined;
        let reason: string;
        try {
          const answer = await once(method, path, json, headers);
          const { status, body, isReplay } = answer;
          if (expected.includes(status)) {
            answered.push({ request, began, ms: Date.now() - began, repeats, isReplay });
            return answer;
          }
          reason = `${status} ${body.slice(0, 300)}`;
          wait = waitMs(status, answer.retryAfter, repeats);
        } catch (error) {
          reason = String(error);
          wait = p.untilAnswered ? UNTIL_ANSWERED.betweenMs : undefined;
        }
        const mayRepeat = wait !== undefined && Date.now() < giveUpAt;
        (mayRepeat ? repeated : failed).push({ request, reason, at });
        if (!mayRepeat) return undefined;
        await sleep(wait);
      }
    },
    close: () => pool.destroy(),
  };
}

export type Client = ReturnType<typeof createClient>;

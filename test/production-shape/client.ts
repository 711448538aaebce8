import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';

/** A request to the API through the proxy. */
export interface Answer {
  status: number;
  body: string;
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

/**
 * A customer's client, which keeps its connections and records every request that failed. It repeats nothing except
 * what docs/api.md tells clients to repeat, and counts these repeats.
 */
export function createClient(p: { baseUrl: string; ca: string; key: string }) {
  const pool = new Pool(p.baseUrl, { connections: CONNECTIONS, connect: { ca: p.ca } });
  const failed: FailedRequest[] = [];
  const repeated: FailedRequest[] = [];
  let requests = 0;

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
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
    });
    const retryAfter = Number(response.headers['retry-after'] ?? NaN);
    return { status: response.statusCode, body: await response.body.text(), retryAfter };
  }

  return {
    failed,
    repeated,
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
      const giveUpAt = Date.now() + REPEAT_FOR_MS;
      for (let repeats = 0; ; repeats += 1) {
        try {
          const answer = await once(method, path, json, headers);
          if (expected.includes(answer.status)) return answer;
          const reason = `${answer.status} ${answer.body.slice(0, 300)}`;
          const mayRepeat = [429, 503].includes(answer.status) && answer.retryAfter >= 0 && Date.now() < giveUpAt;
          (mayRepeat ? repeated : failed).push({ request, reason, at: new Date() });
          if (!mayRepeat) return undefined;
          await sleep(Math.min(answer.retryAfter * 1_000 * 2 ** repeats, MAX_WAIT_MS));
        } catch (error) {
          failed.push({ request, reason: String(error), at: new Date() });
          return undefined;
        }
      }
    },
    close: () => pool.destroy(),
  };
}

export type Client = ReturnType<typeof createClient>;

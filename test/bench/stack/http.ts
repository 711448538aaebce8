import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Pool } from 'undici';

const RECEIVED_WITHIN_MS = 180_000;
/** Longer than a round, so that no connection is closed just when a request is sent on it. */
const KEEP_ALIVE_MS = 600_000;

/** A client that keeps its connections, as a load generator or a customer's server does. */
export function createHttpClient(baseUrl: string, connections: number) {
  const pool = new Pool(baseUrl, { connections, pipelining: 1 });
  return {
    /** Sends a request and reads its response. */
    async request(
      method: 'GET' | 'POST',
      path: string,
      options: { headers?: Record<string, string>; json?: object } = {},
    ): Promise<{ status: number; body: string }> {
      const { headers = {}, json } = options;
      const { statusCode, body } = await pool.request({
        method,
        path,
        headers: json === undefined ? headers : { ...headers, 'content-type': 'application/json' },
        ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      });
      return { status: statusCode, body: await body.text() };
    },
    close: () => pool.destroy(),
  };
}

export type HttpClient = ReturnType<typeof createHttpClient>;

/** Starts a server on the loopback interface that responds to each POST with the status that `receive` returns. */
export async function startReceiver(receive: (body: string, request: IncomingMessage) => number | object) {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const result = receive(body, request);
      if (typeof result === 'number') response.writeHead(result).end();
      else response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(result));
    });
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Starts a customer's server, which accepts every webhook and lets a caller wait for that of one call. */
export async function startInbox() {
  const received = new Set<string>();
  const waiting = new Map<string, () => void>();
  const receiver = await startReceiver((body) => {
    const { call_id: callId } = JSON.parse(body) as { call_id: string };
    received.add(callId);
    waiting.get(callId)?.();
    return 204;
  });
  return {
    url: `${receiver.url}/inbox`,
    /** Resolves when the webhook of the call has arrived. */
    async received(callId: string): Promise<void> {
      if (received.has(callId)) return;
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(
          () => reject(new Error(`no webhook of ${callId} within ${RECEIVED_WITHIN_MS / 1_000} s`)),
          RECEIVED_WITHIN_MS,
        );
        waiting.set(callId, () => {
          clearTimeout(timer);
          waiting.delete(callId);
          resolve();
        });
      });
    },
    close: receiver.close,
  };
}

export type Inbox = Awaited<ReturnType<typeof startInbox>>;

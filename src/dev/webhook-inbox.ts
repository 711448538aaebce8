import type { AddressInfo } from 'node:net';
import { isLoopbackHost } from '../platform/config/addresses.js';
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';

export interface Delivery {
  received_at: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** The body as JSON says it, or its text when it is no JSON. */
  body: unknown;
  /** The body's text, to the byte. */
  raw: string;
}

export interface WebhookInbox {
  url: string;
  /** Newest first. */
  deliveries: () => readonly Delivery[];
  close: () => Promise<void>;
}

const KEPT = 1_000;
const LARGEST_BODY = 1_048_576;

/**
 * A receiver of completion webhooks for one's own machine: takes any POST, and lists what came, newest first, on GET. It
 * answers to names of this machine only, so that no web site reaches it by a name of its own.
 * @param port 0 for any
 */
export async function startWebhookInbox(port: number): Promise<WebhookInbox> {
  const deliveries: Delivery[] = [];
  const server = createServer((request, response) => {
    if (!isLoopbackHost(request.headers.host ?? '')) {
      response.writeHead(403, { connection: 'close' }).end();
      return;
    }
    if (request.method === 'GET' || request.method === 'HEAD') {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(deliveries, null, 2));
      return;
    }
    if (request.method !== 'POST') {
      response.writeHead(405, { allow: 'GET, HEAD, POST' }).end();
      return;
    }
    void readBody(request).then(
      (raw) => {
        if (raw === undefined) {
          response.writeHead(413).end();
          return;
        }
        const { url: path = '/', headers } = request;
        deliveries.unshift({ received_at: new Date().toISOString(), path, headers, body: parse(raw), raw });
        deliveries.splice(KEPT);
        response.writeHead(204).end();
      },
      () => request.destroy(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/inbox`,
    deliveries: () => deliveries,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= LARGEST_BODY) chunks.push(chunk);
  }
  return size > LARGEST_BODY ? undefined : Buffer.concat(chunks).toString();
}

function parse(raw: string): unknown {
  try {
    return JSON.parse(raw) as unknown;
  } catch {
    return raw;
  }
}

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isLoopbackHost } from '../platform/config/addresses.js';
import { readBodyUpTo } from '../platform/http/server/body-bytes.js';
import { createHttpServer } from '../platform/http/server/http-server.js';
import { isFromWebPage } from '../platform/http/web-pages.js';

export interface Delivery {
  received_at: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** The body as parsed JSON, or as text if it is not JSON. */
  readonly body: unknown;
  /** The exact text of the body. */
  raw: string;
}

export interface WebhookInbox {
  url: string;
  /** Newest first. */
  deliveries: () => readonly Delivery[];
  close: () => Promise<void>;
}

const KEPT = 1_000;
const KEPT_CHARACTERS = 16_777_216;
const LARGEST_BODY = 1_048_576;
const CONNECTIONS = 100;

/**
 * Starts a local receiver of completion webhooks. It accepts any POST and lists the deliveries, newest first, on GET.
 * Web pages cannot access it, even if a DNS name of theirs points to this machine. It keeps at most 1,000 deliveries
 * and 16 Mi characters.
 * @param port 0 for any free port
 */
export async function startWebhookInbox(port: number): Promise<WebhookInbox> {
  const deliveries: Delivery[] = [];
  const server = createHttpServer({}, (request, response) => {
    handleRequest(request, response).catch(() => request.destroy());
  });
  server.maxConnections = CONNECTIONS;

  async function handleRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (isFromWebPage(request.headers) || !isLoopbackHost(request.headers.host ?? '')) {
      response.writeHead(403, { connection: 'close' }).end();
      return;
    }
    if (request.method === 'GET' || request.method === 'HEAD') {
      response.writeHead(200, { 'content-type': 'application/json' });
      await pipeline(Readable.from(jsonOf([...deliveries])), response);
      return;
    }
    if (request.method !== 'POST') {
      response.writeHead(405, { allow: 'GET, HEAD, POST' }).end();
      return;
    }
    const raw = (await readBodyUpTo(LARGEST_BODY, request))?.toString();
    if (raw === undefined) {
      response.writeHead(413).end();
      return;
    }
    keep(request, raw);
    response.writeHead(204).end();
  }

  function keep({ url: path = '/', headers }: IncomingMessage, raw: string): void {
    deliveries.unshift({
      received_at: new Date().toISOString(),
      path,
      headers,
      // The body is parsed on each access, because parsed JSON may take many times the memory of its text.
      get body() {
        return parse(raw);
      },
      raw,
    });
    let size = 0;
    const tooMany = deliveries.findIndex((one) => (size += sizeOf(one)) > KEPT_CHARACTERS);
    deliveries.splice(tooMany === -1 ? KEPT : Math.min(tooMany, KEPT));
  }

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

/** Approximate memory in characters: the body, the path and an allowance for everything else. */
function sizeOf({ raw, path }: Delivery): number {
  return raw.length + path.length + 4_096;
}

/** Yields one delivery at a time, because a string with all of them might exceed the maximum string length. */
function* jsonOf(deliveries: readonly Delivery[]): Generator<string> {
  yield '[';
  for (const [index, delivery] of deliveries.entries()) yield `${index === 0 ? '\n' : ',\n'}${textOf(delivery)}`;
  yield ']\n';
}

/** Formats a delivery as JSON. If the body is nested too deeply for `JSON.stringify`, includes it as text. */
function textOf(delivery: Delivery): string {
  try {
    return JSON.stringify(delivery, null, 2);
  } catch {
    return JSON.stringify({ ...delivery, body: delivery.raw }, null, 2);
  }
}

function parse(raw: string): unknown {
  try {
    return JSON.parse(raw) as unknown;
  } catch {
    return raw;
  }
}

import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { isValidSignature } from '../../../../src/telephony/twilio/signature.js';

/** A request that the carrier sent to the customer's server. */
export interface SeenRequest {
  path: string;
  params: Record<string, string>;
  headers: IncomingMessage['headers'];
  signed: boolean;
  at: number;
}

export interface CustomerAnswer {
  status?: number;
  contentType?: string;
  body?: string;
  headers?: Record<string, string>;
}

export interface Customer {
  baseUrl: string;
  streamUrl: string;
  seen: SeenRequest[];
  /** Creates the response to a request of the carrier. By default, the response is an empty 204. */
  answer: (request: SeenRequest) => CustomerAnswer | undefined | Promise<CustomerAnswer | undefined>;
  /** Receives accepted streams. If this is not set, streams are rejected with 403. */
  onStream: ((socket: WebSocket, upgrade: { path: string; signed: boolean }) => void) | undefined;
  /** System error codes of streams that broke without a closing handshake. */
  broken: (string | undefined)[];
  /** Requests to paths that start with `prefix`. */
  to(prefix: string): SeenRequest[];
  close(): Promise<void>;
}

/**
 * Starts a customer of the carrier: an HTTP server for callbacks and TwiML, and a websocket server for streams. The
 * customer checks every signature.
 */
export async function startCustomer(authToken: string): Promise<Customer> {
  const sockets = new WebSocketServer({ noServer: true });
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      const params = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString('utf8')));
      const seen: SeenRequest = {
        path: request.url ?? '',
        params,
        headers: request.headers,
        signed: isSigned(request, params, 'http'),
        at: Date.now(),
      };
      customer.seen.push(seen);
      const answer = (await customer.answer(seen)) ?? { status: 204 };
      response.writeHead(answer.status ?? 200, {
        ...(answer.contentType === undefined ? {} : { 'content-type': answer.contentType }),
        ...answer.headers,
      });
      response.end(answer.body);
    })();
  });
  server.on('upgrade', (request, socket, head) => {
    const { onStream } = customer;
    socket.on('error', (error: NodeJS.ErrnoException) => customer.broken.push(error.code));
    if (onStream === undefined) {
      socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
      return;
    }
    sockets.handleUpgrade(request, socket, head, (stream) =>
      onStream(stream, { path: request.url ?? '', signed: isSigned(request, {}, 'ws') }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;

  function isSigned(request: IncomingMessage, params: Record<string, string>, scheme: string): boolean {
    const signature = request.headers['x-twilio-signature'];
    const url = `${scheme}://${host}${request.url ?? ''}`;
    return isValidSignature({ authToken, signature: String(signature), url, params });
  }

  const customer: Customer = {
    baseUrl: `http://${host}`,
    streamUrl: `ws://${host}`,
    seen: [],
    answer: () => undefined,
    onStream: undefined,
    broken: [],
    to: (prefix) => customer.seen.filter(({ path }) => path.startsWith(prefix)),
    async close() {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return customer;
}

/** TwiML that streams a call and continues with `then`. */
export function streamTwiml(url: string, then = ''): CustomerAnswer {
  const body = `<?xml version="1.0" encoding="UTF-8"?><Response><Connect><Stream url="${url}"/></Connect>${then}</Response>`;
  return { contentType: 'text/xml', body };
}

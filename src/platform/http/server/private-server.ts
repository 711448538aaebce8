import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHttpServer } from './http-server.js';

/**
 * Starts a server for operators only, such as that of health checks or metrics. It has no authentication.
 * @param p.answer must not reject
 */
export async function startPrivateServer(p: {
  host: string;
  port: number;
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
}): Promise<{ port: number; close(): void }> {
  const server = createHttpServer({ maxHeaderSize: 8_192 }, (request, response) => void p.answer(request, response));
  server.listen(p.port, p.host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Sends a whole response, after which the connection ends. */
export function sendOnce(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store', connection: 'close' });
  response.end(body);
}

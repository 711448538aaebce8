import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
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
  return listenOn(
    createHttpServer({ maxHeaderSize: 8_192 }, (request, response) => void p.answer(request, response)),
    p,
  );
}

/** Lets a server listen. @returns its port, and how to close it with its connections */
export async function listenOn(
  server: Server,
  { host, port }: { host: string; port: number },
): Promise<{ port: number; close(): void }> {
  server.listen(port, host);
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

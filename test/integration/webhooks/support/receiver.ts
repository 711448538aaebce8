import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo, type Server as TcpServer, type Socket } from 'node:net';
import { readFileSync } from 'node:fs';
import type { TlsOptions } from 'node:tls';
import { join } from 'node:path';

export interface ReceivedWebhook {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  at: number;
}

export interface Receiver {
  url: string;
  received: ReceivedWebhook[];
  close(): Promise<void>;
}

export const RECEIVER_CERTIFICATE = join(__dirname, '..', 'fixtures', 'receiver-cert.pem');

/** Starts a customer's endpoint on loopback. `answer` responds to each request when its body has arrived. */
export async function startReceiver(
  answer: (response: ServerResponse, webhook: ReceivedWebhook) => void,
  options: { tls?: boolean | TlsOptions } = {},
): Promise<Receiver> {
  const received: ReceivedWebhook[] = [];
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const webhook: ReceivedWebhook = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString('utf8'),
        at: Date.now(),
      };
      received.push(webhook);
      answer(response, webhook);
    });
  };
  const server = options.tls
    ? createTlsServer({ ...receiverCertificate(), ...(options.tls === true ? {} : options.tls) }, listener)
    : createServer(listener);
  const port = await listenOn(server);
  return {
    url: `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}/hook?from=callwright`,
    received,
    close: () => closeAll(server, []),
  };
}

/** A TCP listener that counts connections and passes them to the test. */
export async function startTcpListener(onConnection: (socket: Socket) => void = () => {}, host?: string) {
  const sockets: Socket[] = [];
  const server = createTcpServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    onConnection(socket);
  });
  const port = await listenOn(server, host);
  return {
    port,
    connections: () => sockets.length,
    close: () => closeAll(server, sockets),
  };
}

export function receiverCertificate() {
  return {
    cert: readFileSync(RECEIVER_CERTIFICATE),
    key: readFileSync(RECEIVER_CERTIFICATE.replace('-cert.', '-key.')),
  };
}

async function listenOn(server: Server | TcpServer, host = '127.0.0.1'): Promise<number> {
  server.listen(0, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function closeAll(server: Server | TcpServer, sockets: Socket[]): Promise<void> {
  for (const socket of sockets) socket.destroy();
  if ('closeAllConnections' in server) server.closeAllConnections();
  server.close();
  await once(server, 'close');
}

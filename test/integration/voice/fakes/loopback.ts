import { createServer, request as forward, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';

export interface Loopback {
  port: number;
  /** If true, the fake provider that uses this server must accept everything and respond to nothing. */
  hanging: boolean;
  hang(): void;
  /** Breaks every connection and rejects new ones. */
  kill(): void;
  openSockets(): number;
  close(): Promise<void>;
}

export interface RejectedUpgrade {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

/** Starts the server of a provider on this machine. */
export async function openLoopback(p: {
  onRequest?(request: IncomingMessage, response: ServerResponse): void;
  /** Returns the response with which to reject the upgrade, or undefined to accept it. */
  rejectUpgrade?(request: IncomingMessage): RejectedUpgrade | undefined;
  /** Headers of the response to an upgrade that is accepted. */
  upgradeHeaders?(): Record<string, string>;
  onSocket?(socket: WebSocket, request: IncomingMessage): void;
}): Promise<Loopback> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((request, response) => {
    if (p.onRequest === undefined) response.writeHead(404).end();
    else p.onRequest(request, response);
  });
  const websockets = new WebSocketServer({ noServer: true });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
  });
  server.on('upgrade', (request, socket, head) => {
    const rejection = p.rejectUpgrade?.(request);
    if (rejection !== undefined) {
      const headers = Object.entries(rejection.headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`);
      const { status, body = '' } = rejection;
      const length = `Content-Length: ${Buffer.byteLength(body)}\r\n`;
      socket.end(`HTTP/1.1 ${status} Refused\r\n${headers.join('')}${length}\r\n${body}`);
      return;
    }
    if (p.upgradeHeaders !== undefined) {
      const headers = Object.entries(p.upgradeHeaders()).map(([name, value]) => `${name}: ${value}`);
      websockets.once('headers', (lines) => lines.push(...headers));
    }
    websockets.handleUpgrade(request, socket, head, (opened) => {
      opened.on('error', () => undefined);
      p.onSocket?.(opened, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  function kill(): void {
    server.close();
    for (const socket of sockets) socket.destroy();
  }

  const loopback: Loopback = {
    port: (server.address() as AddressInfo).port,
    hanging: false,
    hang: () => void (loopback.hanging = true),
    kill,
    openSockets: () => sockets.size,
    async close() {
      const closed = new Promise<void>((resolve) => (server.listening ? server.once('close', resolve) : resolve()));
      kill();
      await closed;
    },
  };
  return loopback;
}

export async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as Record<string, unknown>;
}

/** Passes a request on to another server of this machine. */
export function passOn(request: IncomingMessage, response: ServerResponse, port: number): void {
  const { method, url, headers } = request;
  const inner = forward({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(response);
  });
  inner.on('error', () => response.destroy());
  response.on('close', () => inner.destroy());
  request.pipe(inner);
}

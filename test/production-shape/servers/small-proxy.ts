import { Agent, request as send, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Certificate } from '../certificate.js';

export interface ProxyTargets {
  /** The address on which the proxy listens. */
  host: string;
  port: number;
  /** The name by which clients ask for it; by default, they use the address. */
  name?: string;
  certificate: Certificate;
  /** The addresses of the processes, with their ports. */
  api: readonly string[];
  media: readonly string[];
}

/** Shorter than the 75 s after which the API closes an idle connection. */
const IDLE_MS = 60_000;
/** A media process that has sent nothing for this long counts as lost, as in deploy/Caddyfile. */
const SILENT_MS = 10_000;
const CHECK_TIMEOUT_MS = 2_000;
/** So many late answers in a row count as not ready. */
const MAX_LATE = 3;
const HOP_HEADERS = ['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'];

/** The paths by which a proxy learns that a process stops. */
export const API_HEALTH = '/health/serving';
export const MEDIA_HEALTH = '/health/ready';

/** Ends TLS and sends each request or stream to the next process that is ready. It never repeats a request. */
export async function startSmallProxy(targets: ProxyTargets, healthEveryMs: number) {
  const agent = new Agent({ keepAlive: true, timeout: IDLE_MS });
  const urls = [
    ...targets.api.map((address) => [address, `http://${address}${API_HEALTH}`] as const),
    ...targets.media.map((address) => [address, `http://${address}${MEDIA_HEALTH}`] as const),
  ];
  const ready = watchReadiness(new Map(urls), healthEveryMs);
  const sockets = new Set<Duplex>();
  let turn = 0;
  const pick = (path: string) => {
    const all = path.startsWith('/stream/') ? targets.media : targets.api;
    const addresses = all.filter((address) => ready.has(address));
    turn += 1;
    const address = addresses[turn % addresses.length];
    if (address === undefined) return undefined;
    const { hostname, port } = new URL(`http://${address}`);
    return { host: hostname, port: Number(port) };
  };

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = pick(request.url ?? '/');
    if (target === undefined) return void response.writeHead(503).end();
    const { method, url: path } = request;
    const upstream = send({ ...target, method, path, agent, headers: forwarded(request) });
    response.once('close', () => upstream.destroy());
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      upstream.once('response', resolve);
      upstream.once('error', reject);
    });
    const [answer] = await Promise.all([answered, pipeline(request, upstream)]);
    response.writeHead(answer.statusCode ?? 502, withoutHops(answer.headers));
    await pipeline(answer, response);
  }

  const { cert, key } = targets.certificate;
  const server = createServer({ cert, key, keepAliveTimeout: IDLE_MS }, (request, response) => {
    pass(request, response).catch(() => {
      if (!response.headersSent) response.writeHead(502);
      response.end();
    });
  });
  server.on('upgrade', (request, client, head) => {
    const target = pick(request.url ?? '/');
    if (target === undefined) return void client.end('HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n\r\n');
    const media = connect(target, () => {
      const headers = { ...forwarded(request), connection: 'Upgrade', upgrade: 'websocket' };
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`);
      media.write(`GET ${request.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
      media.write(head);
      client.pipe(media).pipe(client);
    });
    join(client, media, sockets);
    closeWhenSilent(media);
  });
  await new Promise<void>((resolve) => server.listen(targets.port, targets.host, resolve));
  return {
    async close(): Promise<void> {
      ready.stop();
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      agent.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function closeWhenSilent(socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(), SILENT_MS);
  socket.on('data', () => timer.refresh());
  socket.once('close', () => clearTimeout(timer));
}

/** Closes each of two connected sockets with the other. */
function join(client: Duplex, media: Socket, open: Set<Duplex>): void {
  for (const [one, other] of [
    [client, media],
    [media, client],
  ] as const) {
    open.add(one);
    one.on('error', () => one.destroy());
    one.once('close', () => {
      open.delete(one);
      other.destroy();
    });
  }
}

function forwarded(request: IncomingMessage) {
  const address = request.socket.remoteAddress ?? '';
  return { ...withoutHops(request.headers), 'x-forwarded-for': address, 'x-forwarded-proto': 'https' };
}

function withoutHops(headers: IncomingMessage['headers']): IncomingMessage['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_HEADERS.includes(name)));
}

/**
 * Asks the processes again and again whether they are ready. All count as ready at first. A process that says no counts
 * as not ready at once; one that is late, as on a busy machine, only when it has been late several times.
 */
function watchReadiness(urls: ReadonlyMap<string, string>, everyMs: number) {
  const failures = new Map([...urls.keys()].map((address) => [address, 0]));
  const ask = async ([address, url]: readonly [string, string]) => {
    const answer = await fetch(url, { signal: AbortSignal.timeout(CHECK_TIMEOUT_MS) }).catch((error: Error) => error);
    if (answer instanceof Response) {
      await answer.arrayBuffer().catch(() => undefined);
      failures.set(address, answer.ok ? 0 : Infinity);
    } else {
      failures.set(address, (failures.get(address) ?? 0) + (answer.name === 'TimeoutError' ? 1 : MAX_LATE));
    }
  };
  const timer = setInterval(() => void Promise.all([...urls].map(ask)), everyMs);
  return { has: (address: string) => (failures.get(address) ?? 0) < MAX_LATE, stop: () => clearInterval(timer) };
}

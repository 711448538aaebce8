import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { limitConnections } from '../../src/platform/http/connection-limits.js';
import { createHttpServer } from '../../src/platform/http/server/http-server.js';
import { startService, type Service } from '../support/http/harness.js';
import { pipelinedRequests, rawRequest, sendBytes, shortestRequests } from '../support/hostile-requests.js';
import { LIVE_WITHIN_MS, slowestLivenessResponse } from '../support/liveness.js';

const MEGABYTE = 1_024 * 1_024;
/** A file so large that a few copies of it do not fit in the kernel's buffers. */
const LARGE_FILE = '/docs/swagger-ui-bundle.js';
const UNREAD_FOR_MS = 1_200;
const MOST_GROWTH = 100 * MEGABYTE;

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false, connections: { unreadForMs: UNREAD_FOR_MS } });
  for (const path of [LARGE_FILE, '/openapi.json']) expect((await service.request(path)).status).toBe(200);
});
afterAll(() => service.close());

const memory = () => process.memoryUsage.rss();

/**
 * Returns by how many bytes the memory of the process grows at most while some work runs. The work runs at least twice,
 * and up to five times until the growth is below the limit. The smallest growth counts: in the first run, the process
 * also grows because it compiles code and enlarges its heap, and on a busy machine garbage is collected late.
 */
async function growthDuring(work: () => Promise<unknown>): Promise<number> {
  let least = Math.min(await growthOnce(work), await growthOnce(work));
  for (let runs = 2; runs < 5 && least >= MOST_GROWTH; runs += 1) least = Math.min(least, await growthOnce(work));
  return least;
}

async function growthOnce(work: () => Promise<unknown>): Promise<number> {
  const before = memory();
  let most = before;
  const timer = setInterval(() => (most = Math.max(most, memory())), 20);
  await work();
  clearInterval(timer);
  return Math.max(most, memory()) - before;
}

function open(bytes: Buffer): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(service.port, '127.0.0.1', () => {
      socket.write(bytes);
      resolve(socket);
    });
    socket.on('error', () => undefined);
  });
}

const closed = (socket: Socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()));

describe('a client that does not read', () => {
  it.each(['/openapi.json', LARGE_FILE])(
    'causes little memory growth with a thousand requests for %s on one socket, and delays no other request',
    async (path) => {
      const { bytes } = pipelinedRequests(path);
      let slowest = 0;
      const growth = await growthDuring(async () => {
        slowest = await slowestLivenessResponse(service.baseUrl, () =>
          sendBytes(service.port, bytes, { read: false, forMs: 3_000 }),
        );
      });
      expect(growth).toBeLessThan(MOST_GROWTH);
      expect(slowest).toBeLessThan(LIVE_WITHIN_MS);
    },
    120_000,
  );

  it('has few of its requests parsed while too many are in flight', async () => {
    let parsed = 0;
    const server = createHttpServer({}, (req, res) => {
      parsed += 1;
      connections.admit(req, res);
    });
    const connections = limitConnections(server);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    await sendBytes(port, shortestRequests(10_000).bytes, { forMs: 3_000 });
    server.close();
    expect(parsed).toBeGreaterThan(16);
    expect(parsed).toBeLessThan(100);
  });

  it('causes little memory growth with many sockets, each within its limit', async () => {
    const { bytes } = pipelinedRequests(LARGE_FILE, 16);
    const growth = await growthDuring(() =>
      Promise.all(Array.from({ length: 20 }, () => sendBytes(service.port, bytes, { read: false, forMs: 2_000 }))),
    );
    expect(growth).toBeLessThan(150 * MEGABYTE);
  }, 120_000);

  it('is disconnected if nothing was read for a while', async () => {
    const socket = await open(pipelinedRequests(LARGE_FILE, 16).bytes);
    socket.pause();
    await sleep(4 * UNREAD_FOR_MS);
    let received = 0;
    socket.on('data', (chunk: Buffer) => (received += chunk.length));
    socket.resume();
    await closed(socket);
    expect(received).toBeGreaterThan(0);
    expect(received).toBeLessThan(16 * 1_700_000);
  }, 60_000);
});

describe('a client that reads', () => {
  it('gets a response to a request of any size, and to the next one after a large body', async () => {
    const body = JSON.stringify({ email: 'x'.repeat(15_000) });
    const headers = { 'Content-Type': 'application/json', 'Sec-Fetch-Site': 'same-origin' };
    const logIn = rawRequest({ method: 'POST', path: '/portal/log-in', headers, body });
    const responses = await sendBytes(service.port, Buffer.concat([logIn, logIn, lastRequest('/health/live')]));
    expect(responses.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400', 'HTTP/1.1 400', 'HTTP/1.1 200']);
  });

  it('gets a whole response even if it reads slowly, for longer than an unread response may wait', async () => {
    const socket = await open(Buffer.concat([pipelinedRequests(LARGE_FILE, 15).bytes, lastRequest(LARGE_FILE)]));
    let received = 0;
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length;
      socket.pause();
      setTimeout(() => socket.resume(), 5);
    });
    const startedAt = performance.now();
    await closed(socket);
    expect(received).toBeGreaterThan(16 * 1_700_000);
    expect(performance.now() - startedAt).toBeGreaterThan(UNREAD_FOR_MS);
  }, 120_000);

  it('may pipeline 16 requests; a connection with more in flight is closed', async () => {
    const few = Buffer.concat([pipelinedRequests('/health/live', 15).bytes, lastRequest('/health/live')]);
    expect((await sendBytes(service.port, few)).match(/HTTP\/1\.1 200 OK/g)).toHaveLength(16);
    const many = await sendBytes(service.port, pipelinedRequests('/health/live', 40).bytes);
    expect((many.match(/HTTP\/1\.1 200 OK/g) ?? []).length).toBeLessThan(40);
  });

  it('may send any number of requests one after the other', async () => {
    for (let i = 0; i < 40; i++) expect((await service.request('/health/live')).status).toBe(200);
  });

  it('may wait for a response without reading for as long as it takes', async () => {
    const socket = await open(Buffer.from('GET /health/live HTTP/1.1\r\nHost: x\r\n'));
    await sleep(2 * UNREAD_FOR_MS);
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
    socket.write('Connection: close\r\n\r\n');
    await closed(socket);
    expect(received).toMatch(/^HTTP\/1\.1 200 /);
  });
});

function lastRequest(path: string): Buffer {
  return rawRequest({ path, headers: { Connection: 'close' } });
}

describe('static files', () => {
  it.each(['/openapi.json', '/docs', '/docs/start.js', '/docs/swagger-ui.css', '/portal'])(
    '%s is sent compressed, and with 304 to a client that has it',
    async (path) => {
      const first = await service.request(path, { headers: { 'Accept-Encoding': 'gzip' } });
      expect(first.status).toBe(200);
      expect(first.headers.get('content-encoding')).toBe('gzip');
      expect(first.headers.get('vary')).toBe('Accept-Encoding');
      const etag = first.headers.get('etag') ?? '';
      expect(etag).toMatch(/^"[\w-]{22}"$/);
      const headers = { 'Accept-Encoding': 'gzip', 'If-None-Match': etag };
      for (const method of ['GET', 'HEAD']) {
        const again = await service.request(path, { method, headers });
        expect({ status: again.status, text: again.text }).toEqual({ status: 304, text: '' });
        expect(again.headers.get('etag')).toBe(etag);
        expect(again.headers.get('cache-control')).toBe(first.headers.get('cache-control'));
      }
      const listed = { ...headers, 'If-None-Match': `"other", W/${etag}` };
      expect((await service.request(path, { headers: listed })).status).toBe(304);
      const plain = await service.request(path, { headers: { 'Accept-Encoding': 'identity' } });
      expect(plain.headers.get('content-encoding')).toBeNull();
      expect(plain.headers.get('etag')).not.toBe(etag);
      expect(plain.text).toBe(first.text);
      const other = await service.request(path, { headers: { ...headers, 'If-None-Match': '"other"' } });
      expect(other.status).toBe(200);
    },
  );
});

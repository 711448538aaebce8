import { once } from 'node:events';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { startWebhookListener } from '../../src/cli/customer/webhook-listener.js';
import { startUiProxy } from '../../src/dev/servers/temporal/ui-proxy.js';
import { startWebhookInbox } from '../../src/dev/webhook-inbox.js';
import { createHttpServer } from '../../src/platform/http/server/http-server.js';
import { createPieceAllowance } from '../../src/platform/http/server/piece-allowance.js';
import { parseConfig } from '../../src/platform/config/config.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { createSimulator } from '../../src/telephony/simulator/server.js';
import { createMediaHttpServer } from '../../src/voice/media/media-http-server.js';
import { sendBytes, tinyChunksRequest } from '../support/hostile-requests.js';
import { startService, type Service } from '../support/http/harness.js';
import { freePort } from '../support/role-process.js';
import { readSources } from '../structure/sources.js';
import { startWorkerHealth } from '../../workers/worker-health.js';

const MEGABYTE = 1_024 * 1_024;
const JSON_TYPE = { 'Content-Type': 'application/json' };
const FROM_OWN_PAGE = { ...JSON_TYPE, 'Sec-Fetch-Site': 'same-origin' };
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded', 'X-Twilio-Signature': `${'A'.repeat(27)}=` };

let service: Service;
let key: string;
/** Functions that end what a test has started. */
let closers: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  service = await startService({ worker: false, env: { PAYMENT_WEBHOOK_SECRET: 'whsec_of-these-tests' } });
  key = (await service.customer()).liveKey;
});
afterAll(() => service.close());
afterEach(async () => {
  for (const close of closers) await close();
  closers = [];
});

function closing<T extends { close: () => Promise<unknown> }>(started: T): T {
  closers.push(() => started.close());
  return started;
}

const portOf = ({ url }: { url: string }) => Number(new URL(url).port);
const silent = () => createLogger({ role: 'test', level: 'silent' });

/** For each server that accepts HTTP, except the API, a function that starts the server and returns its port. */
const SERVERS: Record<string, () => Promise<number>> = {
  async 'the media server'() {
    const health = () => ({ closing: false, calls: 0 });
    const front = createMediaHttpServer({
      trustProxy: false,
      health,
      checkReadiness: async () => ({ status: 'ready', mongodb: 'ok' }),
      onUpgrade: () => undefined,
      logger: silent(),
    });
    closers.push(() => (front.closeAll(), front.stop()));
    return front.listen({ host: '127.0.0.1', port: 0 });
  },
  async 'a worker'() {
    const health = await startWorkerHealth({ host: '127.0.0.1', port: 0, checkReadiness: () => undefined });
    closers.push(async () => health.close());
    return health.port;
  },
  async 'the simulated carrier'() {
    const simulator = closing(
      createSimulator({ config: parseConfig({ NODE_ENV: 'test', SIMULATOR_PORT: '0' }), logger: silent() }),
    );
    return (await simulator.listen()).port;
  },
  'the webhook inbox': async () => portOf(closing(await startWebhookInbox(0))),
  'the webhook listener': async () => portOf(closing(await startWebhookListener({ port: 0, onReceived: () => 0 }))),
  async 'the proxy of the Temporal UI'() {
    const ui = createServer((request, response) => void request.resume().on('end', () => response.end()));
    const uiPort = await listening(ui);
    const port = await freePort();
    closing(await startUiProxy(port, { host: '127.0.0.1', port: uiPort }));
    return port;
  },
};

/** Sends a body in chunks of one byte. @returns the response */
function sendTinyChunks(port: number, path: string, headers: Record<string, string> = {}): Promise<string> {
  const { bytes } = tinyChunksRequest({ path, headers: { Host: `127.0.0.1:${port}`, ...headers } });
  return sendBytes(port, bytes, { forMs: 5_000 });
}

async function listening(server: Server): Promise<number> {
  closers.push(() => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve))));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

/** A server that responds with the length of each request's body. */
const lengthServer = () =>
  createHttpServer({}, (request, response) => {
    let size = 0;
    request.on('data', (chunk: Buffer) => (size += chunk.length));
    request.on('end', () => response.end(String(size)));
  });

/** Sends a body in several chunks, one for each piece. @returns status and body of the response */
async function sendPieces(
  target: { port: number; path?: string; headers?: Record<string, string> },
  pieces: Iterable<string> | AsyncIterable<string>,
): Promise<{ status: number | undefined; text: string }> {
  const { port, path = '/', headers = {} } = target;
  const request = httpRequest({ host: '127.0.0.1', port, path, method: 'POST', headers });
  const responded = once(request, 'response');
  for await (const piece of pieces) request.write(piece);
  request.end();
  const [response] = await responded;
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += part;
  return { status: response.statusCode, text };
}

/** Returns by how many bytes the memory in use grows at most while some work runs. */
async function growthDuring(work: () => Promise<unknown>): Promise<number> {
  const inUse = () => process.memoryUsage().heapUsed + process.memoryUsage().external;
  const before = inUse();
  let most = before;
  const timer = setInterval(() => (most = Math.max(most, inUse())), 20);
  await work();
  clearInterval(timer);
  return Math.max(most, inUse()) - before;
}

describe('a body in thousands of small chunks', () => {
  it.each([
    ['for a path that does not exist', '/nowhere', {}],
    ['without an API key', '/outbound_call', JSON_TYPE],
    ['of a log-in', '/portal/log-in', FROM_OWN_PAGE],
    ['of a callback', '/carrier/status', FORM],
    ['of a payment event', '/payment_events', { 'Stripe-Signature': `t=1,v1=${'a'.repeat(64)}` }],
  ])('%s, gets 400 and its connection is closed', async (_what, path, headers) => {
    const response = await sendTinyChunks(service.port, path, headers);
    expect(response.slice(0, 12)).toBe('HTTP/1.1 400');
    expect(response).toContain('small chunks');
    expect(response).toMatch(/^connection: close$/im);
  });

  it('is rejected with a valid API key too', async () => {
    const response = await sendTinyChunks(service.port, '/outbound_call', {
      ...JSON_TYPE,
      Authorization: `Bearer ${key}`,
    });
    expect(response).toContain('small chunks');
  });

  it('is rejected if it comes in many requests of one connection', async () => {
    const one = tinyChunksRequest({ path: '/nowhere', count: 400 }).bytes;
    const responses = await sendBytes(service.port, Buffer.concat(Array(10).fill(one)), { forMs: 5_000 });
    expect(responses).toContain('small chunks');
  });

  it.each(Object.keys(SERVERS))('is not read to its end by %s', async (name) => {
    const port = (await SERVERS[name]?.()) ?? 0;
    const response = await sendTinyChunks(port, '/');
    expect(response).toMatch(/^HTTP\/1\.1 (400|404) /);
    expect(response.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(response).toMatch(/^connection: close$/im);
  });

  it('reaches the reader of the body only in part', async () => {
    let pieces = 0;
    const server = createHttpServer({}, (request) => void request.on('data', () => (pieces += 1)));
    const response = await sendTinyChunks(await listening(server), '/');
    expect(response).toMatch(/^HTTP\/1\.1 400 /);
    expect(pieces).toBeGreaterThan(100);
    expect(pieces).toBeLessThan(1_000);
  });

  it('takes little memory while the rest of it is missing', async () => {
    const { bytes } = tinyChunksRequest({
      path: '/portal/log-in',
      headers: FROM_OWN_PAGE,
      count: 15_000,
      isComplete: false,
    });
    const growth = await growthDuring(() =>
      Promise.all(Array.from({ length: 60 }, () => sendBytes(service.port, bytes, { forMs: 10_000 }))),
    );
    expect(growth).toBeLessThan(60 * MEGABYTE);
  }, 60_000);
});

describe('a body in chunks', () => {
  it('is accepted in 300 pieces of a few bytes', async () => {
    const text = JSON.stringify({ name: 'A', instruction: `Be polite. ${'x'.repeat(850)}` });
    const headers = { ...JSON_TYPE, Authorization: `Bearer ${key}` };
    const pieces = text.match(/.{1,3}/g) ?? [];
    expect(pieces.length).toBeGreaterThan(290);
    expect((await sendPieces({ port: service.port, path: '/agents', headers }, pieces)).status).toBe(200);
  });

  it('is accepted as a stream of fetch', async () => {
    const text = JSON.stringify({ name: 'A', instruction: 'Be polite.' });
    const init = {
      method: 'POST',
      headers: { ...JSON_TYPE, Authorization: `Bearer ${key}` },
      body: new Blob([text]).stream(),
      duplex: 'half',
    };
    expect((await fetch(`${service.baseUrl}/agents`, init as RequestInit)).status).toBe(200);
  });

  it.each([
    [2_048, 500],
    [100, 5_000],
  ])('is accepted in chunks of %i bytes, however many there are', async (size, count) => {
    const port = await listening(lengthServer());
    const { status, text } = await sendPieces({ port }, Array(count).fill('x'.repeat(size)));
    expect({ status, text }).toEqual({ status: 200, text: String(size * count) });
  });

  it('is accepted in any number of chunks of one byte if they come slowly', async () => {
    const port = await listening(lengthServer());
    async function* slowly() {
      for (let burst = 0; burst < 14; burst++) {
        for (let n = 0; n < 45; n++) yield 'x';
        await sleep(750);
      }
    }
    expect(await sendPieces({ port }, slowly())).toEqual({ status: 200, text: String(14 * 45) });
  }, 30_000);

  it('leaves the connection open for the next request', async () => {
    const port = await listening(lengthServer());
    const one = tinyChunksRequest({ path: '/', count: 100 }).bytes;
    const last = tinyChunksRequest({ path: '/', headers: { Connection: 'close' }, count: 100 }).bytes;
    const responses = await sendBytes(port, Buffer.concat([one, one, last]));
    expect(responses.match(/HTTP\/1\.1 200/g)).toHaveLength(3);
  });
});

describe('the allowance for pieces', () => {
  it('grows with bytes and time, and saves up no more than one burst', () => {
    let nowMs = 0;
    const allowance = createPieceAllowance(() => nowMs);
    expect(allowance.take(500, 0)).toBe(true);
    expect(allowance.take(16, 1_024)).toBe(true);
    nowMs += 1_000;
    expect(allowance.take(64, 0)).toBe(true);
    nowMs += 3_600_000;
    expect(allowance.take(500, 1_000_000)).toBe(true);
    expect(allowance.take(1, 0)).toBe(false);
  });
});

describe('the servers of this project', () => {
  it('are all made by createHttpServer, or forward bytes unparsed', () => {
    const makers = readSources().filter(({ text }) =>
      /import \{[^}]*\bcreateServer\b[^}]*\} from 'node:https?'/.test(text),
    );
    expect(makers.map(({ path }) => path)).toEqual(['src/platform/http/server/http-server.ts']);
  });
});

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { newSecret } from '../../src/identity/api-keys/api-key-secret.js';
import { startService, type Customer, type Service } from '../support/http/harness.js';

/**
 * The delay of a message between the service and its database. With this delay, 20 database connections process fewer
 * requests than a flood keeps in flight.
 */
const DELAY_MS = 100;
const CONNECTIONS = 10;
/** The number of requests that the service processes on one connection at the same time. */
const PIPELINED = 16;
const FLOOD_MS = 10_000;
/**
 * The pause between a response and the next request of the flood. Without pauses, the flood would use up the CPU, which
 * it shares with the service.
 */
const PAUSE_MS = 2_000;
/** The deadline of every request. It is longer than the default, because other tests use the machine. */
const DEADLINE_MS = 4_000;

let database: Server;
let service: Service;
let attacker: Customer;
let victim: Customer;

/** Starts a proxy in front of the database that adds the latency of a busy database. */
async function delayedDatabase(): Promise<{ server: Server; uri: string }> {
  const target = new URL(process.env['TEST_MONGODB_URI'] ?? '');
  const later = (from: Socket, to: Socket) =>
    from.on('data', (chunk: Buffer) => setTimeout(() => to.write(chunk), DELAY_MS)).on('close', () => to.destroy());
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    for (const socket of [near, far]) socket.setNoDelay().on('error', () => undefined);
    later(near, far);
    later(far, near);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { server, uri: `mongodb://127.0.0.1:${port}/http_${randomUUID()}` };
}

beforeAll(async () => {
  const { server, uri } = await delayedDatabase();
  database = server;
  service = await startService({ worker: false, minDeadlineMs: DEADLINE_MS, env: { MONGODB_URI: uri } });
  [attacker, victim] = [await service.customer(), await service.customer()];
  for (const key of [attacker.testKey, victim.testKey]) expect((await ask(key)).status).toBe(200);
}, 60_000);
afterAll(async () => {
  await service.close();
  database.close();
});

const ask = (key: string) => service.request('/balance', { key });

/** Keeps requests in flight on all connections until the signal aborts, and counts the responses by status. */
function flood(requestText: () => string, until: AbortSignal): Map<string, number> {
  const statuses = new Map<string, number>();
  for (let n = 0; n < CONNECTIONS; n++) {
    const open = () => {
      if (until.aborted) return;
      const socket = connect(service.port, '127.0.0.1', () => {
        for (let k = 0; k < PIPELINED; k++) socket.write(requestText());
      });
      const end = () => socket.destroy();
      until.addEventListener('abort', end);
      socket.on('data', (chunk: Buffer) => {
        for (const [, status = ''] of chunk.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          setTimeout(() => socket.write(requestText()), PAUSE_MS);
        }
      });
      socket.on('error', () => undefined);
      socket.once('close', () => {
        until.removeEventListener('abort', end);
        setTimeout(open, 100);
      });
    };
    open();
  }
  return statuses;
}

/** Sends requests of another customer during a flood. Returns their statuses, and the longest time in ms. */
async function askDuring(requestText: () => string): Promise<{ statuses: number[]; longestMs: number }> {
  const stop = new AbortController();
  const flooded = flood(requestText, stop.signal);
  const end = Date.now() + FLOOD_MS;
  const statuses: number[] = [];
  let longestMs = 0;
  try {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    while (Date.now() < end) {
      const began = Date.now();
      statuses.push((await ask(victim.testKey)).status);
      longestMs = Math.max(longestMs, Date.now() - began);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  } finally {
    stop.abort();
  }
  expect([...flooded.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(100);
  return { statuses, longestMs };
}

const get = (path: string, headers: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n\r\n`;
const logIn = () => {
  const body = JSON.stringify({ email: `${randomUUID()}@example.test`, password: 'wrong horse battery' });
  const headers = `Origin: ${service.config.publicBaseUrl}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
  return `POST /portal/log-in HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n\r\n${body}`;
};

describe('a flood of requests', () => {
  it.each([
    ['with one valid key', () => get('/balance', `Authorization: Bearer ${attacker.testKey}`)],
    ['with unknown keys', () => get('/balance', `Authorization: Bearer ${newSecret('test')}`)],
    [
      'with unknown sessions',
      () => get('/portal/session', `Cookie: __Host-sid=${randomUUID().replaceAll('-', '')}00000000000`),
    ],
    ['to log in', logIn],
  ])(
    '%s delays only its sender',
    async (_, requestText) => {
      const { statuses, longestMs } = await askDuring(requestText);
      expect(statuses.length).toBeGreaterThan(3);
      expect(new Set(statuses)).toEqual(new Set([200]));
      expect(longestMs).toBeLessThan(5_000);
    },
    60_000,
  );
});

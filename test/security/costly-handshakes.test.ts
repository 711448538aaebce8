import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { createEgressClient } from '../../src/platform/egress/client.js';
import { egressConfig } from '../support/egress-config.js';
import { createCostlyChain } from './support/costly-certificates.js';
import { createLargePrimeServer } from './support/large-prime-server.js';

const client = createEgressClient({ config: egressConfig() });
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function urlOf(server: Server): Promise<string> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** Starts a server with a chain of certificates that are costly to verify. */
async function costlyServer(length: number, version: 'TLSv1.2' | 'TLSv1.3' = 'TLSv1.3') {
  const server = createTlsServer({ ...createCostlyChain(length), minVersion: version, maxVersion: version });
  server.on('connection', (socket) => socket.on('error', () => undefined));
  server.on('tlsClientError', () => undefined);
  let connections = 0;
  server.on('connection', () => (connections += 1));
  return { url: await urlOf(server), connections: () => connections };
}

function get(url: string, accountId = 'acct_1', timeoutMs = 5_000) {
  return client.send({ accountId, method: 'GET', url, headers: {}, timeoutMs, keepBytes: 1_024 });
}

/** The CPU time of this process, which also runs the servers. */
async function cpuMsOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

it('a server cannot make its client compute with a prime of its choice', async () => {
  const url = await urlOf(createLargePrimeServer(createCostlyChain(1)));
  const cpuMs = await cpuMsOf(async () => expect(await get(url)).toMatchObject({ error: 'tls_failed' }));
  expect(cpuMs).toBeLessThan(300);
});

it.each(['TLSv1.2', 'TLSv1.3'] as const)(
  'a long chain of costly certificates is not verified (%s)',
  async (version) => {
    const { url } = await costlyServer(70, version);
    const cpuMs = await cpuMsOf(async () => expect(await get(url)).toMatchObject({ error: 'response_too_large' }));
    expect(cpuMs).toBeLessThan(250);
  },
);

it('costly handshakes of one account take at most a fiftieth of the time, and delay no other account', async () => {
  const { url, connections } = await costlyServer(11);
  const cheap = await costlyServer(1);
  expect(await get(url)).toMatchObject({ error: 'tls_failed' });
  // The handshake took about 80 ms, so the next one may begin 4 s later.
  const waiting = await Promise.all([get(url, 'acct_1', 1_000), get(cheap.url, 'acct_1', 1_000)]);
  expect(waiting).toMatchObject([{ error: 'timeout' }, { error: 'timeout' }]);
  expect(connections() + cheap.connections()).toBe(1);
  expect(await get(cheap.url, 'acct_2', 1_000)).toMatchObject({ error: 'tls_failed' });
}, 30_000);

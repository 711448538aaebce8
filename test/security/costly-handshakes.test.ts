import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AddressInfo, Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { receiverCertificate } from '../integration/webhooks/support/receiver.js';
import { createEgressClient } from '../../src/platform/egress/client.js';
import { egressConfig } from '../support/egress-config.js';
import { createCostlyChain, createManyNames } from './support/costly-certificates.js';
import { createCertificateServer, createLargePrimeServer, WARNING } from './support/raw-tls-server.js';

const EXPLICIT_CURVE = readFileSync(join(__dirname, 'support/explicit-curve-certificate.pem'), 'utf8');
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
  return { url: await urlOf(server) };
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

it.each([
  ['TLSv1.2', Buffer.alloc(0)],
  ['TLSv1.2, after a warning', WARNING],
])('certificates with custom curves are not decoded (%s)', async (_, before) => {
  // Each takes OpenSSL 0.3 s to decode; so many fit into a handshake.
  const url = await urlOf(
    createCertificateServer(
      Array.from({ length: 24 }, () => EXPLICIT_CURVE),
      before,
    ),
  );
  const cpuMs = await cpuMsOf(async () => expect(await get(url)).toMatchObject({ error: 'tls_failed' }));
  expect(cpuMs).toBeLessThan(400);
});

it('certificates with custom curves are not decoded (TLSv1.3)', async () => {
  const { key, cert } = receiverCertificate();
  const chain = [cert.toString(), ...Array.from({ length: 4 }, () => EXPLICIT_CURVE)].join('\n');
  const server = createTlsServer({ key, cert: chain, minVersion: 'TLSv1.3' });
  server.on('tlsClientError', () => undefined);
  const url = await urlOf(server);
  const cpuMs = await cpuMsOf(async () => expect(await get(url)).toMatchObject({ error: 'tls_failed' }));
  expect(cpuMs).toBeLessThan(400);
}, 20_000);

it.each(['TLSv1.2', 'TLSv1.3'] as const)('names that a certificate repeats are not copied (%s)', async (version) => {
  const server = createTlsServer({ ...createManyNames(), minVersion: version, maxVersion: version });
  server.on('tlsClientError', () => undefined);
  const url = await urlOf(server);
  // From Node.js 22 on, this server decodes its certificate when the first client connects.
  await get(url);
  const cpuMs = await cpuMsOf(async () => expect(await get(url)).toMatchObject({ error: 'tls_failed' }));
  expect(cpuMs).toBeLessThan(300);
});

import { createCompletionSender } from '../../src/calls/wiring.js';
import { execFile } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readFile, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseConfig } from '../../src/platform/config/config.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { createWebhookClient } from '../../src/webhooks/client.js';
import { openTestDatabase } from '../support/store/test-database.js';
import { startDnsServer, type DnsServer } from '../support/dns-server.js';
import { egressConfig } from '../support/egress-config.js';
import { createEndedCall } from '../integration/webhooks/support/ended-call.js';
import { startReceiver, type Receiver } from '../integration/webhooks/support/receiver.js';

let dns: DnsServer;
let receiver: Receiver;
let port = '';

beforeAll(async () => {
  dns = await startDnsServer((name) => {
    if (name.endsWith('.dead.example')) return { fault: 'silent' };
    return name.endsWith('.good.example') ? { addresses: ['127.0.0.1'] } : undefined;
  });
  receiver = await startReceiver((response) => response.writeHead(200).end());
  ({ port } = new URL(receiver.url));
});
afterAll(() => Promise.all([dns.close(), receiver.close()]));
afterEach(() => {
  dns.queries.length = 0;
});

function poster() {
  const client = createWebhookClient({ config: egressConfig({ nameservers: [dns.address] }) });
  return (accountId: string, host: string) =>
    client.post({ accountId, url: `http://${host}:${port}/`, body: '{}', headers: {} });
}

const times = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));
const namesAsked = () => new Set(dns.queries.map((question) => question.split(' ')[1] ?? ''));

describe('host names of one customer that never resolve', () => {
  it('do not delay the webhooks of other customers', async () => {
    const post = poster();
    const dead = times(40, (index) => post('acct_dead', `a${index}.dead.example`));
    const delivered = await Promise.all(times(5, (index) => post(`acct_${index}`, `b${index}.good.example`)));
    for (const { delivered: isDelivered, durationMs } of delivered) {
      expect(isDelivered).toBe(true);
      // Each dead name takes two seconds, and ten names are resolved at a time. So all 40 dead names take four rounds
      // of two seconds.
      expect(durationMs).toBeLessThan(1_500);
    }
    for (const { delivered: isDelivered, error } of await Promise.all(dead)) {
      expect({ isDelivered, isKnown: error === 'dns_failed' || error === 'timeout' }).toEqual({
        isDelivered: false,
        isKnown: true,
      });
    }
  });

  it('are resolved ten at a time; the others wait', async () => {
    const post = poster();
    const dead = times(15, (index) => post('acct_dead', `c${index}.dead.example`));
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    // The resolver may still be resolving names of the previous test, so this counts only names of this test.
    const asked = [...namesAsked()].filter((name) => name.startsWith('c'));
    expect(asked.toSorted()).toEqual(times(10, (index) => `c${index}.dead.example`));
    const results = await Promise.all(dead);
    expect([...namesAsked()].filter((name) => name.startsWith('c'))).toHaveLength(15);
    for (const { error } of results) expect(error).toBe('dns_failed');
    const [first] = results;
    expect(first?.durationMs).toBeGreaterThan(1_800);
    expect(first?.durationMs).toBeLessThan(3_500);
  });

  it('hold no slot when attempts end before they are resolved', async () => {
    const post = poster();
    await Promise.all(times(60, (index) => post('acct_dead', `d${index}.dead.example`)));
    await expect(post('acct_dead', 'd.good.example')).resolves.toMatchObject({ delivered: true });
  });
});

describe('webhooks of one customer to 80 receivers that never resolve', () => {
  it('use no slots of other customers', async () => {
    const database = await openTestDatabase('dead_names');
    const config = parseConfig({ WEBHOOK_NAMESERVERS: dns.address });
    const sender = createCompletionSender({
      config,
      database,
      logger: createLogger({ role: 'test', level: 'silent' }),
    });
    const urlOf = (host: string) => `http://${host}:${port}/`;
    const ofDead = await Promise.all(
      times(80, (index) => createEndedCall(database, urlOf(`f${index}.dead.example`), { accountId: 'acct_dead' })),
    );
    const good = await createEndedCall(database, urlOf('f.good.example'), { accountId: 'acct_good' });
    try {
      const attempts = ofDead.map((callId) => sender.attempt(callId));
      await Promise.race(attempts);
      await expect(sender.attempt(good)).resolves.toEqual({ result: 'delivered' });
      await Promise.all(attempts);
    } finally {
      await database.connection.dropDatabase();
      await database.close();
    }
  });
});

describe('the host name of a customer', () => {
  it('needs no thread of the pool that other lookups, files and compression share', async () => {
    const release = await occupyThreads();
    try {
      const post = poster();
      const responses = await Promise.all([post('acct_1', 'localhost'), post('acct_1', 'e.good.example')]);
      for (const { delivered, durationMs } of responses) {
        expect(delivered).toBe(true);
        expect(durationMs).toBeLessThan(2_000);
      }
    } finally {
      release();
    }
  });
});

/** Keeps every thread of Node's thread pool busy, as unanswered lookups do, by reading from pipes without a writer. */
async function occupyThreads(): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'callwright-threads-'));
  const pipes = times(Number(process.env['UV_THREADPOOL_SIZE'] ?? 4), (index) => join(folder, String(index)));
  await promisify(execFile)('mkfifo', pipes);
  for (const pipe of pipes) readFile(pipe, () => {});
  return () => {
    for (const pipe of pipes) closeSync(openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK));
    rmSync(folder, { recursive: true });
  };
}

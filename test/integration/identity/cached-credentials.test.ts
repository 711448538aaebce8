import { setTimeout as sleep } from 'node:timers/promises';
import { createApiServer } from '../../../src/api/server.js';
import { openDatabase } from '../../../src/database.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { startService, type Customer, type Service } from '../../support/http/harness.js';
import { managementOf } from '../../support/http/management-support.js';
import { startStoreLink, type StoreLink } from '../../support/store/store-link.js';

jest.setTimeout(120_000);

/** A change applies in every process after this time. */
const EVERYWHERE_MS = 1_000;

type Instance = Awaited<ReturnType<typeof startInstance>>;

/** Starts another instance of the API on the service's database. It reaches the database over a link. */
async function startInstance(service: Service, link: StoreLink) {
  const name = new URL(service.config.mongodbUri).pathname.slice(1);
  const database = await openDatabase(link.uri(name, '?monitorCommands=true'), { waitMs: 500 });
  const { config, gateway } = service;
  const logger = createLogger({ role: 'test', level: 'silent' });
  const server = createApiServer({ config, database, gateway, logger, minDeadlineMs: 0, mailDelayMs: () => 0 });
  const { port } = await server.listen();
  const commands: string[] = [];
  database.connection.getClient().on('commandStarted', ({ commandName, command }) => {
    commands.push(`${commandName} ${String(command[commandName])}`);
  });
  return {
    database,
    /** Commands of the driver, by name and collection, except polls, which have their own connection. */
    commands,
    get: async (path: string, key: string) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { Authorization: `Bearer ${key}` } });
      await response.text();
      return response;
    },
    async close(): Promise<void> {
      await server.close();
      await database.close();
    },
  };
}

let service: Service;
let link: StoreLink;
let other: Instance;
let customer: Customer;
let status: string;

beforeAll(async () => {
  service = await startService({ worker: false });
  link = await startStoreLink(process.env.TEST_MONGODB_URI ?? '');
  other = await startInstance(service, link);
  customer = await service.customer();
  status = `/outbound_call?call_id=${await managementOf(service).endedCall(customer)}`;
});
afterAll(async () => {
  await other.close();
  await link.close();
  await service.close();
});

const here = async (key: string) => (await service.request(status, { key })).status;
const there = async (key: string) => (await other.get(status, key)).status;

/** Sends requests until the other instance answers from its cache. On a busy machine a request may come too late. */
async function warm(key: string): Promise<void> {
  for (let n = 0; n < 200; n++) {
    other.commands.length = 0;
    const code = await there(key);
    if (code === 503) continue;
    expect(code).toBe(200);
    if (!other.commands.includes('find api_keys')) return;
    await sleep(20);
  }
  throw new Error('The key is never cached.');
}

/** Sends requests to the other instance, which keep its cache in use, until a change must apply there. */
async function stayInUse(key: string, changedAt: number): Promise<void> {
  while (performance.now() - changedAt < EVERYWHERE_MS) {
    await there(key);
    await sleep(30);
  }
}

const newKey = (expiresAt?: Date) =>
  service.apiKeys.create({
    accountId: customer.account._id,
    mode: 'live',
    name: 'key',
    ...(expiresAt === undefined ? {} : { expiresAt }),
  });

describe('GET /outbound_call with a cached key', () => {
  it('sends one command, and a lease of the rate limit from time to time', async () => {
    const polls = link.countOf('credential_epochs');
    const beganAt = performance.now();
    const { secret } = await newKey();
    await warm(secret);
    const sent: string[] = [];
    for (let n = 0; n < 200; n++) {
      await warm(secret);
      sent.push(other.commands.join(', '));
    }
    expect(sent.every((commands) => commands.includes('find calls'))).toBe(true);
    expect(new Set(sent.flatMap((commands) => commands.split(', ')))).toEqual(
      new Set(['find calls', 'findAndModify rate_limits']),
    );
    expect(sent.filter((commands) => commands === 'find calls').length).toBeGreaterThanOrEqual(170);
    expect(polls()).toBeLessThanOrEqual((performance.now() - beganAt) / 400 + 2);
  });

  it('causes no poll without requests', async () => {
    await sleep(500);
    const polls = link.countOf('credential_epochs');
    await sleep(1_500);
    expect(polls()).toBe(0);
  });
});

describe('a cached key', () => {
  it('is rejected at once where it is revoked, and within a second elsewhere, with the keys made with it', async () => {
    for (let round = 0; round < 5; round++) {
      const { secret, key } = await newKey();
      const child = await service.apiKeys.create({
        accountId: customer.account._id,
        mode: 'live',
        name: 'child',
        madeBy: key,
      });
      await warm(secret);
      await warm(child.secret);
      expect(await here(secret)).toBe(200);
      await service.apiKeys.revoke(key.keyId);
      const revokedAt = performance.now();
      expect([await here(secret), await here(child.secret)]).toEqual([401, 401]);
      await stayInUse(secret, revokedAt);
      expect([await there(secret), await there(child.secret)]).toEqual([401, 401]);
    }
  });

  it('is rejected when it expires, although it is cached', async () => {
    const { secret, key } = await newKey(new Date(Date.now() + 60_000));
    await warm(secret);
    await service.apiKeys.update(key.keyId, { expiresAt: new Date(Date.now() + 8_000) });
    await sleep(EVERYWHERE_MS);
    await warm(secret);
    const expiresAt = (await service.apiKeys.find({ accountId: customer.account._id, mode: 'live', keyId: key.keyId }))
      ?.expiresAt;
    while (Date.now() < (expiresAt?.getTime() ?? Infinity)) {
      await there(secret);
      await sleep(20);
    }
    expect([await here(secret), await there(secret)]).toEqual([401, 401]);
  });

  it('has the limits of its account that an operator set, within a second', async () => {
    const { secret } = await newKey();
    await warm(secret);
    await service.accounts.setLimits(customer.account._id, { requestsPerMinute: 777 });
    await stayInUse(secret, performance.now());
    const { headers } = await other.get(status, secret);
    expect(headers.get('ratelimit-policy')).toBe('"default";q=777;w=60');
    await service.accounts.setLimits(customer.account._id, { requestsPerMinute: 100_000 });
  });

  it('is rejected within a second when its account is deleted', async () => {
    const gone = await service.customer();
    await other.get(status, gone.liveKey);
    const { accounts, credentials } = service.database;
    for (let n = 0; n < 50; n++) await other.get(status, gone.liveKey);
    await credentials.change(() => accounts.deleteOne({ _id: gone.account._id }).exec());
    await stayInUse(gone.liveKey, performance.now());
    expect((await other.get(status, gone.liveKey)).status).toBe(401);
  });
});

describe('while polls fail', () => {
  it('keys are read with each request, so that a revocation applies to the next one', async () => {
    const { secret, key } = await newKey();
    await warm(secret);
    link.breakFor('credential_epochs');
    try {
      await sleep(EVERYWHERE_MS + 500);
      for (let n = 0; n < 5; n++) {
        other.commands.length = 0;
        expect(await there(secret)).toBe(200);
        expect(other.commands).toEqual(expect.arrayContaining(['find api_keys', 'find accounts', 'find calls']));
        await sleep(300);
      }
      await service.apiKeys.revoke(key.keyId);
      expect(await there(secret)).toBe(401);
    } finally {
      link.repair();
    }
    await warm((await newKey()).secret);
  });

  it('a cached key stops working a second after the database is lost', async () => {
    const { secret } = await newKey();
    await warm(secret);
    link.breakAll();
    try {
      await sleep(EVERYWHERE_MS + 100);
      expect(await there(secret)).toBe(503);
    } finally {
      link.repair();
    }
    await warm(secret);
  });
});

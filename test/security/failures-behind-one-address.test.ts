import { randomBytes } from 'node:crypto';
import { Agent, get } from 'node:http';
import { createCredentialLookups } from '../../src/identity/access/credential-lookups.js';
import { newSecret } from '../../src/identity/api-keys/api-key-secret.js';
import { expectError, startService, type Customer, type Service } from '../support/http/harness.js';
import { createBrowser, type Browser } from '../support/http/portal-support.js';

/** More failed requests than one address may send in a minute. */
const FLOOD = 3_050;

let service: Service;
let customer: Customer;
let member: Browser;
beforeAll(async () => {
  service = await startService({ worker: false });
  customer = await service.customer();
  member = createBrowser(service);
  await member.signUp();
});
afterAll(() => service.close());

const ask = (key: string) => service.request('/balance', { key });

/**
 * Sends requests with an invalid key. Uses less CPU time than fetch, because it sends thousands of requests within a
 * minute.
 */
async function fail(times: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 50 });
  const headers = { Authorization: 'Bearer garbage' };
  const one = () =>
    new Promise<void>((resolve, reject) => {
      get({ port: service.port, host: '127.0.0.1', path: '/balance', agent, headers }, (response) => {
        response.resume().on('end', resolve);
      }).on('error', reject);
    });
  await Promise.all(Array.from({ length: times }, one));
  agent.destroy();
}

describe('an address with too many failures', () => {
  it('gets 429 for guesses, but not for valid keys and sessions', async () => {
    await fail(FLOOD);
    for (const guess of ['garbage', newSecret('live'), newSecret('test')]) {
      const rejected = await ask(guess);
      expectError(rejected, 429, 'RATE_LIMIT_EXCEEDED');
      expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    // The first time, the key is new to this process; the second time, the process has seen it.
    for (let time = 0; time < 2; time++) {
      expect((await ask(customer.liveKey)).status).toBe(200);
      expect((await ask(customer.testKey)).status).toBe(200);
      expect((await member.get('/portal/session')).status).toBe(200);
    }
    const anonymous = createBrowser(service);
    anonymous.cookie = `__Host-sid=${randomBytes(32).toString('base64url')}`;
    expectError(await anonymous.get('/portal/session'), 429, 'RATE_LIMIT_EXCEEDED');
    // A key that has expired is limited like a guessed key.
    const { secret, key } = await service.apiKeys.create({
      accountId: customer.account._id,
      mode: 'live',
      name: 'revoked',
    });
    expect((await ask(secret)).status).toBe(200);
    await service.apiKeys.revoke(key.keyId);
    expectError(await ask(secret), 429, 'RATE_LIMIT_EXCEEDED');
  }, 120_000);
});

describe('guesses from an address with too many failures', () => {
  const later = () => Date.now() + 10_000;
  /** Returns a look-up that lasts until the test ends it. */
  const slow = () => {
    const ends: (() => void)[] = [];
    return { ends, lookUp: () => new Promise<null>((resolve) => ends.push(() => resolve(null))) };
  };

  it('are looked up a few at a time, and not at all when too many wait', async () => {
    const lookUps = createCredentialLookups({ maxRunning: 2, maxWaiting: 1 });
    const { ends, lookUp } = slow();
    const find = (secret: string) =>
      lookUps.find(secret, { hasFailedTooOften: true, deadline: later() }, lookUp, String);
    const lookUpResults = ['a', 'b', 'c'].map(find);
    expect(ends).toHaveLength(2);
    expect(await find('d')).toBeNull();
    expect(ends).toHaveLength(2);
    ends[0]?.();
    await lookUpResults[0];
    expect(ends).toHaveLength(3);
    for (const end of ends) end();
    expect(await Promise.all(lookUpResults)).toEqual([null, null, null]);
  });

  it('delay neither a known valid key nor other addresses', async () => {
    const lookUps = createCredentialLookups({ maxRunning: 1, maxWaiting: 1 });
    const { ends, lookUp } = slow();
    const crowded = { hasFailedTooOften: true, deadline: later() };
    const good = async () => 'account';
    expect(await lookUps.find('known', crowded, good, String)).toBe('account');
    const guesses = ['a', 'b'].map((guess) => lookUps.find(guess, crowded, lookUp, String));
    expect(await lookUps.find('known', crowded, good, String)).toBe('account');
    expect(await lookUps.find('new', { hasFailedTooOften: false, deadline: later() }, good, String)).toBe('account');
    ends[0]?.();
    await guesses[0];
    ends[1]?.();
    await guesses[1];
  });

  it('leave most of the database connections to other requests', async () => {
    const lookUps = createCredentialLookups();
    const { ends, lookUp } = slow();
    const all = Array.from({ length: 40 }, (_, n) =>
      lookUps.find(`guess ${n}`, { hasFailedTooOften: true, deadline: later() }, lookUp, String),
    );
    await new Promise((resolve) => setImmediate(resolve));
    expect(ends).toHaveLength(6);
    for (let n = 0; n < 40; n++) {
      ends[n]?.();
      await all[n];
    }
  });

  it('cost no look-up after their deadline', async () => {
    const lookUps = createCredentialLookups({ maxRunning: 1 });
    const { ends, lookUp } = slow();
    const first = lookUps.find('a', { hasFailedTooOften: true, deadline: later() }, lookUp, String);
    const late = lookUps.find('b', { hasFailedTooOften: true, deadline: Date.now() - 1 }, lookUp, String);
    ends[0]?.();
    await first;
    await expect(late).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect(ends).toHaveLength(1);
  });

  it('never push known valid keys out of memory; many valid keys push out the oldest', async () => {
    const lookUps = createCredentialLookups({ maxRunning: 1, maxWaiting: 0, maxRemembered: 2 });
    const crowded = { hasFailedTooOften: true, deadline: later() };
    const good = async () => 'account';
    for (const key of ['one', 'two']) await lookUps.find(key, crowded, good, String);
    for (let guess = 0; guess < 5; guess++) await lookUps.find(`guess ${guess}`, crowded, async () => null, String);
    const { ends, lookUp } = slow();
    const busy = lookUps.find('busy', crowded, lookUp, String);
    expect(await lookUps.find('one', crowded, good, String)).toBe('account');
    await lookUps.find('three', { ...crowded, hasFailedTooOften: false }, good, String);
    expect(await lookUps.find('one', crowded, good, String)).toBe('account');
    expect(await lookUps.find('two', crowded, good, String)).toBeNull();
    ends[0]?.();
    await busy;
  });
});

import { randomBytes } from 'node:crypto';
import { Agent, get } from 'node:http';
import { createLookUps } from '../../src/identity/access/look-ups.js';
import { newSecret } from '../../src/identity/api-keys/api-key-secret.js';
import { expectError, startService, type Customer, type Service } from '../support/http/harness.js';
import { createBrowser, type Browser } from '../support/http/portal-support.js';

/** More failures than one address may have in a minute. */
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

/** Requests with a garbage key; lighter than fetch, because there are thousands within a minute. */
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

describe('an address whose users failed too often', () => {
  it('refuses guesses, and no valid key or session of others', async () => {
    await fail(FLOOD);
    for (const guess of ['garbage', newSecret('live'), newSecret('test')]) {
      const refused = await ask(guess);
      expectError(refused, 429, 'RATE_LIMIT_EXCEEDED');
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    // Never seen before by this process, and again.
    for (let time = 0; time < 2; time++) {
      expect((await ask(customer.liveKey)).status).toBe(200);
      expect((await ask(customer.testKey)).status).toBe(200);
      expect((await member.get('/portal/session')).status).toBe(200);
    }
    const stranger = createBrowser(service);
    stranger.cookie = `__Host-sid=${randomBytes(32).toString('base64url')}`;
    expectError(await stranger.get('/portal/session'), 429, 'RATE_LIMIT_EXCEEDED');
    // A key that is not valid any more is refused as a guess is.
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

describe('guesses of a crowded address', () => {
  const later = () => Date.now() + 10_000;
  /** Look-ups that last until they are told to end. */
  const slow = () => {
    const ends: (() => void)[] = [];
    return { ends, lookUp: () => new Promise<null>((resolve) => ends.push(() => resolve(null))) };
  };

  it('are looked up a few at a time, and not at all when too many wait', async () => {
    const lookUps = createLookUps({ atOnce: 2, mostWaiting: 1 });
    const { ends, lookUp } = slow();
    const find = (secret: string) => lookUps.find(secret, { isCrowded: true, deadline: later() }, lookUp);
    const asked = ['a', 'b', 'c'].map(find);
    expect(ends).toHaveLength(2);
    expect(await find('d')).toBeNull();
    expect(ends).toHaveLength(2);
    ends[0]?.();
    await asked[0];
    expect(ends).toHaveLength(3);
    for (const end of ends) end();
    expect(await Promise.all(asked)).toEqual([null, null, null]);
  });

  it('delay neither a key that was good before nor another address', async () => {
    const lookUps = createLookUps({ atOnce: 1, mostWaiting: 1 });
    const { ends, lookUp } = slow();
    const crowded = { isCrowded: true, deadline: later() };
    const good = async () => 'account';
    expect(await lookUps.find('known', crowded, good)).toBe('account');
    const guesses = ['a', 'b'].map((guess) => lookUps.find(guess, crowded, lookUp));
    expect(await lookUps.find('known', crowded, good)).toBe('account');
    expect(await lookUps.find('new', { isCrowded: false, deadline: later() }, good)).toBe('account');
    ends[0]?.();
    await guesses[0];
    ends[1]?.();
    await guesses[1];
  });

  it('leave two thirds of the database’s connections to everybody else', async () => {
    const lookUps = createLookUps();
    const { ends, lookUp } = slow();
    const all = Array.from({ length: 40 }, (_, n) =>
      lookUps.find(`guess ${n}`, { isCrowded: true, deadline: later() }, lookUp),
    );
    await new Promise((resolve) => setImmediate(resolve));
    expect(ends).toHaveLength(6);
    for (let n = 0; n < 40; n++) {
      ends[n]?.();
      await all[n];
    }
  });

  it('cost no look-up when nobody waits for the answer any more', async () => {
    const lookUps = createLookUps({ atOnce: 1 });
    const { ends, lookUp } = slow();
    const first = lookUps.find('a', { isCrowded: true, deadline: later() }, lookUp);
    const late = lookUps.find('b', { isCrowded: true, deadline: Date.now() - 1 }, lookUp);
    ends[0]?.();
    await first;
    await expect(late).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect(ends).toHaveLength(1);
  });

  it('push good keys out of memory never, and many good ones the oldest', async () => {
    const lookUps = createLookUps({ atOnce: 1, mostWaiting: 0, remembered: 2 });
    const crowded = { isCrowded: true, deadline: later() };
    const good = async () => 'account';
    for (const key of ['one', 'two']) await lookUps.find(key, crowded, good);
    for (let guess = 0; guess < 5; guess++) await lookUps.find(`guess ${guess}`, crowded, async () => null);
    const { ends, lookUp } = slow();
    const busy = lookUps.find('busy', crowded, lookUp);
    expect(await lookUps.find('one', crowded, good)).toBe('account');
    await lookUps.find('three', { ...crowded, isCrowded: false }, good);
    expect(await lookUps.find('one', crowded, good)).toBe('account');
    expect(await lookUps.find('two', crowded, good)).toBeNull();
    ends[0]?.();
    await busy;
  });
});

import { expectError, startService, type Service } from '../support/http/harness.js';
import { createBrowser, resetRateLimits, PASSWORD } from '../support/http/portal-support.js';
import { createDelays } from '../../src/identity/sign-in/delays.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false, env: { TRUST_PROXY: 'true' } });
});
afterAll(() => service.close());
beforeEach(() => resetRateLimits(service));

let lastNumber = 0;
/** Returns a client address that no test has used yet. */
const newAddress = () => `198.51.${Math.floor(++lastNumber / 250)}.${lastNumber % 250}`;
const tryPassword = async (email: string, password: string, address = newAddress()) => {
  const startedAt = performance.now();
  const body = { email, password };
  const response = await createBrowser(service).send('POST', '/portal/log-in', body, { 'X-Forwarded-For': address });
  return Object.assign(response, { ms: performance.now() - startedAt });
};

describe('a password cannot be guessed', () => {
  it('from one address: after five failures in 15 minutes it gets 429, an IPv6 address by its /64 network', async () => {
    const email = await createBrowser(service).signUp();
    const forms = ['2001:db8::1', '2001:db8:0:0::2', '2001:0db8:0000:0000:aaaa::3', '[2001:db8::4]', '2001:DB8::5'];
    for (const form of forms) expectError(await tryPassword(email, 'wrong horse battery', form), 401, 'UNAUTHORIZED');
    expectError(await tryPassword(email, PASSWORD, '2001:db8::6'), 429, 'RATE_LIMIT_EXCEEDED');
    expect((await tryPassword(email, PASSWORD, '2001:db8:0:1::1')).status).toBe(200);
  });

  it('from many addresses: each failure delays the next attempt by up to 5 s, but the owner is not locked out', async () => {
    const email = await createBrowser(service).signUp();
    for (const who of [email, 'unknown@example.com']) {
      const times: number[] = [];
      for (let count = 0; count < 9; count++) {
        const response = await tryPassword(who, `wrong horse ${count}`);
        expectError(response, 401, 'UNAUTHORIZED');
        times.push(response.ms);
      }
      expect(times[7]).toBeGreaterThan(950);
      expect(times[8]).toBeGreaterThan(1_950);
    }
    await service.database.rateLimits.updateMany({ key: /^failures:/ }, { $set: { points: 100_000 } });
    const right = await tryPassword(email, PASSWORD);
    expect(right.status).toBe(200);
    expect(right.ms).toBeGreaterThan(4_900);
    expect(right.ms).toBeLessThan(8_000);
    // A successful log-in resets the delay.
    expect((await tryPassword(email, PASSWORD)).ms).toBeLessThan(2_000);
  });

  it('with simultaneous attempts: a new address is delayed like any other, and so is the owner after a typo', async () => {
    const email = await createBrowser(service).signUp();
    const known = newAddress();
    for (let count = 0; count < 6; count++) {
      await tryPassword(email, 'wrong horse battery', count === 0 ? known : newAddress());
    }
    await service.database.rateLimits.updateMany({ key: /^failures:/ }, { $set: { points: 100_000 } });
    const guesses = Array.from({ length: 12 }, () => tryPassword(email, 'wrong horse battery'));
    await new Promise((resolve) => setTimeout(resolve, 1_500));

    const [fresh, owner] = await Promise.all([
      tryPassword(email, 'wrong horse battery'),
      tryPassword(email, PASSWORD, known),
      // Other users can log in without delay at the same time.
      createBrowser(service)
        .signUp()
        .then(async (other) => expect((await tryPassword(other, PASSWORD)).ms).toBeLessThan(3_000)),
    ]);
    const summaryOf = ({ status, ms }: typeof owner) => ({ status, isDelayed: ms > 4_900 });
    expect({ fresh: summaryOf(fresh), owner: summaryOf(owner) }).toEqual({
      fresh: { status: 401, isDelayed: true },
      owner: { status: 200, isDelayed: true },
    });
    for (const { status } of await Promise.all(guesses)) expect(status).toBe(401);
  });

  it('with simultaneous attempts from one address: two wait, a third is rejected without being counted', async () => {
    const email = await createBrowser(service).signUp();
    for (let count = 0; count < 6; count++) await tryPassword(email, 'wrong horse battery');
    await service.database.rateLimits.updateMany({ key: /^failures:/ }, { $set: { points: 100_000 } });
    const address = newAddress();
    const responses = await Promise.all(Array.from({ length: 4 }, () => tryPassword(email, 'wrong horse', address)));
    expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([401, 401, 429, 429]);
    const rejected = responses.find(({ status }) => status === 429);
    expectError(rejected!, 429, 'RATE_LIMIT_EXCEEDED');
    expect(rejected?.headers.get('retry-after')).toBe('5');
    expect((await tryPassword(email, PASSWORD, address)).status).toBe(200);
  });

  it('through the change of a password', async () => {
    const owner = createBrowser(service);
    await owner.signUp();
    const change = (current: string) =>
      owner.post('/portal/password', { current_password: current, new_password: 'another horse battery' });
    for (let count = 0; count < 5; count++) expectError(await change(`wrong ${count}`), 400, 'MISSING_PARAMS');
    expectError(await change(PASSWORD), 429, 'RATE_LIMIT_EXCEEDED');
  });
});

it('correct passwords never use up the attempts of an address', async () => {
  const address = newAddress();
  const emails: string[] = [];
  for (let count = 0; count < 4; count++) emails.push(await createBrowser(service).signUp());
  for (let count = 0; count < 64; count++) {
    expect((await tryPassword(emails[count % 4]!, PASSWORD, address)).status).toBe(200);
  }
});

describe('a flood of delayed log-in attempts', () => {
  const LONG_MS = 60_000;
  /** Starts delayed attempts, each from another address of the same network, and counts how many are rejected. */
  function flood(delays: ReturnType<typeof createDelays>, p: { email: string; network: string; tries: number }) {
    const state = { rejected: 0 };
    for (let count = 0; count < p.tries; count++) {
      const address = `${p.network}.${Math.floor(count / 250)}.${count % 250}`;
      const waits = delays.wait({ email: p.email, address }, LONG_MS);
      void waits.then((hasWaited) => (state.rejected += hasWaited ? 0 : 1));
    }
    return state;
  }
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('rejects neither other e-mail addresses nor the owner in another network, and stays within the limit', async () => {
    const delays = createDelays();
    const owner = delays.wait({ email: 'ada', address: '203.0.113.7' }, 5_000);
    const other = delays.wait({ email: 'grace', address: '198.51.0.1' }, 5_000);
    const ofOne = flood(delays, { email: 'ada', network: '198.51', tries: 5_000 });
    const late = delays.wait({ email: 'ada', address: '2001:db8::/64' }, 5_000);
    const ofMany = Array.from({ length: 100 }, (_, which) =>
      flood(delays, { email: `e-mail ${which}`, network: '198.51', tries: 40 }),
    );
    expect(jest.getTimerCount()).toBe(1_000);
    await jest.advanceTimersByTimeAsync(5_000);
    expect(await Promise.all([owner, other, late])).toEqual([true, true, true]);
    expect(ofOne.rejected).toBeGreaterThanOrEqual(4_952);
    expect(ofMany.reduce((sum, { rejected }) => sum + rejected, 0)).toBeGreaterThan(3_000);
    await jest.advanceTimersByTimeAsync(LONG_MS);
    expect(jest.getTimerCount()).toBe(0);
  });
});

import { expectError, startService, type Service } from '../http/harness.js';
import { createBrowser, forgetLimits, PASSWORD } from '../http/portal-support.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false, env: { TRUST_PROXY: 'true' } });
});
afterAll(() => service.close());
beforeEach(() => forgetLimits(service));

let last = 0;
/** An address that nobody has used yet. */
const newAddress = () => `198.51.${Math.floor(++last / 250)}.${last % 250}`;
const tryPassword = async (email: string, password: string, address = newAddress()) => {
  const startedAt = performance.now();
  const body = { email, password };
  const answer = await createBrowser(service).send('POST', '/portal/log-in', body, { 'X-Forwarded-For': address });
  return Object.assign(answer, { ms: performance.now() - startedAt });
};

describe('a password cannot be guessed', () => {
  it('from one address: five failures in 15 minutes, IPv6 by its /64 however it is written', async () => {
    const email = await createBrowser(service).signUp();
    const forms = ['2001:db8::1', '2001:db8:0:0::2', '2001:0db8:0000:0000:aaaa::3', '[2001:db8::4]', '2001:DB8::5'];
    for (const form of forms) expectError(await tryPassword(email, 'wrong horse battery', form), 401, 'UNAUTHORIZED');
    expectError(await tryPassword(email, PASSWORD, '2001:db8::6'), 429, 'RATE_LIMIT_EXCEEDED');
    expect((await tryPassword(email, PASSWORD, '2001:db8:0:1::1')).status).toBe(200);
  });

  it('from many addresses at speed: each failure delays the next, 5 s at most, and locks nobody out', async () => {
    const email = await createBrowser(service).signUp();
    for (const who of [email, 'unknown@example.com']) {
      const times: number[] = [];
      for (let count = 0; count < 9; count++) {
        const answer = await tryPassword(who, `wrong horse ${count}`);
        expectError(answer, 401, 'UNAUTHORIZED');
        times.push(answer.ms);
      }
      expect(times[7]).toBeGreaterThan(950);
      expect(times[8]).toBeGreaterThan(1_950);
    }
    await service.database.rateLimits.updateMany({ key: /^failures:/ }, { $set: { points: 100_000 } });
    const right = await tryPassword(email, PASSWORD);
    expect(right.status).toBe(200);
    expect(right.ms).toBeGreaterThan(4_900);
    expect(right.ms).toBeLessThan(8_000);
    // A success ends the delay.
    expect((await tryPassword(email, PASSWORD)).ms).toBeLessThan(2_000);
  });

  it('by many tries at once: only so many are held back, and an address that has failed is turned away', async () => {
    const email = await createBrowser(service).signUp();
    const known = newAddress();
    for (let count = 0; count < 6; count++) {
      await tryPassword(email, 'wrong horse battery', count === 0 ? known : newAddress());
    }
    await service.database.rateLimits.updateMany({ key: /^failures:/ }, { $set: { points: 100_000 } });
    const held = Array.from({ length: 10 }, () => tryPassword(email, 'wrong horse battery'));
    await new Promise((resolve) => setTimeout(resolve, 1_500));

    const turnedAway = await tryPassword(email, 'wrong horse battery', known);
    expectError(turnedAway, 429, 'RATE_LIMIT_EXCEEDED');
    expect(turnedAway.headers.get('retry-after')).toBe('5');
    // The owner comes from an address without failures and is not locked out, however many strangers wait.
    expect((await tryPassword(email, PASSWORD)).status).toBe(200);
    // Somebody else's log-in is not held back meanwhile.
    const other = await createBrowser(service).signUp();
    expect((await tryPassword(other, PASSWORD)).ms).toBeLessThan(2_000);
    for (const { status } of await Promise.all(held)) expect(status).toBe(401);
  });

  it('by the change of a password', async () => {
    const owner = createBrowser(service);
    await owner.signUp();
    const change = (current: string) =>
      owner.post('/portal/password', { current_password: current, new_password: 'another horse battery' });
    for (let count = 0; count < 5; count++) expectError(await change(`wrong ${count}`), 400, 'MISSING_PARAMS');
    expectError(await change(PASSWORD), 429, 'RATE_LIMIT_EXCEEDED');
  });
});

it('right passwords never use up the tries of an address', async () => {
  const email = await createBrowser(service).signUp();
  const address = newAddress();
  for (let count = 0; count < 62; count++) expect((await tryPassword(email, PASSWORD, address)).status).toBe(200);
});

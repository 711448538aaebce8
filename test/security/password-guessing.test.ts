import { expectError, startService, type Service } from '../support/http/harness.js';
import { createBrowser, forgetLimits, PASSWORD } from '../support/http/portal-support.js';
import { createDelays } from '../../src/identity/sign-in/delays.js';

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

  it('by many tries at once: an address without failures waits like any other, and so does the owner after a typo', async () => {
    const email = await createBrowser(service).signUp();
    const known = newAddress();
    for (let count = 0; count < 6; count++) {
      await tryPassword(email, 'wrong horse battery', count === 0 ? known : newAddress());
    }
    await service.database.rateLimits.updateMany({ key: /^failures:/ }, { $set: { points: 100_000 } });
    const strangers = Array.from({ length: 12 }, () => tryPassword(email, 'wrong horse battery'));
    await new Promise((resolve) => setTimeout(resolve, 1_500));

    const [fresh, owner] = await Promise.all([
      tryPassword(email, 'wrong horse battery'),
      tryPassword(email, PASSWORD, known),
      // Somebody else's log-in is not held back meanwhile.
      createBrowser(service)
        .signUp()
        .then(async (other) => expect((await tryPassword(other, PASSWORD)).ms).toBeLessThan(3_000)),
    ]);
    const toldOf = ({ status, ms }: typeof owner) => ({ status, isDelayed: ms > 4_900 });
    expect({ fresh: toldOf(fresh), owner: toldOf(owner) }).toEqual({
      fresh: { status: 401, isDelayed: true },
      owner: { status: 200, isDelayed: true },
    });
    for (const { status } of await Promise.all(strangers)) expect(status).toBe(401);
  });

  it('by many tries of one address at once: two wait, a third is turned away and costs nothing', async () => {
    const email = await createBrowser(service).signUp();
    for (let count = 0; count < 6; count++) await tryPassword(email, 'wrong horse battery');
    await service.database.rateLimits.updateMany({ key: /^failures:/ }, { $set: { points: 100_000 } });
    const address = newAddress();
    const answers = await Promise.all(Array.from({ length: 4 }, () => tryPassword(email, 'wrong horse', address)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([401, 401, 429, 429]);
    const turnedAway = answers.find(({ status }) => status === 429);
    expectError(turnedAway!, 429, 'RATE_LIMIT_EXCEEDED');
    expect(turnedAway?.headers.get('retry-after')).toBe('5');
    expect((await tryPassword(email, PASSWORD, address)).status).toBe(200);
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
  const address = newAddress();
  const emails: string[] = [];
  for (let count = 0; count < 4; count++) emails.push(await createBrowser(service).signUp());
  for (let count = 0; count < 64; count++) {
    expect((await tryPassword(emails[count % 4]!, PASSWORD, address)).status).toBe(200);
  }
});

describe('who floods the places of tries that wait', () => {
  const LONG_MS = 60_000;
  /** Waiting tries, each of an own address of the network, and how many of them were turned away so far. */
  function flood(delays: ReturnType<typeof createDelays>, p: { email: string; network: string; tries: number }) {
    const state = { turnedAway: 0 };
    for (let count = 0; count < p.tries; count++) {
      const address = `${p.network}.${Math.floor(count / 250)}.${count % 250}`;
      const waits = delays.wait({ email: p.email, address }, LONG_MS);
      void waits.then((hasWaited) => (state.turnedAway += hasWaited ? 0 : 1));
    }
    return state;
  }
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('turns away neither another e-mail address nor its owner in another network, and no more wait than may', async () => {
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
    expect(ofOne.turnedAway).toBeGreaterThanOrEqual(4_952);
    expect(ofMany.reduce((sum, { turnedAway }) => sum + turnedAway, 0)).toBeGreaterThan(3_000);
    await jest.advanceTimersByTimeAsync(LONG_MS);
    expect(jest.getTimerCount()).toBe(0);
  });
});

import { startService, type Service } from '../support/http/harness.js';
import { createBrowser, forgetLimits, PASSWORD } from '../support/http/portal-support.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false });
});
afterAll(() => service.close());
beforeEach(() => forgetLimits(service));

/** All from one network address. */
const logIn = (email: string, { password = PASSWORD, cookie = '' } = {}) =>
  createBrowser(service).send('POST', '/portal/log-in', { email, password }, cookie === '' ? {} : { Cookie: cookie });
const statusOf = async (...given: Parameters<typeof logIn>) => (await logIn(...given)).status;

/** Somebody who has logged in, and the cookie by which the browser is known. */
async function known() {
  const email = await createBrowser(service).signUp();
  const cookies = (await logIn(email)).headers.getSetCookie();
  return { email, cookie: cookies.find((set) => set.includes('known='))?.split(';')[0] ?? '' };
}

/** What 60 wrong log-ins with other e-mail addresses, and five with hers, leave behind. */
async function flood(email: string): Promise<void> {
  for (let count = 0; count < 5; count++) await logIn(email, { password: 'wrong horse battery' });
  await service.database.rateLimits.updateMany({ key: /^log-ins:[^k]/ }, { $set: { points: 60 } });
}

describe('who shares an address with strangers', () => {
  it('logs in where they did before, however often others fail there', async () => {
    const { email, cookie } = await known();
    await flood(email);
    expect(await statusOf(email)).toBe(429);
    expect(await statusOf(email, { cookie })).toBe(200);
  });

  it('is guessed no faster: the cookie is for one e-mail address, cannot be made, and gives five tries', async () => {
    const { email, cookie } = await known();
    const other = await known();
    await flood(email);
    const [name = '', value = ''] = cookie.split('=');
    const forged = [
      `${name}=${value.replace(/.$/, (end) => (end === 'A' ? 'B' : 'A'))}`,
      `${name}=`,
      `${cookie}; ${cookie}`,
    ];
    for (const bad of [other.cookie, ...forged]) expect(await statusOf(email, { cookie: bad })).toBe(429);
    const guess = { password: 'wrong horse battery', cookie };
    for (let count = 0; count < 5; count++) expect(await statusOf(email, guess)).toBe(401);
    expect(await statusOf(email, { cookie })).toBe(429);
    expect(await service.request('/portal/session', { headers: { Cookie: cookie } })).toMatchObject({ status: 401 });
  });

  it('gets no more tries for collecting cookies of one e-mail address', async () => {
    const { email, cookie } = await known();
    const others = await known();
    const collected = (await logIn(email)).headers.getSetCookie().find((set) => set.includes('known='));
    const another = collected?.split(';')[0] ?? '';
    expect(another).not.toBe(cookie);
    await flood(email);
    expect(await statusOf(email, { password: 'wrong horse battery', cookie })).toBe(401);
    // As twenty tries with cookies of hers leave it; others are not affected.
    await service.database.rateLimits.updateMany({ key: /known-browsers:/, points: 1 }, { $set: { points: 20 } });
    expect(await statusOf(others.email, { cookie: others.cookie })).toBe(200);
    expect(await statusOf(email, { cookie: another })).toBe(429);
  });
});

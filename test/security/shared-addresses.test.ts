import { startService, type Service } from '../support/http/harness.js';
import { createBrowser, resetRateLimits, PASSWORD } from '../support/http/portal-support.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false });
});
afterAll(() => service.close());
beforeEach(() => resetRateLimits(service));

/** Logs in. All log-ins of this file come from the same client address. */
const logIn = (email: string, { password = PASSWORD, cookie = '' } = {}) =>
  createBrowser(service).send('POST', '/portal/log-in', { email, password }, cookie === '' ? {} : { Cookie: cookie });
const statusOf = async (...given: Parameters<typeof logIn>) => (await logIn(...given)).status;

/**
 * Creates a user who has logged in before. Returns also the cookie by which the service recognizes the user's browser.
 */
async function newKnownUser() {
  const email = await createBrowser(service).signUp();
  const cookies = (await logIn(email)).headers.getSetCookie();
  return { email, cookie: cookies.find((set) => set.includes('known='))?.split(';')[0] ?? '' };
}

/** Stores the state after 60 failed log-ins for other e-mail addresses and five for this one. */
async function failOften(email: string): Promise<void> {
  for (let count = 0; count < 5; count++) await logIn(email, { password: 'wrong horse battery' });
  await service.database.rateLimits.updateMany({ key: /^log-ins:[^k]/ }, { $set: { points: 60 } });
}

describe('the cookie of a known browser', () => {
  it('lets its user log in, however often others fail at the same address', async () => {
    const { email, cookie } = await newKnownUser();
    await failOften(email);
    expect(await statusOf(email)).toBe(429);
    expect(await statusOf(email, { cookie })).toBe(200);
  });

  it('is for one e-mail address, cannot be forged, and allows five attempts', async () => {
    const { email, cookie } = await newKnownUser();
    const other = await newKnownUser();
    await failOften(email);
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

  it('shares its attempts with other cookies for the same e-mail address', async () => {
    const { email, cookie } = await newKnownUser();
    const others = await newKnownUser();
    const collected = (await logIn(email)).headers.getSetCookie().find((set) => set.includes('known='));
    const another = collected?.split(';')[0] ?? '';
    expect(another).not.toBe(cookie);
    await failOften(email);
    expect(await statusOf(email, { password: 'wrong horse battery', cookie })).toBe(401);
    // Stores the state after twenty attempts with this user's cookies. Other users are not affected.
    await service.database.rateLimits.updateMany({ key: /known-browsers:/, points: 1 }, { $set: { points: 20 } });
    expect(await statusOf(others.email, { cookie: others.cookie })).toBe(200);
    expect(await statusOf(email, { cookie: another })).toBe(429);
  });
});

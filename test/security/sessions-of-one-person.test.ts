import { createLoginSessions } from '../../src/identity/people/login-sessions.js';
import { expectError, startService, type Service } from '../support/http/harness.js';
import { createBrowser, resetRateLimits, memberOf, PASSWORD } from '../support/http/portal-support.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false });
});
afterAll(() => service.close());
beforeEach(() => resetRateLimits(service));

const logIn = (email: string) => createBrowser(service).post('/portal/log-in', { email, password: PASSWORD });

describe('the limits of a person with several sessions', () => {
  it('allow 20 log-ins in 15 minutes, without an effect on sessions or other members', async () => {
    const browser = createBrowser(service);
    const email = await browser.signUp();
    const other = await memberOf(service, browser, 'viewer');
    for (let count = 0; count < 20; count++) expect((await logIn(email)).status).toBe(200);
    const rejection = await logIn(email);
    expectError(rejection, 429, 'RATE_LIMIT_EXCEEDED');
    expect(Number(rejection.headers.get('retry-after'))).toBeGreaterThan(600);
    expect((await logIn(other.email)).status).toBe(200);
    const kept = await service.database.sessions.countDocuments({});
    expect(kept).toBe(22);
    expect((await other.browser.get('/portal/session')).status).toBe(200);
    const change = { current_password: PASSWORD, new_password: 'another horse battery' };
    expect((await other.browser.post('/portal/password', change)).status).toBe(200);
  }, 60_000);

  it('allow 20 sessions: another one ends the oldest', async () => {
    const browser = createBrowser(service);
    const email = await browser.signUp();
    const user = (await service.database.users.findOne({ email }).lean<{ _id: string; passwordHash: string }>())!;
    const sessions = createLoginSessions(service.database);
    for (let count = 0; count < 19; count++) await sessions.begin(user);
    expect((await browser.get('/portal/session')).status).toBe(200);
    const { token } = await sessions.begin(user);
    expect((await browser.get('/portal/session')).status).toBe(401);
    expect(await sessions.find(token)).not.toBeNull();
    expect(await service.database.sessions.countDocuments({ userId: user._id })).toBe(20);
  });

  it('count the requests of all sessions together', async () => {
    const browser = createBrowser(service);
    const email = await browser.signUp();
    const second = createBrowser(service);
    await second.post('/portal/log-in', { email, password: PASSWORD });
    await browser.get('/portal/session');
    const { _id } = (await service.database.users.findOne({ email }).lean<{ _id: string }>())!;
    await service.database.rateLimits.updateMany({ key: `sessions:${_id}` }, { $set: { points: 1_200 } });
    expectError(await browser.get('/portal/session'), 429, 'RATE_LIMIT_EXCEEDED');
    expectError(await second.get('/portal/session'), 429, 'RATE_LIMIT_EXCEEDED');
  });
});

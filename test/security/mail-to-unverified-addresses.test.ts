import { createUnsolicitedMailLimit } from '../../src/identity/sign-in/unsolicited-mail-limit.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { eventually, expectError, startService, type Service } from '../support/http/harness.js';
import { createBrowser, resetRateLimits, PASSWORD } from '../support/http/portal-support.js';
import { startMailServer, tokenIn } from '../support/mail-server.js';

let mail: Awaited<ReturnType<typeof startMailServer>>;
let service: Service;
let log = '';
beforeAll(async () => {
  mail = await startMailServer();
  const env = { ...mail.env, LOG_LEVEL: 'warn', TRUST_PROXY: 'true' };
  service = await startService({ worker: false, env, onLog: (line) => (log += line) });
});
afterAll(async () => {
  await service.close();
  await mail.close();
});
beforeEach(() => resetRateLimits(service));

let lastNumber = 0;
const newEmail = () => `person${++lastNumber}@letters.example`;
const signUp = (email: string, { account = 'Acme', from = `198.51.100.${++lastNumber}` } = {}) =>
  createBrowser(service).send(
    'POST',
    '/portal/sign-up',
    { email, password: PASSWORD, name: 'Ada', account_name: account },
    { 'X-Forwarded-For': from },
  );
const deps = () => ({ database: service.database, logger: createLogger({ role: 'test', level: 'silent' }) });
async function verifiedOwner(email = newEmail()) {
  const browser = createBrowser(service);
  await browser.signUp(email);
  const token = tokenIn(await eventually(async () => mail.to(email)[0]));
  expect((await browser.post('/portal/verify-email', { token })).status).toBe(200);
  return browser;
}
const mailTo = async (email: string) => (await eventually(async () => mail.to(email)[0])).text.replaceAll('\r\n', ' ');

describe('e-mail from the operator’s address', () => {
  it.each(['Call 1 888 555 0100 now', 'Call 18885550100', 'Refund ٠١٢٣٤٥٦', 'Five 1-2-3-4-5', 'pay ①②③④⑤'])(
    'does not contain the name of an account called “%s”',
    async (account) => {
      const email = newEmail();
      expect((await signUp(email, { account })).status).toBe(200);
      const text = await mailTo(email);
      expect(text).toContain('Verify your e-mail address');
      expect(text).not.toContain('named the account');
    },
  );

  it('contains the name of an account with a year in it', async () => {
    const email = newEmail();
    await signUp(email, { account: 'Acme 2026' });
    expect(await mailTo(email)).toContain('named the account "Acme 2026"');
  });
});

describe('e-mail to unverified addresses', () => {
  it('is limited to 1,000 an hour, which is logged once; verified addresses still get theirs', async () => {
    const known = newEmail();
    await verifiedOwner(known);
    await service.database.rateLimits.updateMany({ key: 'mail:strangers' }, { $set: { points: 1_000 } });
    const overLimit = [newEmail(), newEmail()];
    for (const email of overLimit) expect((await signUp(email)).status).toBe(200);
    await createBrowser(service).post('/portal/forgot-password', { email: known });
    await eventually(async () => mail.to(known)[1]);
    await new Promise((resolve) => setTimeout(resolve, 500));
    for (const email of overLimit) expect(mail.to(email)).toEqual([]);
    expect(log.match(/limit of e-mail to unverified addresses reached/g)).toHaveLength(1);
    for (const email of overLimit) expect(log).not.toContain(email);
  });

  it('keeps a reserve for sign-ups: repeated e-mails cannot use it up', async () => {
    await verifiedOwner();
    const counted = await service.database.rateLimits.findOne({ key: 'mail:strangers' }).lean<{ points: number }>();
    expect(counted?.points).toBe(1);
    const limit = createUnsolicitedMailLimit(deps());
    await limit.count({ address: '203.0.113.1', isFirst: false });
    await service.database.rateLimits.updateMany({ key: 'mail:strangers:others' }, { $set: { points: 700 } });
    expect(await limit.count({ address: '203.0.113.1', isFirst: false })).toBeGreaterThan(60_000);
    const newcomer = newEmail();
    await signUp(newcomer);
    expect(await mailTo(newcomer)).toContain('Verify your e-mail address');
  });

  it('cannot be used up by a few networks: neither for sign-ups nor for invitations', async () => {
    const owner = await verifiedOwner();
    const limit = createUnsolicitedMailLimit(deps());
    for (let large = 0; large < 15; large++) {
      for (const network of [`203.${large}.1`, `203.${large}.2`]) {
        const mails = Array.from({ length: 70 }, (_, n) => limit.count({ address: `${network}.1`, isFirst: n < 40 }));
        await Promise.all(mails);
      }
    }
    expect(await limit.count({ address: '198.51.100.8', isFirst: true })).toBeUndefined();
    const invited = newEmail();
    const body = { email: invited, role: 'viewer' };
    expect((await owner.send('POST', '/portal/invitations', body)).status).toBe(200);
    expect(await mailTo(invited)).toContain('You are invited');
  }, 60_000);

  it('keeps a reserve for the first invitations of an account, apart from those of other accounts', async () => {
    const [busy, other] = [await verifiedOwner(), await verifiedOwner()];
    const invite = (owner: typeof busy, email = newEmail()) =>
      owner.send('POST', '/portal/invitations', { email, role: 'viewer' });
    for (let count = 0; count < 6; count++) expect((await invite(busy)).status).toBe(200);
    await service.database.rateLimits.updateMany({ key: 'mail:invitations:others' }, { $set: { points: 700 } });
    const uninvited = newEmail();
    const response = await invite(busy, uninvited);
    expectError(response, 429, 'RATE_LIMIT_EXCEEDED');
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(60);
    expect(await service.database.invitations.countDocuments({ email: uninvited })).toBe(0);
    expect((await invite(other)).status).toBe(200);
  });

  it('is limited per network, which leaves the rest to others', async () => {
    const [first, second, other] = [newEmail(), newEmail(), newEmail()];
    await signUp(first, { from: '2001:db8:9:1::1' });
    await mailTo(first);
    await service.database.rateLimits.updateMany({ key: /^mail:strangers:2001:/ }, { $set: { points: 100 } });
    await signUp(second, { from: '2001:db8:9:2::1' });
    await signUp(other, { from: '2001:db8:a:1::1' });
    await mailTo(other);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(mail.to(second)).toEqual([]);
  });

  it('is limited by the sign-ups of a site: 30 an hour from a /48, however many /64s it has', async () => {
    const from = (which: number) => `2001:db8:9:${which.toString(16)}::1`;
    for (let count = 0; count < 30; count++) {
      // A network also has a limit of ten seconds.
      await service.database.rateLimits.deleteMany({ key: /^mail-requests:network:/ });
      expect((await signUp(newEmail(), { from: from(count) })).status).toBe(200);
    }
    expectError(await signUp(newEmail(), { from: from(30) }), 429, 'RATE_LIMIT_EXCEEDED');
    expect((await signUp(newEmail(), { from: '2001:db8:a::1' })).status).toBe(200);
  }, 60_000);
});

import { createIndexes } from '../../src/platform/mongo/indexes.js';
import { eventually, expectError, startService, type Service } from '../support/http/harness.js';
import { createBrowser, resetRateLimits, PASSWORD } from '../support/http/portal-support.js';
import { startMailServer, tokenIn } from '../support/mail-server.js';

let mail: Awaited<ReturnType<typeof startMailServer>>;
let service: Service;
beforeAll(async () => {
  mail = await startMailServer();
  service = await startService({ worker: false, env: mail.env });
  await createIndexes(service.database);
});
afterAll(async () => {
  await service.close();
  await mail.close();
});
beforeEach(() => resetRateLimits(service));

const OTHER_PASSWORD = 'the horse of a thief';
let count = 0;
const newAddress = () => `victim-${++count}@example.com`;
const mailTo = (email: string, which = 1) => eventually(async () => mail.to(email)[which - 1]);
const post = (path: string, body: object) => createBrowser(service).post(path, body);
const logIn = (email: string, password: string) => post('/portal/log-in', { email, password });
const signUp = async (email: string, password: string, accountName = 'Acme') => {
  const browser = createBrowser(service);
  const person = { email, password, name: 'Ada', account_name: accountName };
  expect((await browser.post('/portal/sign-up', person)).status).toBe(200);
  return browser;
};
const isVerified = async (email: string, password: string) =>
  ((await logIn(email, password)).json['member'] as { email_verified: boolean }).email_verified;

describe('a person who signs up with somebody else’s address', () => {
  it('is not verified by the owner’s click, whether or not the owner is logged in', async () => {
    const email = newAddress();
    const impostor = await signUp(email, OTHER_PASSWORD);
    const { json: key } = await impostor.post('/api_keys', { name: 'planted' });
    const token = tokenIn(await mailTo(email));
    const alone = await post('/portal/verify-email', { token });
    expectError(alone, 400, 'MISSING_PARAMS', /password/);
    const owner = await signUp(newAddress(), PASSWORD);
    expectError(await owner.post('/portal/verify-email', { token }), 400, 'MISSING_PARAMS', /password/);
    expectError(await post('/portal/verify-email', { token, password: PASSWORD }), 400, 'MISSING_PARAMS', /password/);
    expect(await service.database.users.countDocuments({ email })).toBe(0);
    expect((await service.request('/balance', { key: String(key['secret']) })).json).toMatchObject({
      available_micros: 1_000_000,
    });
  });

  it('gets nothing of the owner’s verified account, whichever sign-up came first', async () => {
    const email = newAddress();
    const before = await signUp(email, OTHER_PASSWORD);
    const ownSignUp = await signUp(email, PASSWORD);
    const after = await signUp(email, OTHER_PASSWORD);
    const token = tokenIn(await mailTo(email, 3));
    expect((await ownSignUp.post('/portal/verify-email', { token })).status).toBe(200);
    const { account } = (await ownSignUp.get('/portal/session')).json as { account: { account_id: string } };
    for (const impostor of [before, after]) {
      const { json } = await impostor.get('/portal/session');
      expect(json).toMatchObject({ member: { email_verified: false } });
      expect((json['account'] as { account_id: string }).account_id).not.toBe(account.account_id);
    }
    expect([await isVerified(email, PASSWORD), await isVerified(email, OTHER_PASSWORD)]).toEqual([true, false]);
  });

  it('does not reset the count of wrong guesses by logging in to their own sign-up', async () => {
    const email = newAddress();
    const ownSignUp = await signUp(email, PASSWORD);
    expect((await ownSignUp.post('/portal/verify-email', { token: tokenIn(await mailTo(email)) })).status).toBe(200);
    const impostor = await signUp(email, OTHER_PASSWORD);
    const change = (current: string) =>
      impostor.post('/portal/password', { current_password: current, new_password: OTHER_PASSWORD });
    for (let guess = 0; guess < 4; guess++) expectError(await logIn(email, `wrong ${guess}`), 401, 'UNAUTHORIZED');
    expect((await logIn(email, OTHER_PASSWORD)).status).toBe(200);
    expect((await change(OTHER_PASSWORD)).status).toBe(200);
    expectError(await logIn(email, 'wrong 4'), 401, 'UNAUTHORIZED');
    expectError(await logIn(email, 'wrong 5'), 429, 'RATE_LIMIT_EXCEEDED');
    const ofEmail = await service.database.rateLimits.collection.findOne({ key: /^failures:/ });
    expect(ofEmail?.['points']).toBeGreaterThanOrEqual(5);
  });

  it('does not prevent the owner’s log-in, however often they sign up later', async () => {
    const email = newAddress();
    await signUp(email, PASSWORD, 'Hers');
    for (let sign = 0; sign < 4; sign++) await signUp(email, `${OTHER_PASSWORD} ${sign}`);
    expect((await logIn(email, PASSWORD)).json).toMatchObject({ account: { name: 'Hers' } });
  });

  it('does not prevent the owner’s verification by using up the mails to the address', async () => {
    const email = newAddress();
    for (let sign = 0; sign < 7; sign++) {
      const impostor = await signUp(email, OTHER_PASSWORD);
      await impostor.post('/portal/verification-email');
      await forgetSignUps();
    }
    await mailTo(email, 6);
    const ownSignUp = await signUp(email, PASSWORD);
    await ownSignUp.post('/portal/verification-email');
    await new Promise((resolve) => setTimeout(resolve, 500));
    // Six mails in half an hour are the limit. The owner of the address reads them and has a link that can complete any
    // sign-up with the address.
    expect(mail.to(email)).toHaveLength(6);
    const token = tokenIn(mail.to(email).at(-1));
    expect((await post('/portal/verify-email', { token, password: PASSWORD })).json).toEqual({ verified: true });
    expect(await isVerified(email, PASSWORD)).toBe(true);
  });

  it('leaves no account to take over by a password reset: the mail explains how to sign up again', async () => {
    const email = newAddress();
    await signUp(email, OTHER_PASSWORD);
    await mailTo(email);
    const response = await post('/portal/forgot-password', { email });
    const unknown = await post('/portal/forgot-password', { email: newAddress() });
    expect([response.status, response.text]).toEqual([unknown.status, unknown.text]);
    const mailed = await mailTo(email, 2);
    expect(tokenIn(mailed)).toBe('');
    expect(mailed.text).toContain('/portal/sign-up');
    expect(await service.database.emailLinks.countDocuments({ purpose: 'reset' })).toBe(0);
  });

  it('cannot guess the password of a link: attempts are limited like log-ins', async () => {
    const email = newAddress();
    await signUp(email, PASSWORD);
    const token = tokenIn(await mailTo(email));
    for (let guess = 0; guess < 5; guess++) {
      expectError(await post('/portal/verify-email', { token, password: `wrong ${guess}` }), 400, 'MISSING_PARAMS');
    }
    expectError(await post('/portal/verify-email', { token, password: PASSWORD }), 429, 'RATE_LIMIT_EXCEEDED');
    expectError(await logIn(email, PASSWORD), 429, 'RATE_LIMIT_EXCEEDED');
  });
});

/**
 * Deletes the counts of sign-ups, because these tests sign up more often from one client address than the limit allows.
 */
async function forgetSignUps(): Promise<void> {
  await service.database.rateLimits.deleteMany({ key: /^(opening|links|mail-requests:(client|network)):/ });
}

it('a verification mail contains the name of the account and the time of the sign-up', async () => {
  const email = newAddress();
  await signUp(email, PASSWORD, 'Acme & Sons');
  const { text } = await mailTo(email);
  expect(text).toContain('"Acme & Sons"');
  expect(text.replace(/\s+/g, ' ')).toMatch(/\d{1,2} \w+ \d{4},? (at )?\d\d:\d\d UTC/);
  const evil = newAddress();
  await signUp(evil, PASSWORD, 'http://evil.example/ click');
  expect((await mailTo(evil)).text).not.toContain('evil.example/ click');
});

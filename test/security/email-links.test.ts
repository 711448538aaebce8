import { ledgerAccountId } from '../../src/kernel/ids.js';
import { limitsOf } from '../../src/identity/accounts/accounts.js';
import { createEmailLinks } from '../../src/identity/people/email-links.js';
import { createLedger } from '../../src/billing/ledger/ledger.js';
import { refillTestBalance } from '../../src/identity/accounts/test-balance.js';
import { eventually, expectError, startService, type Service } from '../support/http/harness.js';
import { createBrowser, resetRateLimits, PASSWORD } from '../support/http/portal-support.js';
import { startMailServer, tokenIn } from '../support/mail-server.js';

let mail: Awaited<ReturnType<typeof startMailServer>>;
let service: Service;
beforeAll(async () => {
  mail = await startMailServer();
  service = await startService({ worker: false, env: mail.env });
});
afterAll(async () => {
  await service.close();
  await mail.close();
});
beforeEach(() => resetRateLimits(service));

const NEW_PASSWORD = 'another horse battery';
const mailTo = (email: string, count = 1) => eventually(async () => mail.to(email)[count - 1]);
const post = (path: string, body: object) => createBrowser(service).post(path, body);
const logIn = async (email: string, password = PASSWORD) => (await post('/portal/log-in', { email, password })).status;
const signUp = async () => {
  const browser = createBrowser(service);
  const email = await browser.signUp();
  return { browser, email, token: tokenIn(await mailTo(email)) };
};
const verified = async () => {
  const person = await signUp();
  expect((await person.browser.post('/portal/verify-email', { token: person.token })).status).toBe(200);
  return person;
};

describe('an unverified account', () => {
  it('has 1 USD of test balance and one call at a time, and gets the rest exactly once when it is verified', async () => {
    const { browser, email, token } = await signUp();
    const { account, member } = (await browser.get('/portal/session')).json as Record<string, Record<string, unknown>>;
    expect({ account, member }).toMatchObject({ account: { concurrent_calls: 1 }, member: { email_verified: false } });
    expect((await browser.get('/balance')).json).toMatchObject({ available_micros: 1_000_000 });
    const id = String(account?.['account_id']);
    const stored = (await service.database.accounts.findById(id).lean())!;
    expect(limitsOf(stored, 'live', undefined).concurrentCalls).toBe(1);
    expect(await refillTestBalance(createLedger(service.database), stored)).toBe(0);
    expectError(await browser.post('/portal/invitations', { email: 'x@y.example', role: 'viewer' }), 403, 'FORBIDDEN');
    const responses = await Promise.all([1, 2, 3].map(() => browser.post('/portal/verify-email', { token })));
    expect(responses.some(({ status }) => status === 200)).toBe(true);
    expectError(await post('/portal/verify-email', { token }), 404, 'NOT_FOUND');
    const balance = await createLedger(service.database).balance(ledgerAccountId(id, 'test'));
    expect(balance.creditedMicros).toBe(1_000_000_000);
    expect((await browser.get('/portal/session')).json).toMatchObject({
      account: { concurrent_calls: 20 },
      member: { email, email_verified: true },
    });
  });

  it('can log in and request another link, with three mails in total', async () => {
    const { browser, email } = await signUp();
    expect(await logIn(email)).toBe(200);
    for (let count = 0; count < 4; count++) await browser.post('/portal/verification-email');
    await mailTo(email, 3);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(mail.to(email)).toHaveLength(3);
  });
});

describe('responses do not reveal which addresses have an account', () => {
  it('after a sign-up: a taken address gets the same response, and its owner gets a mail', async () => {
    const { email } = await verified();
    const person = { email, password: NEW_PASSWORD, name: 'Eve', account_name: 'Evil' };
    const taken = createBrowser(service);
    const free = createBrowser(service);
    const responses = [
      await taken.post('/portal/sign-up', person),
      await free.post('/portal/sign-up', { ...person, email: 'free@example.com' }),
    ];
    const shapes = responses.map(({ status, json }) => [
      status,
      Object.keys(json),
      Object.keys(json['member'] as object),
      (json['member'] as { email_verified: boolean }).email_verified,
    ]);
    expect(shapes[0]).toEqual(shapes[1]);
    expect(shapes[0]?.[0]).toBe(200);
    // A log-in with the new password succeeds too, but leads to the new account only. So it does not reveal that the
    // address already has an account.
    expect([await logIn(email, NEW_PASSWORD), await logIn('free@example.com', NEW_PASSWORD)]).toEqual([200, 200]);
    expect(await logIn(email)).toBe(200);
    const mailed = await mailTo(email, 2);
    expect(mailed.text).toContain('You already have a Callwright account');
    expect(tokenIn(mailed)).toBe('');
  });

  it('after a request for a new password', async () => {
    const { email } = await verified();
    const known = await post('/portal/forgot-password', { email });
    const unknown = await post('/portal/forgot-password', { email: 'unknown@example.com' });
    expect([known.status, known.text]).toEqual([unknown.status, unknown.text]);
    expect(tokenIn(await mailTo(email, 2))).not.toBe('');
    expect(mail.to('unknown@example.com')).toEqual([]);
  });

  it('after an invitation, whose token is mailed and not shown', async () => {
    const { browser } = await verified();
    const invited = await browser.post('/portal/invitations', { email: 'grace@example.com', role: 'viewer' });
    expect(invited.json).not.toHaveProperty('token');
    const body = { token: tokenIn(await mailTo('grace@example.com')), name: 'Grace', password: PASSWORD };
    expect((await post('/portal/accept-invitation', body)).status).toBe(200);
  });
});

describe('a password reset link', () => {
  const reset = async () => {
    const person = await verified();
    await post('/portal/forgot-password', { email: person.email });
    return { ...person, token: tokenIn(await mailTo(person.email, 2)) };
  };

  it('works once, ends every session, and is stored as a hash', async () => {
    const { browser, email, token } = await reset();
    expect(JSON.stringify(await service.database.emailLinks.find().lean())).not.toContain(token);
    const body = { token, new_password: NEW_PASSWORD };
    expectError(await post('/portal/reset-password', { ...body, new_password: 'dragon123456' }), 400, 'MISSING_PARAMS');
    const responses = await Promise.all([1, 2, 3].map(() => post('/portal/reset-password', body)));
    expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 404, 404]);
    expectError(await browser.get('/portal/session'), 401, 'UNAUTHORIZED');
    expect([await logIn(email), await logIn(email, NEW_PASSWORD)]).toEqual([401, 200]);
  });

  it('expires after 30 minutes, and verifies no address', async () => {
    const { token } = await reset();
    expectError(await post('/portal/verify-email', { token }), 404, 'NOT_FOUND');
    const soon = { $set: { expiresAt: new Date(Date.now() - 1) } };
    const link = await service.database.emailLinks.findOne({ purpose: 'reset' }).sort({ createdAt: -1 }).lean();
    const minutes = (link!.expiresAt.getTime() - link!.createdAt.getTime()) / 60_000;
    expect(minutes).toBe(30);
    await service.database.emailLinks.updateOne({ _id: link!._id }, soon);
    expectError(await post('/portal/reset-password', { token, new_password: NEW_PASSWORD }), 404, 'NOT_FOUND');
  });

  it('is neither sent nor accepted for an unverified address', async () => {
    const { browser, email } = await signUp();
    await post('/portal/forgot-password', { email });
    expect(tokenIn(await mailTo(email, 2))).toBe('');
    const { member } = (await browser.get('/portal/session')).json as { member: { user_id: string } };
    const token = await createEmailLinks(service.database).issue(member.user_id, 'reset');
    expectError(await post('/portal/reset-password', { token, new_password: NEW_PASSWORD }), 404, 'NOT_FOUND');
    expect([await logIn(email), await logIn(email, NEW_PASSWORD)]).toEqual([200, 401]);
  });
});

it('a mail server that never responds delays no request', async () => {
  const silent = await startMailServer({ silent: true });
  const waiting = await startService({ worker: false, env: silent.env });
  try {
    const startedAt = performance.now();
    await createBrowser(waiting).signUp();
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  } finally {
    await waiting.close();
    await silent.close();
  }
});

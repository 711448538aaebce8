import { InvitationBody } from '../../src/identity/sign-in/schemas.js';
import { createOperators } from '../../src/identity/people/operators.js';
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

const post = (path: string, body: object) => createBrowser(service).post(path, body);
/** Returns other spellings of an address at example.com. */
const spellingsOf = (name: string) => [
  `${name}@ｅｘａｍｐｌｅ.com`,
  `${name}@example。com`,
  `${name}@ex\u00ADample.com`,
  `${name.replace('a', 'ａ')}@EXAMPLE.com`,
];

let count = 0;
const newName = () => `ada-${(count += 1)}`;

async function verifiedOwner() {
  const browser = createBrowser(service);
  const email = await browser.signUp(`${newName()}@example.com`);
  const token = tokenIn(await eventually(async () => mail.to(email)[0]));
  expect((await browser.post('/portal/verify-email', { token })).status).toBe(200);
  return { browser, email };
}

describe('a spelling of an e-mail address does not count as another address', () => {
  it('in invitations, which are limited per address', async () => {
    const { browser } = await verifiedOwner();
    const name = newName();
    const statuses = [];
    for (const email of [`${name}@example.com`, ...spellingsOf(name)]) {
      statuses.push((await browser.post('/portal/invitations', { email, role: 'viewer' })).status);
    }
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
    await eventually(async () => mail.to(`${name}@example.com`)[2]);
  });

  it('in sign-ups, log-ins and password resets, which send mail to the one address', async () => {
    const { email } = await verifiedOwner();
    for (const spelling of spellingsOf(email.split('@')[0] ?? '')) {
      expect((await post('/portal/log-in', { email: spelling, password: PASSWORD })).status).toBe(200);
    }
    const [first = '', second = ''] = spellingsOf(email.split('@')[0] ?? '');
    expect((await post('/portal/forgot-password', { email: first })).status).toBe(200);
    await eventually(async () => mail.to(email)[1]);
    await createBrowser(service).signUp(second);
    expect((await eventually(async () => mail.to(email)[2])).text).toContain('You already have a Callwright account');
    expect(mail.mails.flatMap(({ to }) => to).filter((to) => !/^[\w-]+@example\.com$/.test(to))).toEqual([]);
  });

  it('on the command line of operators', async () => {
    const { email } = await verifiedOwner();
    const [spelling = ''] = spellingsOf(email.split('@')[0] ?? '');
    expect((await createOperators(service.database).add(spelling)).email).toBe(email);
  });
});

describe('a text that a mail program reads as several addresses', () => {
  const INVALID = [
    'ada,eve@example.com',
    'ada;eve@example.com',
    'list:ada@example.com',
    'ada(eve)@example.com',
    '"ada"@example.com',
    'ada\\@example.com',
    'ada，eve@example.com',
    'ada eve@example.com',
    'ada\u200Beve@example.com',
    'ada\u0000@example.com',
    'ada@example.com@example.org',
    'ada@example.com.',
    'ada@exa%6dple.com',
    'ada@example.com:25',
    'ada@example.com/x',
    'ada@example..com',
    'ada@-example.com',
    'ada@xn--a',
    'ada@127.1',
    'ada@0x7f000001',
    'ada@[127.0.0.1]',
    `ada@${'a'.repeat(64)}.com`,
  ];
  it.each(INVALID)('is rejected: %j', async (email) => {
    await resetRateLimits(service);
    const person = { email, password: PASSWORD, name: 'Ada', account_name: 'Acme' };
    expectError(await post('/portal/sign-up', person), 400, 'MISSING_PARAMS', /^email must be an e-mail address/);
    expectError(await post('/portal/forgot-password', { email }), 400, 'MISSING_PARAMS', /^email must be/);
    expect(InvitationBody.safeParse({ email, role: 'viewer' }).success).toBe(false);
  });

  it.each([
    'ada+callwright@example.com',
    "o'hara@example.co.uk",
    'ada@localhost',
    'ada@bücher.example',
    'jörg@example.com',
  ])('is not a valid address like %j', (email) => {
    expect(InvitationBody.parse({ email, role: 'viewer' }).email).toBe(email.replace('bücher', 'xn--bcher-kva'));
  });
});

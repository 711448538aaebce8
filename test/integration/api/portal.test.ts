import { expectError, startService, type Service, withoutRequestId } from '../../support/http/harness.js';
import {
  createBrowser,
  resetRateLimits,
  memberOf,
  ORIGIN,
  PASSWORD,
  type Browser,
} from '../../support/http/portal-support.js';
import { listOf } from '../../support/http/management-support.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false });
});
afterAll(() => service.close());
beforeEach(() => resetRateLimits(service));

const newOwner = async () => {
  const owner = createBrowser(service);
  const email = await owner.signUp();
  return { owner, email };
};

describe('signing up', () => {
  it('opens an account with test money, logs its owner in, and stores neither the password nor the session token', async () => {
    const owner = createBrowser(service);
    const person = { email: ' Ada@Example.com', password: PASSWORD, name: 'Ada', account_name: 'Acme' };
    const answer = await owner.post('/portal/sign-up', person);
    expect(answer.json).toMatchObject({
      member: { email: 'ada@example.com', role: 'owner' },
      account: { name: 'Acme', plan: 'trial' },
    });
    const [cookie = ''] = answer.headers.getSetCookie();
    expect(cookie).toMatch(/^__Host-sid=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=604800$/);
    expect((await owner.get('/portal/session')).json['member']).toEqual(answer.json['member']);
    expect((await owner.get('/balance')).json).toMatchObject({ mode: 'test', available_micros: 1_000_000_000 });
    expect((await owner.get('/balance?mode=live')).json).toMatchObject({ mode: 'live', available_micros: 0 });
    const stored = JSON.stringify([
      await service.database.users.find().lean(),
      await service.database.sessions.find().lean(),
    ]);
    expect(stored).not.toContain(PASSWORD);
    expect(stored).not.toContain(owner.cookie.slice('__Host-sid='.length));
    expect(stored).toContain('$argon2id$v=19$m=19456,t=2,p=1$');
    expectError(await createBrowser(service).post('/portal/sign-up', person), 409, 'CONFLICT', /e-mail/);
  });

  it.each([
    ['email', { email: 'unregistered' }],
    ['email', { email: ['a@b.c'] }],
    ['email', { email: { $gt: '' } }],
    ['password', { password: 'short' }],
    ['password', { password: 'a'.repeat(129) }],
    ['name', { name: '' }],
    ['account_name', { account_name: 'a'.repeat(101) }],
  ])('rejects a bad %s with 400 and names the field', async (field, fields) => {
    const person = { email: 'bob@example.com', password: PASSWORD, name: 'Bob', account_name: 'B', ...fields };
    const answer = await createBrowser(service).post('/portal/sign-up', person);
    expectError(answer, 400, 'MISSING_PARAMS', new RegExp(field));
    expect(answer.json['fields']).toHaveProperty(field);
    expect(await service.database.users.countDocuments({ name: 'Bob' })).toBe(0);
  });

  it('does not accept a role, plan or account id', async () => {
    const person = { email: 'eve@example.com', password: PASSWORD, name: 'Eve', account_name: 'E' };
    for (const field of ['role', 'plan', 'account_id', 'accountId']) {
      const answer = await createBrowser(service).post('/portal/sign-up', { ...person, [field]: 'scale' });
      expectError(answer, 400, 'MISSING_PARAMS');
    }
  });

  it('is limited to 10 per address', async () => {
    const open = () =>
      createBrowser(service)
        .signUp()
        .then(
          () => 200,
          () => 429,
        );
    const answers: number[] = [];
    for (let count = 0; count < 12; count++) answers.push(await open());
    expect(answers.filter((status) => status === 200)).toHaveLength(10);
  });
});

describe('logging in', () => {
  it('accepts only the right password, and gives the same response for a wrong password and an unknown address', async () => {
    const { email } = await newOwner();
    const browser = createBrowser(service);
    const wrong = await browser.post('/portal/log-in', { email, password: 'wrong horse battery' });
    const unregistered = await browser.post('/portal/log-in', {
      email: 'unregistered@example.com',
      password: PASSWORD,
    });
    for (const answer of [wrong, unregistered]) {
      expectError(answer, 401, 'UNAUTHORIZED');
      expect(answer.headers.getSetCookie()).toEqual([]);
    }
    expect(withoutRequestId(wrong)).toBe(withoutRequestId(unregistered));
    expect((await browser.post('/portal/log-in', { email: email.toUpperCase(), password: PASSWORD })).status).toBe(200);
    expect((await browser.get('/portal/session')).status).toBe(200);
  });

  it('takes about as long for an unknown address as for a wrong password', async () => {
    const { email } = await newOwner();
    const times = { wrong: [] as number[], unregistered: [] as number[] };
    for (let count = 0; count < 12; count++) {
      await resetRateLimits(service);
      for (const [who, address] of [
        ['wrong', email],
        ['unregistered', `nobody${count}@example.com`],
      ] as const) {
        const startedAt = performance.now();
        await createBrowser(service).post('/portal/log-in', { email: address, password: 'wrong horse battery' });
        times[who].push(performance.now() - startedAt);
      }
    }
    const fastest = (values: number[]) => Math.min(...values);
    // If the service hashed no password for an unknown e-mail address, this response would come about 20 ms sooner than
    // the one for a wrong password, and the ratio would be far below the limit.
    expect(fastest(times.unregistered) / fastest(times.wrong)).toBeGreaterThan(0.6);
  });

  it('is blocked after five wrong passwords, for the right password too, until the limit expires', async () => {
    const { email } = await newOwner();
    const browser = createBrowser(service);
    const statuses: number[] = [];
    for (let count = 0; count < 20; count++) {
      statuses.push((await browser.post('/portal/log-in', { email, password: `wrong ${count}` })).status);
    }
    expect(statuses).toEqual([...Array.from({ length: 5 }, () => 401), ...Array.from({ length: 15 }, () => 429)]);
    const right = await browser.post('/portal/log-in', { email, password: PASSWORD });
    expectError(right, 429, 'RATE_LIMIT_EXCEEDED');
    expect(Number(right.headers.get('retry-after'))).toBeGreaterThan(600);
    const { email: another } = await newOwner();
    expect((await browser.post('/portal/log-in', { email: another, password: PASSWORD })).status).toBe(200);
  });

  it('issues a new session token, even when the request has a cookie', async () => {
    const { email } = await newOwner();
    const browser = createBrowser(service);
    const planted = `__Host-sid=${'a'.repeat(43)}`;
    browser.cookie = planted;
    await browser.post('/portal/log-in', { email, password: PASSWORD });
    const first = browser.cookie;
    expect(first).not.toBe(planted);
    await browser.post('/portal/log-in', { email, password: PASSWORD });
    expect(browser.cookie).not.toBe(first);
    const old = createBrowser(service);
    old.cookie = first;
    expectError(await old.get('/portal/session'), 401, 'UNAUTHORIZED');
  });
});

describe('a login session', () => {
  const stolen = async (of: Browser) => {
    const thief = createBrowser(service);
    thief.cookie = of.cookie;
    expect((await thief.get('/portal/session')).status).toBe(200);
    return thief;
  };

  it('ends at logout, for a stolen cookie too', async () => {
    const { owner } = await newOwner();
    const thief = await stolen(owner);
    const answer = await owner.post('/portal/log-out');
    expect(answer.json).toEqual({ logged_out: true });
    expect(answer.headers.getSetCookie()[0]).toContain('Max-Age=0');
    expectError(await thief.get('/portal/session'), 401, 'UNAUTHORIZED');
    expectError(await thief.get('/agents'), 401, 'UNAUTHORIZED');
  });

  it('ends in every browser after logging out everywhere', async () => {
    const { owner, email } = await newOwner();
    const second = createBrowser(service);
    await second.post('/portal/log-in', { email, password: PASSWORD });
    const third = await stolen(owner);
    await second.post('/portal/log-out-everywhere');
    expectError(await third.get('/portal/session'), 401, 'UNAUTHORIZED');
    expectError(await owner.get('/portal/session'), 401, 'UNAUTHORIZED');
  });

  it('survives a change of the password only in the browser that made it, with a new token', async () => {
    const { owner, email } = await newOwner();
    const thief = await stolen(owner);
    const wrong = { current_password: 'wrong horse battery', new_password: 'another horse battery' };
    expectError(await owner.post('/portal/password', wrong), 400, 'MISSING_PARAMS', /current_password/);
    expect((await thief.get('/portal/session')).status).toBe(200);
    expect((await owner.post('/portal/password', { ...wrong, current_password: PASSWORD })).status).toBe(200);
    expect((await owner.get('/portal/session')).status).toBe(200);
    expectError(await thief.get('/portal/session'), 401, 'UNAUTHORIZED');
    const again = createBrowser(service);
    expectError(await again.post('/portal/log-in', { email, password: PASSWORD }), 401, 'UNAUTHORIZED');
    expect((await again.post('/portal/log-in', { email, password: wrong.new_password })).status).toBe(200);
  });

  it.each([
    ['12 hours after its last use', 'lastSeenAt', 12],
    ['7 days after it began', 'createdAt', 168],
  ])('ends %s', async (_name, field, hours) => {
    const { owner } = await newOwner();
    const { member } = (await owner.get('/portal/session')).json as { member: { user_id: string } };
    const move = (ms: number) =>
      service.database.sessions.updateOne({ userId: member.user_id }, { $set: { [field]: new Date(Date.now() - ms) } });
    await move(hours * 3_600_000 - 60_000);
    expect((await owner.get('/portal/session')).status).toBe(200);
    await move(hours * 3_600_000 + 1);
    expectError(await owner.get('/portal/session'), 401, 'UNAUTHORIZED');
  });

  it.each(['', 'x', 'a'.repeat(43), '%00', '[object Object]'])(
    'is rejected with 401 when the cookie is %j',
    async (value) => {
      const browser = createBrowser(service);
      browser.cookie = `__Host-sid=${value}`;
      expectError(await browser.get('/portal/session'), 401, 'UNAUTHORIZED');
    },
  );

  it('does not replace the API key on the endpoints of calls', async () => {
    const { owner } = await newOwner();
    expectError(await owner.get('/outbound_call?call_id=call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN'), 401, 'UNAUTHORIZED');
    const body = { to_phone_number: '+12025550100', instruction: 'Hello.' };
    expectError(await owner.post('/outbound_call', body), 401, 'UNAUTHORIZED');
  });
});

describe('the origin check', () => {
  const agent = { name: 'A', instruction: 'B' };
  it.each([
    ['marked cross-site', { 'Sec-Fetch-Site': 'cross-site' }],
    ['marked same-site', { 'Sec-Fetch-Site': 'same-site' }],
    ['marked as typed by the user', { 'Sec-Fetch-Site': 'none' }],
    ['without site and origin', { 'Sec-Fetch-Site': '' }],
    ['from another origin', { 'Sec-Fetch-Site': '', Origin: 'https://evil.test' }],
    ['from the null origin', { 'Sec-Fetch-Site': '', Origin: 'null' }],
    ['with our Host but another origin', { 'Sec-Fetch-Site': '', Origin: 'http://127.0.0.1' }],
  ])('blocks changes by requests %s', async (_name, headers) => {
    const { owner, email } = await newOwner();
    const before = await service.database.agents.countDocuments();
    for (const [method, path, body] of [
      ['POST', '/agents', agent],
      ['PATCH', '/account', { name: 'Evil' }],
      ['DELETE', '/agents/agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN', {}],
      ['POST', '/portal/log-out', {}],
      ['POST', '/portal/log-in', { email, password: PASSWORD }],
    ] as const) {
      expectError(await owner.send(method, path, body, headers), 403, 'FORBIDDEN');
    }
    expect(await service.database.agents.countDocuments()).toBe(before);
    expect((await owner.get('/account')).json).toMatchObject({ name: 'Acme' });
  });

  it('accepts our own origin from browsers without Sec-Fetch-Site, and only JSON', async () => {
    const { owner } = await newOwner();
    const old = { 'Sec-Fetch-Site': '', Origin: ORIGIN };
    expect((await owner.send('POST', '/agents', agent, old)).status).toBe(200);
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const answer = await owner.send('POST', '/agents', agent, { 'Content-Type': type });
      expectError(answer, 415, 'UNSUPPORTED_MEDIA_TYPE');
    }
  });
});

describe('members', () => {
  it('join by an invitation that works once, with the role it names', async () => {
    const { owner } = await newOwner();
    const invited = await owner.post('/portal/invitations', { email: 'grace@example.com', role: 'developer' });
    const { token, ...view } = invited.json;
    expect(listOf(await owner.get('/portal/invitations')).data).toEqual([view]);
    const grace = createBrowser(service);
    const person = { token, name: 'Grace', password: PASSWORD };
    const joined = await grace.post('/portal/accept-invitation', person);
    expect(joined.json).toMatchObject({ member: { email: 'grace@example.com', role: 'developer' } });
    expectError(await createBrowser(service).post('/portal/accept-invitation', person), 404, 'NOT_FOUND');
    expect(listOf(await owner.get('/portal/invitations')).data).toEqual([]);
    expect(listOf(await owner.get('/portal/members')).data).toMatchObject([{ role: 'owner' }, { role: 'developer' }]);
    expectError(
      await owner.post('/portal/invitations', { email: 'grace@example.com', role: 'viewer' }),
      409,
      'CONFLICT',
    );
  });

  it('cannot join by an invitation that was withdrawn or is older than 7 days', async () => {
    const { owner } = await newOwner();
    const invite = async (email: string) => (await owner.post('/portal/invitations', { email, role: 'viewer' })).json;
    const first = await invite('first@example.com');
    expect((await owner.delete(`/portal/invitations/${String(first['invitation_id'])}`)).status).toBe(200);
    const second = await invite('second@example.com');
    const past = { $set: { expiresAt: new Date() } };
    await service.database.invitations.updateOne({ invitationId: String(second['invitation_id']) }, past);
    for (const { token } of [first, second]) {
      const person = { token, name: 'X', password: PASSWORD };
      expectError(await createBrowser(service).post('/portal/accept-invitation', person), 404, 'NOT_FOUND');
    }
  });

  const CHANGES: readonly (readonly [string, string, unknown, readonly string[]])[] = [
    ['POST', '/agents', { name: 'A', instruction: 'B' }, ['owner', 'developer']],
    ['POST', '/phone_numbers', { phone_number: '+12025550171' }, ['owner', 'developer']],
    ['PATCH', '/account', { name: 'Acme' }, ['owner']],
    ['POST', '/api_keys', { name: 'k' }, ['owner']],
    ['GET', '/api_keys', undefined, ['owner', 'developer']],
    ['GET', '/audit_log', undefined, ['owner', 'developer']],
    ['GET', '/calls', undefined, ['owner', 'developer', 'viewer']],
    ['GET', '/balance', undefined, ['owner', 'developer', 'viewer']],
    ['POST', '/portal/invitations', { email: 'x@example.com', role: 'owner' }, ['owner']],
    ['GET', '/portal/members', undefined, ['owner', 'developer', 'viewer']],
    ['GET', '/portal/invitations', undefined, ['owner']],
  ];
  it('may do exactly what their role allows', async () => {
    const { owner } = await newOwner();
    const people = {
      viewer: (await memberOf(service, owner, 'viewer')).browser,
      developer: (await memberOf(service, owner, 'developer')).browser,
      owner,
    };
    for (const [role, browser] of Object.entries(people)) {
      for (const [method, path, body, allowed] of CHANGES) {
        const { status } = await browser.send(method, path, body);
        const wasAllowed = status === 200 || status === 409;
        expect([role, method, path, wasAllowed ? 'allowed' : status]).toEqual([
          role,
          method,
          path,
          allowed.includes(role) ? 'allowed' : 403,
        ]);
      }
    }
  });

  it('lose their sessions when their role changes, and their access when they are removed', async () => {
    const { owner } = await newOwner();
    const { browser, email, userId } = await memberOf(service, owner, 'developer');
    expect((await owner.patch(`/portal/members/${userId}`, { role: 'viewer' })).json).toMatchObject({ role: 'viewer' });
    expectError(await browser.get('/portal/session'), 401, 'UNAUTHORIZED');
    await browser.post('/portal/log-in', { email, password: PASSWORD });
    expectError(await browser.post('/agents', { name: 'A', instruction: 'B' }), 403, 'FORBIDDEN');
    expect((await owner.delete(`/portal/members/${userId}`)).status).toBe(200);
    expectError(await browser.get('/portal/session'), 401, 'UNAUTHORIZED');
    expectError(await browser.post('/portal/log-in', { email, password: PASSWORD }), 401, 'UNAUTHORIZED');
  });

  it('of another account are not found', async () => {
    const { owner } = await newOwner();
    const { owner: otherOwner } = await newOwner();
    const { userId, browser } = await memberOf(service, owner, 'viewer');
    expectError(await otherOwner.patch(`/portal/members/${userId}`, { role: 'owner' }), 404, 'NOT_FOUND');
    expectError(await otherOwner.delete(`/portal/members/${userId}`), 404, 'NOT_FOUND');
    expect((await browser.get('/portal/session')).status).toBe(200);
  });

  it('always include an owner, even when two owners step down at once', async () => {
    const { owner } = await newOwner();
    const { member } = (await owner.get('/portal/session')).json as { member: { user_id: string } };
    expectError(await owner.patch(`/portal/members/${member.user_id}`, { role: 'viewer' }), 409, 'CONFLICT');
    expectError(await owner.delete(`/portal/members/${member.user_id}`), 409, 'CONFLICT');
    for (let round = 0; round < 5; round++) {
      await resetRateLimits(service);
      const second = await memberOf(service, owner, 'owner');
      await Promise.all([
        owner.patch(`/portal/members/${second.userId}`, { role: 'viewer' }),
        second.browser.patch(`/portal/members/${member.user_id}`, { role: 'viewer' }),
      ]);
      const owners = await service.database.users.find({ accountId: { $exists: true }, role: 'owner' }).lean();
      const { accountId } = (await service.database.users.findById(member.user_id).lean()) ?? {};
      expect(owners.filter((user) => user.accountId === accountId).length).toBeGreaterThan(0);
      await service.database.users.updateOne({ _id: member.user_id }, { $set: { role: 'owner' } });
      await service.database.users.deleteOne({ _id: second.userId });
      const { email } = (await service.database.users.findById(member.user_id).lean()) ?? {};
      await owner.post('/portal/log-in', { email, password: PASSWORD });
    }
  });

  it('appear in the audit log with what they changed', async () => {
    const { owner, email } = await newOwner();
    const { json } = await owner.post('/agents', { name: 'A', instruction: 'B' });
    await owner.post('/portal/password', { current_password: PASSWORD, new_password: 'another horse battery' });
    const { data } = listOf(await owner.get('/audit_log'));
    expect(data.map(({ action }) => action)).toEqual(['changePassword', 'createAgent', 'signUp']);
    expect(data[1]).toMatchObject({ actor: { kind: 'member', name: email }, target: json['agent_id'] });
    expect(JSON.stringify(data)).not.toContain('horse');
  });
});

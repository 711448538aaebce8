import { parseConfig } from '../../src/platform/config/config.js';
import { expectError, startService, type Service } from '../support/http/harness.js';
import { createBrowser, PASSWORD } from '../support/http/portal-support.js';
import { PRODUCTION } from '../support/production.js';
import { createMembers } from '../../src/identity/people/members.js';
import { createPasswords } from '../../src/identity/people/passwords.js';

const person = { email: 'stranger@example.com', password: PASSWORD, name: 'Eve', account_name: 'Evil' };

async function ownerOf(service: Service) {
  const email = `owner-${service.port}@example.com`;
  const passwordHash = await createPasswords().hash(PASSWORD);
  await createMembers(service.database).signUp({ email, name: 'Ada', passwordHash, accountName: 'Acme' });
  const owner = createBrowser(service);
  expect((await owner.post('/portal/log-in', { email, password: PASSWORD })).status).toBe(200);
  return owner;
}

describe('sign-up without an invitation is rejected unless it is open', () => {
  it.each(['invite', 'off'])('SIGN_UP=%s rejects sign-up and changes nothing', async (mode) => {
    const service = await startService({ worker: false, env: { SIGN_UP: mode } });
    try {
      expectError(await createBrowser(service).post('/portal/sign-up', person), 403, 'FORBIDDEN', /Ask/);
      expect(await service.database.users.countDocuments()).toBe(0);
      expect(await service.database.accounts.countDocuments()).toBe(0);
      expect((await service.request('/portal/sign-up-options')).json).toEqual({ sign_up: mode, sends_email: false });
    } finally {
      await service.close();
    }
  });

  it('SIGN_UP=invite accepts the invitation of a member', async () => {
    const service = await startService({ worker: false, env: { SIGN_UP: 'invite' } });
    try {
      const owner = await ownerOf(service);
      const { json } = await owner.post('/portal/invitations', { email: 'grace@example.com', role: 'viewer' });
      const body = { token: json['token'], name: 'Grace', password: PASSWORD };
      expect((await createBrowser(service).post('/portal/accept-invitation', body)).status).toBe(200);
    } finally {
      await service.close();
    }
  });

  it('SIGN_UP=off creates and accepts no invitation, and members can still log in', async () => {
    const service = await startService({ worker: false, env: { SIGN_UP: 'off' } });
    try {
      const owner = await ownerOf(service);
      const invited = await owner.post('/portal/invitations', { email: 'grace@example.com', role: 'viewer' });
      expectError(invited, 403, 'FORBIDDEN', /operator/);
      const body = { token: 'x'.repeat(43), name: 'Grace', password: PASSWORD };
      expectError(await createBrowser(service).post('/portal/accept-invitation', body), 403, 'FORBIDDEN', /operator/);
    } finally {
      await service.close();
    }
  });
});

describe('the default of SIGN_UP', () => {
  it('is invite in production and open in development', () => {
    expect(parseConfig(PRODUCTION).signUp.mode).toBe('invite');
    expect(parseConfig({}).signUp.mode).toBe('open');
  });

  it('can be changed to open in production only with a mail server', () => {
    const open = { ...PRODUCTION, SIGN_UP: 'open' };
    expect(() => parseConfig(open)).toThrow(/SIGN_UP=open needs SMTP_URL/);
    const mail = { SMTP_URL: 'smtps://user:word@smtp.example.com', MAIL_FROM: 'Callwright <no-reply@example.com>' };
    expect(parseConfig({ ...open, ...mail }).signUp).toEqual({ mode: 'open', verifiesEmail: true });
  });

  it.each([
    [{ SMTP_URL: 'smtp://mail.example.com' }, /MAIL_FROM/],
    [{ SMTP_URL: 'https://mail.example.com', MAIL_FROM: 'a@example.com' }, /SMTP_URL/],
    [{ SMTP_URL: 'smtp://mail.example.com', MAIL_FROM: 'nobody' }, /MAIL_FROM/],
    [{ SMTP_URL: 'smtp://u:secret-word@', MAIL_FROM: 'a@example.com' }, /^(?!.*secret-word).*SMTP_URL/],
  ])('rejects the mail settings %j', (env, message) => {
    expect(() => parseConfig(env)).toThrow(message);
  });
});

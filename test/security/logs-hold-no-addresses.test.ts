import { eventually, startService, type Service } from '../support/http/harness.js';
import { createBrowser, PASSWORD } from '../support/http/portal-support.js';
import { startMailServer, tokenIn } from '../support/mail-server.js';

const NEW_PASSWORD = 'another horse battery';
const DOMAIN = 'logged-nowhere.example';

let mail: Awaited<ReturnType<typeof startMailServer>>;
let service: Service;
let log = '';
beforeAll(async () => {
  mail = await startMailServer({ refuses: /^refused@/ });
  const onLog = (line: string) => (log += line);
  service = await startService({ worker: false, env: { ...mail.env, LOG_LEVEL: 'trace' }, onLog });
});
afterAll(async () => {
  await service.close();
  await mail.close();
});

const mailTo = (email: string, which: number) => eventually(async () => mail.to(email)[which - 1]);

it('no log contains an address, link, password or session of sign-up, verification, invitation and reset', async () => {
  const browser = createBrowser(service);
  const anonymous = createBrowser(service);
  const email = `ada@${DOMAIN}`;
  const secrets = [DOMAIN, PASSWORD, NEW_PASSWORD, '#token='];
  await browser.signUp(email);
  secrets.push(browser.cookie.split('=')[1] ?? '-');
  const verify = tokenIn(await mailTo(email, 1));
  await anonymous.post('/portal/verify-email', { token: verify, password: NEW_PASSWORD });
  expect((await browser.post('/portal/verify-email', { token: verify })).status).toBe(200);

  const grace = `grace@${DOMAIN}`;
  await browser.post('/portal/invitations', { email: grace, role: 'viewer' });
  const invitation = tokenIn(await mailTo(grace, 1));
  const joined = await anonymous.post('/portal/accept-invitation', {
    token: invitation,
    name: 'G',
    password: PASSWORD,
  });
  expect(joined.status).toBe(200);

  await anonymous.post('/portal/log-in', { email, password: 'wrong horse battery' });
  await anonymous.post('/portal/forgot-password', { email });
  const reset = tokenIn(await mailTo(email, 2));
  await anonymous.post(`/portal/reset-password?token=${reset}`, { token: reset, new_password: 'dragon123456' });
  expect((await anonymous.post('/portal/reset-password', { token: reset, new_password: NEW_PASSWORD })).status).toBe(
    200,
  );

  // The mail server rejects the mail, and its error message contains the address.
  await createBrowser(service).signUp(`refused@${DOMAIN}`);
  await eventually(async () => (log.includes('e-mail not sent') ? true : undefined));

  for (const secret of [...secrets, verify, invitation, reset]) {
    expect(secret.length).toBeGreaterThan(6);
    expect(log).not.toContain(secret);
  }
  for (const path of ['sign-up', 'verify-email', 'accept-invitation', 'forgot-password', 'reset-password']) {
    expect(log).toContain(`/portal/${path}`);
  }
});

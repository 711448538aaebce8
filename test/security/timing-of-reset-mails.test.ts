import { randomUUID } from 'node:crypto';
import { createMembers } from '../../src/identity/people/members.js';
import type { UserDocument } from '../../src/identity/people/model.js';
import { parseConfig } from '../../src/platform/config/config.js';
import { createMailer } from '../../src/platform/mail/mailer.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { eventually, startService } from '../support/http/harness.js';
import { createBrowser, PASSWORD } from '../support/http/portal-support.js';
import { startMailServer } from '../support/mail-server.js';

const HOUR_MS = 3_600_000;
const newEmail = () => `${randomUUID()}@example.com`;
const lines: string[] = [];
beforeEach(() => (lines.length = 0));

function mailerWith({ mailDelayMs, smtpUrl = 'smtp://127.0.0.1:9' }: { mailDelayMs?: () => number; smtpUrl?: string }) {
  const destination = { write: (line: string) => void lines.push(line) };
  const config = { ...parseConfig({ NODE_ENV: 'test' }), mail: { smtpUrl, from: 'a@b.example' } };
  return createMailer({
    config,
    logger: createLogger({ role: 'test', level: 'error', destination }),
    ...(mailDelayMs && { mailDelayMs }),
  });
}

describe('the time at which an e-mail arrives', () => {
  it('hides password resets: they alone are delayed, whether or not the address has an account', async () => {
    const mail = await startMailServer();
    let delayed = 0;
    const mailDelayMs = () => {
      delayed += 1;
      return HOUR_MS;
    };
    const service = await startService({ worker: false, env: mail.env, mailDelayMs });
    const browser = createBrowser(service);
    const [email, newcomer, invited] = [newEmail(), newEmail(), newEmail()];
    const reset = async (to: string) =>
      expect((await createBrowser(service).post('/portal/forgot-password', { email: to })).status).toBe(200);
    try {
      await browser.signUp(email);
      const user = (await service.database.unverifiedUsers.findOne({ email }).lean<UserDocument>())!;
      await createMembers(service.database).verify(user);
      await eventually(async () => mail.to(email)[0]);
      await reset(email);
      await reset(newEmail());
      const person = { email: newcomer, password: PASSWORD, name: 'Ada', account_name: 'Acme' };
      expect((await createBrowser(service).post('/portal/sign-up', person)).status).toBe(200);
      const invitation = await browser.post('/portal/invitations', { email: invited, role: 'viewer' });
      expect(invitation.status).toBe(200);
      await eventually(async () => mail.to(newcomer)[0] && mail.to(invited)[0]);
      expect(mail.to(email)).toHaveLength(1);
      expect(delayed).toBe(2);
    } finally {
      await service.close();
      await mail.close();
    }
    // Closing ends the delays, so that a restart loses no e-mail.
    expect(mail.to(email)).toHaveLength(2);
  });

  it('of a password reset depends on its own delay, not on its turn', async () => {
    const server = await startMailServer();
    const delays = [600, 0];
    const mailer = mailerWith({ mailDelayMs: () => delays.shift()!, smtpUrl: server.env.SMTP_URL });
    try {
      for (const to of ['first@a.example', 'second@a.example'])
        mailer.postDelayed(['clients', '1.2'], async () => ({ to, subject: 'Reset', text: 'Hello.' }));
      await eventually(async () => server.mails[1]);
      expect(server.mails.map(({ to }) => to[0])).toEqual(['second@a.example', 'first@a.example']);
    } finally {
      await mailer.close();
      await server.close();
    }
  });

  it('of another e-mail does not depend on password resets that are being sent', async () => {
    const mailer = mailerWith({ mailDelayMs: () => 0 });
    let end = () => {};
    const ended = new Promise<undefined>((resolve) => (end = () => resolve(undefined)));
    let resets = 0;
    for (let n = 0; n < 3; n++)
      mailer.postDelayed(['clients', '1.2'], () => {
        resets += 1;
        return ended;
      });
    await eventually(async () => resets > 0 || undefined);
    await new Promise<void>((resolve) =>
      mailer.post(['clients', '1.2'], async () => {
        resolve();
        return undefined;
      }),
    );
    end();
    await mailer.close();
    expect(resets).toBe(3);
  });

  it('varies by several seconds', async () => {
    const mailer = mailerWith({});
    let made = 0;
    for (let n = 0; n < 200; n++)
      mailer.postDelayed(['clients', '1.2'], async () => {
        made += 1;
        return undefined;
      });
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    // Of 200 even delays of up to 10 s, about 20 are over; it is all but impossible that none or a half are.
    expect(made).toBeGreaterThan(0);
    expect(made).toBeLessThan(100);
    await mailer.close();
    expect(made).toBe(200);
  });
});

it('a flood of delayed e-mails loses its own newest ones above 2,000, which is logged as an error', async () => {
  const mailer = mailerWith({ mailDelayMs: () => HOUR_MS });
  const made: Record<string, number> = { flood: 0, other: 0 };
  const post = (network: string) =>
    mailer.postDelayed(['clients', network], async () => {
      made[network]! += 1;
      return undefined;
    });
  for (let n = 0; n < 2_000; n++) post('flood');
  await new Promise((resolve) => setImmediate(resolve));
  expect(lines).toEqual([]);
  for (let n = 0; n < 3; n++) post('other');
  await mailer.close();
  expect(made['other']).toBe(3);
  expect(made['flood']).toBeLessThanOrEqual(1_997);
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toContain(
    'e-mail dropped: too many in progress',
  );
});

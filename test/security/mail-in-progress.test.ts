import { createMailer, type Mailer } from '../../src/platform/mail/mailer.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { parseConfig } from '../../src/platform/config/config.js';
import { eventually } from '../support/http/harness.js';
import { startMailServer } from '../support/mail-server.js';

const lines: string[] = [];
const logger = createLogger({
  role: 'test',
  level: 'error',
  destination: { write: (line: string) => void lines.push(line) },
});
const mailerFor = (smtpUrl: string): Mailer => {
  const config = parseConfig({ NODE_ENV: 'test', LOG_LEVEL: 'silent' });
  return createMailer({ config: { ...config, mail: { smtpUrl, from: 'a@b.example' } }, logger });
};
beforeEach(() => (lines.length = 0));

it('five senders with many e-mails delay the e-mail of another by a few messages', async () => {
  const server = await startMailServer();
  const mailer = mailerFor(server.env.SMTP_URL);
  const post = (account: string, to: string) =>
    mailer.post(['accounts', account], async () => ({ to, subject: 'You are invited', text: 'Hello.' }));
  try {
    for (const account of ['a', 'b', 'c', 'd', 'e'])
      for (let n = 0; n < 20; n++) post(account, `${n}@${account}.example`);
    post('other', 'ada@other.example');
    await eventually(async () => server.to('ada@other.example')[0]);
    expect(server.mails.findIndex(({ to }) => to.includes('ada@other.example'))).toBeLessThan(10);
    await eventually(async () => server.mails.length === 101);
  } finally {
    await mailer.close();
    await server.close();
  }
});

it('a flood of e-mails loses its own newest ones above 1,000 that wait, which is logged as an error', async () => {
  const mailer = mailerFor('smtp://127.0.0.1:9');
  const made: Record<string, number> = { flood: 0, other: 0 };
  let end = () => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  const post = (account: string) =>
    mailer.post(['accounts', account], async () => {
      made[account]! += 1;
      await ended;
      return undefined;
    });
  for (let n = 0; n < 1_002; n++) post('flood');
  await new Promise((resolve) => setImmediate(resolve));
  expect(lines).toEqual([]);
  for (let n = 0; n < 3; n++) post('other');
  end();
  await mailer.close();
  expect(made).toEqual({ flood: 999, other: 3 });
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(
    Array.from({ length: 3 }, () => 'e-mail dropped: too many in progress'),
  );
});

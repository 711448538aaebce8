import { createMailer } from '../../src/platform/mail/mailer.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { parseConfig } from '../../src/platform/config/config.js';

describe('when too many e-mails are in progress', () => {
  const config = {
    ...parseConfig({ NODE_ENV: 'test', LOG_LEVEL: 'silent' }),
    mail: { smtpUrl: 'smtp://127.0.0.1:9', from: 'a@b.example' },
  };
  const lines: string[] = [];
  const logger = createLogger({
    role: 'test',
    level: 'error',
    destination: { write: (line: string) => void lines.push(line) },
  });

  it('further requests are rejected before they store anything, and a dropped one is logged as an error', () => {
    const mailer = createMailer({ config, logger } as Parameters<typeof createMailer>[0]);
    let made = 0;
    const post = (count: number) => {
      for (let n = 0; n < count; n++) {
        mailer.post(() => {
          made += 1;
          return new Promise<never>(() => undefined);
        });
      }
    };
    post(199);
    mailer.assertRoom();
    post(1);
    expect(() => mailer.assertRoom()).toThrow(expect.objectContaining({ code: 'SERVICE_UNAVAILABLE' }));
    // Requests that found room before still get their e-mail.
    post(200);
    expect([made, lines]).toEqual([400, []]);
    post(1);
    expect(made).toBe(400);
    expect(lines.join()).toContain('e-mail dropped: too many in progress');
  });
});

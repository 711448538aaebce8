import type { Transporter } from 'nodemailer';
import type { Config } from '../config/config.js';
import { serviceUnavailable } from '../http/deadline.js';
import type { Logger } from '../telemetry/logger.js';

export interface Mail {
  to: string;
  subject: string;
  text: string;
}

export type Mailer = ReturnType<typeof createMailer>;

const CONNECTIONS = 2;
/** With this number of e-mails in progress, requests that would send one are rejected before they store anything. */
const BUSY = 200;
/** Maximum e-mails in progress. There is room for those of requests that began before the mailer was busy. */
const MAX_WAITING = 400;
const CLOSE_TIMEOUT_MS = 2_000;
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];

/** Sends e-mail in the background, so that a slow or broken mail server delays no request. */
export function createMailer({ config, logger }: { config: Config; logger: Logger }) {
  const { mail, production } = config;
  const underWay = new Set<Promise<void>>();
  let transport: Promise<Transporter> | undefined;

  async function open(smtpUrl: string): Promise<Transporter> {
    const { createTransport } = await import('nodemailer');
    const { hostname, protocol } = new URL(smtpUrl);
    return createTransport({
      url: smtpUrl,
      pool: true,
      maxConnections: CONNECTIONS,
      maxRequeues: 2,
      connectionTimeout: 10_000,
      greetingTimeout: 10_000,
      socketTimeout: 15_000,
      disableFileAccess: true,
      disableUrlAccess: true,
      // E-mails contain secret links, which must not cross a network unencrypted.
      ...(production && protocol === 'smtp:' && !LOOPBACK.includes(hostname) ? { requireTLS: true } : {}),
    });
  }

  async function send({ to, subject, text }: Mail): Promise<void> {
    if (mail === undefined) return;
    transport ??= open(mail.smtpUrl);
    const message = { from: mail.from, to: { name: '', address: to }, subject, text };
    await (await transport).sendMail({ ...message, headers: { 'Auto-Submitted': 'auto-generated' } });
  }

  return {
    /** @throws ServiceError SERVICE_UNAVAILABLE if so many e-mails are in progress that a new one might be dropped */
    assertRoom(): void {
      if (underWay.size >= BUSY) throw serviceUnavailable();
    },

    /** Creates an e-mail with `make` and sends it in the background. Sends nothing if `make` resolves to undefined. */
    post(make: () => Promise<Mail | undefined>): void {
      if (mail === undefined) return;
      if (underWay.size >= MAX_WAITING) return logger.error('e-mail dropped: too many in progress');
      const sending = make()
        .then((made) => made && send(made))
        .catch((error: unknown) => {
          // The error message may contain the recipient's address.
          const { code, responseCode } = error as { code?: unknown; responseCode?: unknown };
          logger.error({ code, responseCode }, 'e-mail not sent');
        })
        .finally(() => underWay.delete(sending));
      underWay.add(sending);
    },

    /** Waits up to 2 s for e-mails in progress, then closes the connections. */
    async close(): Promise<void> {
      const late = new Promise((resolve) => setTimeout(resolve, CLOSE_TIMEOUT_MS).unref());
      await Promise.race([Promise.all(underWay), late]);
      (await transport?.catch(() => undefined))?.close();
    },
  };
}

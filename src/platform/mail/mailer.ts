import type { Transporter } from 'nodemailer';
import type { Config } from '../config/config.js';
import { createFairQueue } from '../fair-queue.js';
import type { Logger } from '../telemetry/logger.js';

export interface Mail {
  to: string;
  subject: string;
  text: string;
}

export type Mailer = ReturnType<typeof createMailer>;

const CONNECTIONS = 2;
/** Maximum e-mails that wait, which bounds their memory. Above it, the sender with the most of them loses its newest. */
const MAX_WAITING = 1_000;
const QUEUE_FULL = new Error('Too many e-mails are waiting.');
const CLOSE_TIMEOUT_MS = 2_000;
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];

/**
 * Sends e-mail in the background, so that a slow or broken mail server delays no request. Serves senders in turn, so
 * that the e-mails of one delay those of another by a few at most.
 */
export function createMailer({ config, logger }: { config: Config; logger: Logger }) {
  const { mail, production } = config;
  const queue = createFairQueue({
    maxRunning: CONNECTIONS,
    maxWaiting: MAX_WAITING,
    createFullError: () => QUEUE_FULL,
  });
  const underWay = new Set<Promise<void>>();
  let isClosed = false;
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
    /**
     * Creates an e-mail with `make` and sends it in the background, when it is its sender's turn. Sends nothing if `make`
     * resolves to undefined.
     * @param sender groups of the sender, widest first
     */
    post(sender: readonly string[], make: () => Promise<Mail | undefined>): void {
      if (mail === undefined) return;
      const sending = queue
        .run({ groups: sender }, async () => {
          const made = isClosed ? undefined : await make();
          if (made && !isClosed) await send(made);
        })
        .catch((error: unknown) => {
          if (error === QUEUE_FULL) return logger.error('e-mail dropped: too many in progress');
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
      isClosed = true;
      if (underWay.size > 0) logger.error({ count: underWay.size }, 'e-mails not sent before the end of the process');
      (await transport?.catch(() => undefined))?.close();
    },
  };
}

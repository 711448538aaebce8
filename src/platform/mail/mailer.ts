import type { Transporter } from 'nodemailer';
import type { Config } from '../config/config.js';
import { createFairQueue } from '../fair-queue.js';
import type { Logger } from '../telemetry/logger.js';
import { createRandomDelays, randomDelayMs } from './random-delays.js';

export interface Mail {
  to: string;
  subject: string;
  text: string;
}

/** Creates an e-mail. Resolves to undefined if there is none to send. */
type MakeMail = () => Promise<Mail | undefined>;

export interface MailerDeps {
  config: Config;
  logger: Logger;
  /** Returns the delay of the next delayed e-mail in ms. Default: random, up to 10 s. Tests replace it. */
  mailDelayMs?: () => number;
}

export type Mailer = ReturnType<typeof createMailer>;

/** Connections to the mail server. Delayed e-mails use a separate one, so that they do not delay others, which could be timed. */
const CONNECTIONS = { prompt: 2, delayed: 1 };
/** Maximum e-mails of each kind that wait, which bounds their memory. Above it, the sender with the most of them loses its newest. */
const MAX_WAITING = 1_000;
const QUEUE_FULL = new Error('Too many e-mails are waiting.');
const CLOSE_TIMEOUT_MS = 2_000;
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];

/**
 * Sends e-mail in the background, so that a slow or broken mail server delays no request. Serves senders in turn, so
 * that the e-mails of one delay those of another by a few at most.
 */
export function createMailer({ config, logger, mailDelayMs = randomDelayMs }: MailerDeps) {
  const { mail, production } = config;
  const createFullError = () => QUEUE_FULL;
  const queueOf = (maxRunning: number) => createFairQueue({ maxRunning, maxWaiting: MAX_WAITING, createFullError });
  const queues = { prompt: queueOf(CONNECTIONS.prompt), delayed: queueOf(CONNECTIONS.delayed) };
  const delays = createRandomDelays({ delayMs: mailDelayMs, createFullError });
  const underWay = new Set<Promise<void>>();
  let isClosed = false;
  let transport: Promise<Transporter> | undefined;

  async function open(smtpUrl: string): Promise<Transporter> {
    const { createTransport } = await import('nodemailer');
    const { hostname, protocol } = new URL(smtpUrl);
    return createTransport({
      url: smtpUrl,
      pool: true,
      maxConnections: CONNECTIONS.prompt + CONNECTIONS.delayed,
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

  function track(sent: Promise<void>): void {
    const sending = sent
      .catch((error: unknown) => {
        if (error === QUEUE_FULL) return logger.error('e-mail dropped: too many in progress');
        // The error message may contain the recipient's address.
        const { code, responseCode } = error as { code?: unknown; responseCode?: unknown };
        logger.error({ code, responseCode }, 'e-mail not sent');
      })
      .finally(() => underWay.delete(sending));
    underWay.add(sending);
  }

  async function makeAndSend(make: MakeMail): Promise<void> {
    const made = isClosed ? undefined : await make();
    if (made && !isClosed) await send(made);
  }

  return {
    /**
     * Creates an e-mail with `make` and sends it in the background, when it is its sender's turn. Sends nothing if `make`
     * resolves to undefined.
     * @param sender groups of the sender, widest first
     */
    post(sender: readonly string[], make: MakeMail): void {
      if (mail !== undefined) track(queues.prompt.run({ groups: sender }, () => makeAndSend(make)));
    },

    /**
     * Does the same as `post` after a random delay and without delaying e-mails of `post`. So the arrival of
     * an attacker's other e-mails does not reveal whether `make` resolved to an e-mail.
     */
    postDelayed(sender: readonly string[], make: MakeMail): void {
      if (mail === undefined) return;
      const delayed = delays.wait(sender);
      track(delayed.then(() => queues.delayed.run({ groups: sender }, () => makeAndSend(make))));
    },

    /** Ends all delays, waits up to 2 s for e-mails in progress, then closes the connections. */
    async close(): Promise<void> {
      delays.end();
      const late = new Promise((resolve) => setTimeout(resolve, CLOSE_TIMEOUT_MS).unref());
      await Promise.race([Promise.all(underWay), late]);
      isClosed = true;
      if (underWay.size > 0) logger.error({ count: underWay.size }, 'e-mails not sent before the end of the process');
      (await transport?.catch(() => undefined))?.close();
    },
  };
}

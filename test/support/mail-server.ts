import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

/** Starts an SMTP server on loopback that keeps the mail it receives. */
export async function startMailServer(options: { silent?: boolean; refuses?: RegExp } = {}) {
  const mails: { to: string[]; text: string }[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    closeTimeout: 100,
    onConnect(_session, callback) {
      // A silent server accepts the connection, but never sends anything.
      if (options.silent !== true) callback();
    },
    onRcptTo({ address }, _session, callback) {
      // The error repeats the address, as the errors of real servers do.
      if (options.refuses?.test(address)) callback(new Error(`5.1.1 <${address}>: no such mailbox`));
      else callback();
    },
    onData(stream, session, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8').replace(/=\r\n/g, '').replaceAll('=3D', '=');
        mails.push({ to: session.envelope.rcptTo.map(({ address }) => address), text });
        callback();
      });
    },
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    mails,
    env: { SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'Callwright <no-reply@callwright.example>' },
    /** Returns the mail to an address, in the order in which it arrived. */
    to: (email: string) => mails.filter((mail) => mail.to.includes(email)),
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

/** Returns the token in the link that a mail contains. */
export function tokenIn(mail: { text: string } | undefined): string {
  return /#token=([\w-]{43})/.exec(mail?.text ?? '')?.[1] ?? '';
}

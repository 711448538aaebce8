import { createHash } from 'node:crypto';
import type { Config } from '../../platform/config/config.js';
import type { Accounts } from '../accounts/accounts.js';
import { linkTo, type EmailLinks } from '../people/email-links.js';
import type { IdentityDatabase } from '../database.js';
import type { Members } from '../people/members.js';
import type { UserDocument } from '../people/model.js';
import { createUnsolicitedMailLimit, type MailCause } from './unsolicited-mail-limit.js';
import { consume, createLimiter } from '../../platform/http/rate-limits/rate-limit.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import { networksOf } from '../../platform/egress/client-address.js';
import type { Mail, Mailer } from '../../platform/mail/mailer.js';

/** Maximum e-mails per sign-up or, for password resets, per address. */
const MAILS = { points: 3, duration: 30 * 60 };
/**
 * Maximum verification e-mails per address, for all sign-ups with that address. Other people cannot lock anyone out by
 * using up this limit: each link stays valid as long as its e-mail counts, and verifies any sign-up with the address.
 */
const VERIFICATIONS = { points: 6, duration: 30 * 60 };

/** Maximum digits in a name that an e-mail quotes: enough for a year or house number, too few for a phone number. */
const MAX_DIGITS = 4;

export type AccountMail = ReturnType<typeof createAccountMail>;

/** Sends account e-mails after the response, so that the response is the same whether or not an e-mail is sent. */
export function createAccountMail(deps: {
  config: Config;
  database: IdentityDatabase;
  accounts: Accounts;
  members: Members;
  emailLinks: EmailLinks;
  mailer: Mailer;
  logger: Logger;
}) {
  const { config, accounts, members, emailLinks, mailer } = deps;
  const base = config.publicBaseUrl;
  const mails = createLimiter(deps.database, MAILS);
  const verifications = createLimiter(deps.database, VERIFICATIONS);
  const unsolicitedMail = createUnsolicitedMailLimit(deps);

  const hashOf = (email: string) => createHash('sha256').update(email).digest('base64url');
  const mayReset = async (email: string) => (await consume(mails, `mail:reset:${hashOf(email)}`)).allowed;
  const mayMailUnverified = async (cause: MailCause) => (await unsolicitedMail.count(cause)) === undefined;

  const mayVerify = async ({ _id, email }: UserDocument, cause: MailCause) =>
    (await consume(mails, `mail:verify:${_id}`)).allowed &&
    (await consume(verifications, `mail:verify:${hashOf(email)}`)).allowed &&
    (await mayMailUnverified(cause));

  const composeMail = (to: string, subject: string, ...paragraphs: string[]): Mail => ({
    to,
    subject,
    text: `${paragraphs.join('\n\n')}\n`,
  });

  return {
    /**
     * Sends a verification e-mail after a sign-up. If the address belongs to someone already, informs that person
     * instead.
     */
    verification(user: UserDocument, cause: MailCause): void {
      mailer.post(clientGroups(cause.address), async () => {
        if (!(await mayVerify(user, cause))) return undefined;
        if (await members.findByEmail(user.email)) {
          return composeMail(
            user.email,
            'You already have a Callwright account',
            'Somebody, perhaps you, signed up for Callwright with this e-mail address. It belongs to an account already.',
            `Log in: ${base}/portal/log-in`,
            `Forgot your password? ${base}/portal/forgot-password`,
            'If it was not you, you can ignore this e-mail.',
          );
        }
        return composeMail(
          user.email,
          'Verify your e-mail address',
          `Somebody, perhaps you, signed up for Callwright with this e-mail address on ${timeOf(user.createdAt)}` +
            `${namedAccount((await accounts.find(user.accountId))?.name)}. If it was you, open this link within 30 minutes and ` +
            'finish with the password that you chose:',
          linkTo(base, 'verify-email', await emailLinks.issue(user.email, 'verify')),
          'If it was not you, you can ignore this e-mail. Without the password the link does nothing.',
        );
      });
    },

    /**
     * Sends a password reset after a random delay, which is the same for addresses without an account.
     * @param address of the client that sent the request
     */
    passwordReset(email: string, address: string): void {
      mailer.postDelayed(clientGroups(address), async () => {
        const user = await members.findByEmail(email);
        const isKnown = user !== null || (await members.countUnverified(email)) > 0;
        if (!isKnown || !(await mayReset(email))) return undefined;
        if (user === null) {
          if (!(await mayMailUnverified({ address, isFirst: false }))) return undefined;
          // Anyone can sign up with this address, so its owner receives none of the text entered at the sign-up.
          return composeMail(
            email,
            'No Callwright account has this address',
            'Somebody, perhaps you, asked for a new Callwright password. Somebody signed up with this e-mail address but did ' +
              'not verify it, so there is no password to reset.',
            `Sign up again: ${base}/portal/sign-up`,
            'If you did not ask for it, you can ignore this e-mail.',
          );
        }
        return composeMail(
          user.email,
          'Reset your Callwright password',
          'Open this link within 30 minutes to choose a new password:',
          linkTo(base, 'reset-password', await emailLinks.issue(user._id, 'reset')),
          'If you did not ask for it, you can ignore this e-mail. Your password stays as it is.',
        );
      });
    },

    /**
     * Counts an invitation of the account as an e-mail to an unverified address, even if the address is verified, so
     * that the limit does not reveal which addresses are known.
     * @returns undefined if the e-mail may be sent, otherwise how long to wait, in ms
     */
    countInvitation: (accountId: string): Promise<number | undefined> => unsolicitedMail.countInvitation(accountId),

    /** Sends an invitation e-mail. Its only limit is `countInvitation`, not those of the other e-mails. */
    invitation(p: { email: string; token: string; accountId: string; accountName: string }): void {
      mailer.post(['accounts', p.accountId], async () => {
        return composeMail(
          p.email,
          'You are invited to Callwright',
          `You are invited to join the account${quoted(p.accountName)} on Callwright. Open this link within 7 days:`,
          linkTo(base, 'accept-invitation', p.token),
          'If you do not expect this invitation, you can ignore this e-mail.',
        );
      });
    },
  };
}

/** The groups of a client for the mailer. Clients are in one group, and accounts in the other. */
function clientGroups(address: string): string[] {
  return ['clients', ...networksOf(address)];
}

function namedAccount(account: string | undefined): string {
  const name = quoted(account ?? '');
  return name === '' ? '' : ` and named the account${name}`;
}

/** Returns the quoted name after a space. Returns an empty text if the name is not harmless. */
function quoted(name: string): string {
  return isHarmless(name) ? ` "${name}"` : '';
}

const TIME = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });

function timeOf(at: Date): string {
  return `${TIME.format(at)} UTC`;
}

/** Whether an untrusted name has no phone number, and nothing that mail programs turn into a link. */
function isHarmless(name: string): boolean {
  const digits = name.match(/\p{N}/gu)?.length ?? 0;
  return digits <= MAX_DIGITS && /^[\p{L}\p{N} ,'&-]{1,60}$/u.test(name);
}

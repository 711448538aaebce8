import { createHash } from 'node:crypto';
import type { Config } from '../../config.js';
import { linkTo, type EmailLinks } from '../../store/email-links.js';
import type { Database } from '../../store/database.js';
import type { Members } from '../../store/members.js';
import type { UserDocument } from '../../store/models/user.js';
import { consume, createLimiter } from '../middleware/rate-limit.js';
import type { Mail, Mailer } from './mailer.js';

/** To one address, of one kind. Whoever reaches it has a link that is still valid. */
const MAILS = { points: 3, duration: 30 * 60 };

export type AccountMail = ReturnType<typeof createAccountMail>;

/** What the service writes to people. All of it is sent after the answer, which is the same whether or not it is sent. */
export function createAccountMail(deps: {
  config: Config;
  database: Database;
  members: Members;
  emailLinks: EmailLinks;
  mailer: Mailer;
}) {
  const { config, members, emailLinks, mailer } = deps;
  const base = config.publicBaseUrl;
  const mails = createLimiter(deps.database, MAILS);

  async function isAllowed(kind: string, email: string): Promise<boolean> {
    const hash = createHash('sha256').update(email).digest('base64url');
    return (await consume(mails, `mail:${kind}:${hash}`)).allowed;
  }

  const letter = (to: string, subject: string, ...paragraphs: string[]): Mail => ({
    to,
    subject,
    text: `${paragraphs.join('\n\n')}\n`,
  });

  return {
    /** To somebody who signed up; who has the address already is told of the sign-up instead. */
    verification(user: UserDocument): void {
      mailer.post(async () => {
        if (!(await isAllowed('verify', user.email))) return undefined;
        if (await members.findByEmail(user.email)) {
          return letter(
            user.email,
            'You already have a Callwright account',
            'Somebody, perhaps you, signed up for Callwright with this e-mail address. It belongs to an account already.',
            `Log in: ${base}/portal/log-in`,
            `Forgot your password? ${base}/portal/forgot-password`,
            'If it was not you, you can ignore this e-mail.',
          );
        }
        return letter(
          user.email,
          'Verify your e-mail address',
          'Open this link within 30 minutes to verify your e-mail address for Callwright:',
          linkTo(base, 'verify-email', await emailLinks.issue(user._id, 'verify')),
          'If you did not sign up for Callwright, you can ignore this e-mail.',
        );
      });
    },

    passwordReset(email: string): void {
      mailer.post(async () => {
        const user = (await members.findByEmail(email)) ?? (await members.findUnverified(email));
        if (!user || !(await isAllowed('reset', user.email))) return undefined;
        return letter(
          user.email,
          'Reset your Callwright password',
          'Open this link within 30 minutes to choose a new password:',
          linkTo(base, 'reset-password', await emailLinks.issue(user._id, 'reset')),
          'If you did not ask for it, you can ignore this e-mail. Your password stays as it is.',
        );
      });
    },

    /** The limits of invitations apply instead of those of other mail. */
    invitation(p: { email: string; token: string; accountName: string }): void {
      mailer.post(async () => {
        const account = isHarmless(p.accountName) ? ` "${p.accountName}"` : '';
        return letter(
          p.email,
          'You are invited to Callwright',
          `You are invited to join the account${account} on Callwright. Open this link within 7 days:`,
          linkTo(base, 'accept-invitation', p.token),
          'If you do not expect this invitation, you can ignore this e-mail.',
        );
      });
    },
  };
}

/** Whether a name that a stranger chose is free of anything a mail program would make a link of. */
function isHarmless(name: string): boolean {
  return /^[\p{L}\p{N} ,'&-]{1,60}$/u.test(name);
}

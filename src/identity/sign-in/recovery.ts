import type { Config } from '../../platform/config/config.js';
import type { recoveryRoutes } from './contract.js';
import { ServiceError } from '../../kernel/errors.js';
import type { Accounts } from '../accounts/accounts.js';
import type { KeyCreators } from '../api-keys/key-creators.js';
import type { EmailLinks } from '../people/email-links.js';
import type { Members } from '../people/members.js';
import type { UserDocument } from '../people/model.js';
import type { PasswordRules } from '../people/password-rules.js';
import type { LoginSessions } from '../people/login-sessions.js';
import type { ApiContext } from '../../platform/http/context.js';
import { clientAddress } from '../../platform/http/security.js';
import type { RouteHandlers } from '../access/principal.js';
import type { Auditor } from '../access/audit.js';
import { sessionTokenOf } from '../access/session-cookie.js';
import type { AccountMail } from './account-mail.js';
import type { PortalLimits } from './limits.js';
import type { MailRequestLimits } from './mail-request-limits.js';
import type { Hashing } from './hashing.js';
import { actorOf, auditPerson, auditRevokedKeys, inTime } from './person-requests.js';

export interface RecoveryDeps {
  config: Config;
  accounts: Accounts;
  members: Members;
  sessions: LoginSessions;
  hashing: Hashing;
  passwordRules: PasswordRules;
  emailLinks: EmailLinks;
  accountMail: AccountMail;
  mailRequests: MailRequestLimits;
  limits: PortalLimits;
  auditor: Auditor;
  keyCreators: KeyCreators;
}

/** Handlers of links by e-mail: address verification and password reset. */
export function createRecoveryHandlers(deps: RecoveryDeps): RouteHandlers<typeof recoveryRoutes> {
  const {
    config,
    accounts,
    members,
    sessions,
    hashing,
    passwordRules,
    emailLinks,
    accountMail,
    mailRequests,
    limits,
    auditor,
    keyCreators,
  } = deps;

  /** Finds the person of a password reset link. @throws ServiceError NOT_FOUND */
  async function personOf(token: string): Promise<UserDocument> {
    const userId = await emailLinks.find(token, 'reset');
    const user = userId === undefined ? null : await members.findById(userId);
    if (!user || user.unverified) throw invalidLink();
    return user;
  }

  /**
   * Finds the sign-up with the address, by its session or password. Access to the e-mails alone is not enough, because
   * someone else may have opened an account with the address.
   * @throws ServiceError MISSING_PARAMS, RATE_LIMIT_EXCEEDED
   */
  async function signedUp(ctx: ApiContext, email: string, password: string | undefined): Promise<UserDocument> {
    if (password !== undefined) {
      const found = await limits.tryPassword(ctx, 'verifyEmail', email, async (counted) => {
        const hash = await counted(hashing.hash(ctx, { email, unverified: true }, password));
        return (await inTime(ctx, members.findUnverified(email, hash))) ?? undefined;
      });
      if (found === undefined) throw wrongPassword('password does not match a sign-up with this e-mail address.');
      return found;
    }
    const cookie = sessionTokenOf(ctx, config);
    const session = cookie === undefined ? null : await inTime(ctx, sessions.find(cookie));
    if (session?.user.email === email) return session.user;
    throw wrongPassword('password is required: enter the password that you signed up with.');
  }

  return {
    /** Sends the same response for every address, known or not. */
    async requestPasswordReset({ ctx, body: { email } }) {
      assertMailEnabled(config);
      await inTime(
        ctx,
        mailRequests.countReset(ctx, () => limits.countLink(ctx)),
      );
      accountMail.passwordReset(email, clientAddress(ctx, config));
      return { requested: true };
    },

    async resetPassword({ ctx, body: { token, new_password: password, revoke_api_keys: revokesKeys = false } }) {
      await inTime(ctx, limits.countLink(ctx));
      const user = await inTime(ctx, personOf(token));
      const accountName = (await inTime(ctx, accounts.find(user.accountId)))?.name ?? '';
      const check = { field: 'new_password', password, own: [user.email, user.name, accountName] } as const;
      await inTime(ctx, passwordRules.check(check));
      const passwordHash = await hashing.hash(ctx, { email: user.email }, password);
      // A password that is set from now on stays, even if this process is frozen meanwhile.
      const current = await inTime(ctx, personOf(token));
      if (!(await inTime(ctx, emailLinks.use(token, 'reset')))) throw invalidLink();
      if (!(await inTime(ctx, members.replacePassword(current, passwordHash)))) throw changedMeanwhile();
      // A new password ends only sessions that are bound to the password. Those of an earlier version are not.
      await inTime(ctx, sessions.endAll(user._id));
      // Someone who knew the old password may have created invitations.
      await inTime(ctx, members.withdrawInvitationsBy(user._id));
      // Someone who knew the old password may also have used up the limit of successful log-ins.
      await inTime(ctx, limits.forgetLogIns(user._id));
      await auditPerson(auditor, ctx, user, 'resetPassword');
      const maker = { accountId: user.accountId, userId: user._id };
      if (revokesKeys) {
        const keys = await inTime(ctx, keyCreators.revokeAll(maker));
        await auditRevokedKeys(auditor, ctx, { actor: actorOf(user), keys });
      }
      return { password_changed: true, active_api_keys: await inTime(ctx, keyCreators.countActive(maker)) };
    },

    async verifyEmail({ ctx, body: { token, password } }) {
      await inTime(ctx, limits.countLink(ctx));
      const email = await inTime(ctx, emailLinks.find(token, 'verify'));
      if (email === undefined) throw invalidLink();
      const user = await signedUp(ctx, email, password);
      await inTime(ctx, members.verify(user));
      // Use up the link last. After a crash, the same link then completes the verification, and nothing is credited
      // twice.
      await inTime(ctx, emailLinks.use(token, 'verify'));
      await auditPerson(auditor, ctx, user, 'verifyEmail');
      return { verified: true };
    },

    /** Sends the same response whether or not the address belongs to someone else. */
    async sendVerificationEmail({ ctx, principal: { user } }) {
      if (!user.unverified) throw new ServiceError('CONFLICT', 'Your e-mail address is already verified.');
      assertMailEnabled(config);
      await inTime(
        ctx,
        mailRequests.countOfClient(ctx, () => limits.countLink(ctx)),
      );
      accountMail.verification(user, { address: clientAddress(ctx, config), isFirst: false });
      return { requested: true };
    },
  };
}

function assertMailEnabled({ mail }: Config): void {
  if (mail !== undefined) return;
  throw new ServiceError('FORBIDDEN', 'This service does not send e-mail. Ask its operator for a link.');
}

function wrongPassword(fault: string): ServiceError {
  return new ServiceError('MISSING_PARAMS', fault, { fields: { password: fault } });
}

function invalidLink(): ServiceError {
  return new ServiceError('NOT_FOUND', 'This link is no longer valid. Request a new one.');
}

function changedMeanwhile(): ServiceError {
  return new ServiceError('CONFLICT', 'The password was changed meanwhile. Log in with it, or request a new link.');
}

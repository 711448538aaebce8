import type { Config } from '../../config.js';
import { EmailBody, ResetPasswordBody, TokenBody } from '../../contract/portal.js';
import { ServiceError } from '../../domain/errors.js';
import type { Accounts } from '../../store/accounts.js';
import { createApiKeys } from '../../store/api-keys.js';
import type { Database } from '../../store/database.js';
import type { EmailLinks, LinkPurpose } from '../../store/email-links.js';
import type { Members } from '../../store/members.js';
import type { UserDocument } from '../../store/models/user.js';
import type { PasswordRules } from '../../store/password-rules.js';
import type { Passwords } from '../../store/passwords.js';
import type { Sessions } from '../../store/sessions.js';
import type { ApiContext, MemberPrincipal } from '../context.js';
import { within } from '../deadline.js';
import type { Auditor } from '../middleware/audit.js';
import { bodyOf } from '../middleware/input.js';
import type { AccountMail } from './account-mail.js';
import type { PortalLimits } from './limits.js';

export interface RecoveryDeps {
  config: Config;
  database: Database;
  accounts: Accounts;
  members: Members;
  sessions: Sessions;
  passwords: Passwords;
  passwordRules: PasswordRules;
  emailLinks: EmailLinks;
  accountMail: AccountMail;
  limits: PortalLimits;
  auditor: Auditor;
}

const ANSWER_WITHIN_MS = 8_000;

/** Links by e-mail: verification of addresses, and new passwords for forgotten ones. */
export function createRecoveryRoutes(deps: RecoveryDeps) {
  const { config, accounts, members, sessions, passwords, passwordRules, emailLinks, accountMail, limits, auditor } =
    deps;
  const apiKeys = createApiKeys({ database: deps.database, pepper: config.apiKeyPepper });
  const inTime = <T>(ctx: ApiContext, work: Promise<T>) => within(ctx.state.arrivedAt + ANSWER_WITHIN_MS, work);

  /** @throws ServiceError NOT_FOUND */
  async function personOf(token: string, purpose: LinkPurpose): Promise<UserDocument> {
    const userId = await emailLinks.find(token, purpose);
    const user = userId === undefined ? null : await members.findById(userId);
    if (!user) throw invalidLink();
    return user;
  }

  async function audit(ctx: ApiContext, user: UserDocument, action: string): Promise<void> {
    const actor = { kind: 'member', userId: user._id, email: user.email, role: user.role, sessionId: '' } as const;
    await auditor(ctx, { accountId: user.accountId, actor, action });
  }

  /** Whoever signed up never showed that the address is theirs: nothing they made lets anybody in after a reset. */
  async function verifyByReset(user: UserDocument): Promise<void> {
    const keys = (await apiKeys.list(user.accountId)).filter((key) => !key.revokedAt);
    for (const { keyId } of keys) await apiKeys.revoke(keyId);
    const current = await members.findById(user._id);
    if (current) await members.verify(current);
  }

  return {
    /** Answers the same for every address. */
    async requestReset(ctx: ApiContext): Promise<void> {
      const { email } = await bodyOf(EmailBody, ctx);
      if (config.mail === undefined) {
        throw new ServiceError('FORBIDDEN', 'This service sends no e-mail. Ask its operator for a link.');
      }
      await inTime(ctx, limits.countLink(ctx));
      accountMail.passwordReset(email);
      ctx.body = { requested: true };
    },

    async resetPassword(ctx: ApiContext): Promise<void> {
      const { token, new_password: password } = await bodyOf(ResetPasswordBody, ctx);
      await inTime(ctx, limits.countLink(ctx));
      const user = await inTime(ctx, personOf(token, 'reset'));
      const accountName = (await inTime(ctx, accounts.find(user.accountId)))?.name ?? '';
      const own = [user.email, user.name, accountName];
      await inTime(ctx, passwordRules.check({ field: 'new_password', password, own }));
      const passwordHash = await inTime(ctx, passwords.hash(password));
      if (!(await inTime(ctx, emailLinks.use(token, 'reset')))) throw invalidLink();
      await inTime(ctx, members.setPassword(user, passwordHash));
      // Sessions are bound to the password; those of an earlier version of the service are not.
      await inTime(ctx, sessions.endAll(user._id));
      if (user.unverified) await inTime(ctx, verifyByReset(user));
      ctx.body = { password_changed: true };
      await audit(ctx, user, 'resetPassword');
    },

    async verifyEmail(ctx: ApiContext): Promise<void> {
      const { token } = await bodyOf(TokenBody, ctx);
      await inTime(ctx, limits.countLink(ctx));
      const user = await inTime(ctx, personOf(token, 'verify'));
      await inTime(ctx, members.verify(user));
      // Used up last: after a crash the same link completes what was begun, and nothing is credited twice.
      await inTime(ctx, emailLinks.use(token, 'verify'));
      ctx.body = { verified: true };
      await audit(ctx, user, 'verifyEmail');
    },

    /** Answers the same whether or not the address belongs to somebody else. */
    async sendVerification(ctx: ApiContext, { user }: MemberPrincipal): Promise<void> {
      if (!user.unverified) throw new ServiceError('CONFLICT', 'Your e-mail address is verified already.');
      await inTime(ctx, limits.countLink(ctx));
      accountMail.verification(user);
      ctx.body = { requested: true };
    },
  };
}

function invalidLink(): ServiceError {
  return new ServiceError('NOT_FOUND', 'This link is not valid any more. Ask for a new one.');
}

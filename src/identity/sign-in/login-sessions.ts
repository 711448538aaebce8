import type { Config } from '../../platform/config/config.js';
import type { entryRoutes, joiningRoutes, loginSessionRoutes } from './contract.js';
import type { PortalSession } from './schemas.js';
import { ServiceError } from '../../kernel/errors.js';
import type { Accounts } from '../accounts/accounts.js';
import type { KeyCreators } from '../api-keys/key-creators.js';
import type { Members } from '../people/members.js';
import type { UserDocument } from '../people/model.js';
import type { PasswordRules } from '../people/password-rules.js';
import type { LoginSessions } from '../people/login-sessions.js';
import type { ApiContext } from '../../platform/http/context.js';
import { clientAddress } from '../../platform/http/security.js';
import type { RouteHandlers } from '../access/principal.js';
import type { Auditor } from '../access/audit.js';
import { sessionTokenOf, setSessionToken } from '../access/session-cookie.js';
import type { AccountMail } from './account-mail.js';
import type { PortalLimits } from './limits.js';
import type { MailRequestLimits } from './mail-request-limits.js';
import { storeKnownBrowser } from './known-browsers.js';
import type { Hashing } from './hashing.js';
import { auditPerson, auditRevokedKeys, inTime } from './person-requests.js';
import { loginSessionView } from './views.js';

export interface LoginSessionHandlersDeps {
  config: Config;
  accounts: Accounts;
  members: Members;
  sessions: LoginSessions;
  hashing: Hashing;
  passwordRules: PasswordRules;
  limits: PortalLimits;
  accountMail: AccountMail;
  mailRequests: MailRequestLimits;
  auditor: Auditor;
  keyCreators: KeyCreators;
}

/** Handlers for sign-up, log-in, log-out and passwords. */
export function createLoginSessionHandlers(
  deps: LoginSessionHandlersDeps,
): RouteHandlers<typeof entryRoutes & typeof loginSessionRoutes & typeof joiningRoutes> {
  const { config, accounts, members, sessions, hashing, passwordRules } = deps;
  const { limits, accountMail, mailRequests, auditor, keyCreators } = deps;

  /** Starts a session and ends the old one. The token is always new, so an attacker cannot plant one (session fixation). */
  async function begin(ctx: ApiContext, user: UserDocument, action: string): Promise<PortalSession> {
    const before = sessionTokenOf(ctx, config);
    const old = before === undefined ? null : await inTime(ctx, sessions.find(before));
    if (old) await inTime(ctx, sessions.end(old.session._id));
    const account = await inTime(ctx, accounts.find(user.accountId));
    if (!account) throw new Error(`There is no account ${user.accountId}, to which the user ${user._id} belongs.`);
    const { token, expiresAt } = await inTime(ctx, sessions.begin(user));
    setSessionToken(ctx, config, token);
    await auditPerson(auditor, ctx, user, action);
    return loginSessionView({ user, account, mode: 'test', expiresAt, config });
  }

  async function countSignUp(ctx: ApiContext): Promise<void> {
    const count = () => limits.countSignUp(ctx);
    await inTime(ctx, config.signUp.verifiesEmail ? mailRequests.countOfClient(ctx, count) : count());
  }

  return {
    readSignUpOptions: () => ({ sign_up: config.signUp.mode, sends_email: config.mail !== undefined }),

    async signUp({ ctx, readBody }) {
      if (config.signUp.mode !== 'open') {
        const remedy = config.signUp.mode === 'off' ? 'Ask its operator.' : 'Ask one of its members to invite you.';
        throw new ServiceError('FORBIDDEN', `Sign-up is closed on this service. ${remedy}`);
      }
      const { email, name, password, account_name: accountName } = await readBody();
      await inTime(ctx, passwordRules.check({ field: 'password', password, own: [email, name, accountName] }));
      await countSignUp(ctx);
      const unverified = config.signUp.verifiesEmail ? { unverified: true as const } : {};
      const passwordHash = await hashing.hash(ctx, { email, ...unverified }, password);
      const user = await inTime(ctx, members.signUp({ email, name, passwordHash, accountName, ...unverified }));
      const session = await begin(ctx, user, 'signUp');
      if (user.unverified) accountMail.verification(user, { address: clientAddress(ctx, config), isFirst: true });
      return session;
    },

    async acceptInvitation({ ctx, readBody }) {
      assertInvitationsEnabled(config);
      const { token, name, password } = await readBody();
      await countSignUp(ctx);
      const { email, accountId, provesAddress } = await inTime(ctx, members.openInvitation(token));
      const accountName = (await inTime(ctx, accounts.find(accountId)))?.name ?? '';
      await inTime(ctx, passwordRules.check({ field: 'password', password, own: [email, name, accountName] }));
      const unverified = config.signUp.verifiesEmail && !provesAddress ? { unverified: true as const } : {};
      const passwordHash = await hashing.hash(ctx, { email, ...unverified }, password);
      const user = await inTime(ctx, members.accept(token, { name, passwordHash, ...unverified }));
      const session = await begin(ctx, user, 'acceptInvitation');
      if (user.unverified) accountMail.verification(user, { address: clientAddress(ctx, config), isFirst: true });
      return session;
    },

    async logIn({ ctx, body: { email, password } }) {
      const user = await limits.tryPassword(ctx, 'logIn', email, async (counted) => {
        const owner = await inTime(ctx, members.findByEmail(email));
        // Compute all hashes even if the e-mail address is unknown, so that timing reveals nothing.
        const isOwner = await counted(hashing.verify(ctx, password, owner?.passwordHash));
        if (!config.signUp.verifiesEmail) return (isOwner && owner) || undefined;
        const signUpHash = await counted(hashing.hash(ctx, { email, unverified: true }, password));
        const signedUp = await inTime(ctx, members.findUnverified(email, signUpHash));
        return (isOwner ? owner : signedUp) ?? undefined;
      });
      if (user === undefined) throw new ServiceError('UNAUTHORIZED', 'The e-mail address or password is incorrect.');
      if (!user.unverified) storeKnownBrowser(ctx, config, email);
      return begin(ctx, user, 'logIn');
    },

    readSession({ principal: { user, account, mode, sessionEndsAt } }) {
      return loginSessionView({ user, account, mode, expiresAt: sessionEndsAt, config });
    },

    async logOut({ ctx, principal: { actor } }) {
      await inTime(ctx, sessions.end(actor.sessionId));
      setSessionToken(ctx, config, null);
      return { logged_out: true };
    },

    async logOutEverywhere({ ctx, principal: { user } }) {
      await inTime(ctx, sessions.endAll(user._id));
      setSessionToken(ctx, config, null);
      return { logged_out: true };
    },

    async changePassword({ ctx, principal: { user, account, mode, actor }, body }) {
      const { current_password: current, new_password: next, revoke_api_keys: revokesKeys = false } = body;
      const own = [user.email, user.name, account.name];
      await inTime(ctx, passwordRules.check({ field: 'new_password', password: next, own }));
      const known = await limits.tryPassword(ctx, 'changePassword', user.email, async (counted) => {
        return (await counted(hashing.verify(ctx, current, user.passwordHash))) ? user : undefined;
      });
      if (known === undefined) {
        const fault = 'current_password is incorrect.';
        throw new ServiceError('MISSING_PARAMS', fault, { fields: { current_password: fault } });
      }
      const passwordHash = await hashing.hash(ctx, user, next);
      if (!(await inTime(ctx, members.replacePassword(user, passwordHash)))) {
        throw new ServiceError('UNAUTHORIZED', 'The password was changed in the meantime. Log in again.');
      }
      // End every session, including this one, because someone else may have known the old password.
      await inTime(ctx, sessions.endAll(user._id));
      // Someone who knew the old password may also have sent an invitation, to regain access by it.
      await inTime(ctx, members.withdrawInvitationsBy(user._id));
      if (revokesKeys) {
        const keys = await inTime(ctx, keyCreators.revokeAll({ accountId: account._id, userId: user._id }));
        await auditRevokedKeys(auditor, ctx, { actor, keys });
      }
      const { token, expiresAt } = await inTime(ctx, sessions.begin({ ...user, passwordHash }));
      setSessionToken(ctx, config, token);
      return loginSessionView({ user, account, mode, expiresAt, config });
    },
  };
}

/** @throws ServiceError FORBIDDEN if invitations are turned off */
export function assertInvitationsEnabled(config: Config): void {
  if (config.signUp.mode !== 'off') return;
  throw new ServiceError('FORBIDDEN', 'Invitations are turned off on this service. Ask its operator.');
}

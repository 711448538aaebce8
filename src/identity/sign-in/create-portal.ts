import type { SignUpOptions } from './schemas.js';
import type { Config } from '../../platform/config/config.js';
import type { Accounts } from '../accounts/accounts.js';
import type { Database } from '../../platform/mongo/database.js';
import { createEmailLinks } from '../people/email-links.js';
import { createMembers } from '../people/members.js';
import { createPasswordRules } from '../people/password-rules.js';
import { createPasswords } from '../people/passwords.js';
import { createSessions } from '../people/sessions.js';
import type { Auditor } from '../access/audit.js';
import type { Handlers } from '../../api/router.js';
import { createAccountMail } from './account-mail.js';
import { createPortalLimits } from './limits.js';
import type { Mailer } from '../../platform/mail/mailer.js';
import { createMemberRoutes } from './members.js';
import { createRecoveryRoutes } from './recovery.js';
import { createSessionRoutes } from './sessions.js';

/** What people do as people: open accounts, log in, manage members. */
export function createPortal(deps: {
  config: Config;
  database: Database;
  accounts: Accounts;
  auditor: Auditor;
  mailer: Mailer;
}): Pick<Handlers, 'session' | 'origin'> & { none: Pick<Handlers['none'], 'readSignUpOptions'> } {
  const members = createMembers(deps.database);
  const emailLinks = createEmailLinks(deps.database);
  const shared = {
    ...deps,
    members,
    emailLinks,
    accountMail: createAccountMail({ ...deps, members, emailLinks }),
    sessions: createSessions(deps.database),
    passwords: createPasswords(),
    passwordRules: createPasswordRules(),
    limits: createPortalLimits(deps),
  };
  const sessions = createSessionRoutes(shared);
  const memberRoutes = createMemberRoutes(shared);
  const recovery = createRecoveryRoutes(shared);
  const { signUp, mail } = deps.config;
  return {
    none: {
      readSignUpOptions: (ctx) => {
        ctx.body = { sign_up: signUp.mode, sends_email: mail !== undefined } satisfies SignUpOptions;
      },
    },
    session: {
      readSession: (ctx, member) => sessions.read(ctx, member),
      logOut: (ctx, member) => sessions.logOut(ctx, member),
      logOutEverywhere: (ctx, member) => sessions.logOutEverywhere(ctx, member),
      changePassword: (ctx, member) => sessions.changePassword(ctx, member),
      sendVerificationEmail: (ctx, member) => recovery.sendVerification(ctx, member),
      listMembers: (ctx, member) => memberRoutes.list(ctx, member),
      updateMember: (ctx, member, params) => memberRoutes.update(ctx, member, params['user_id'] ?? ''),
      removeMember: (ctx, member, params) => memberRoutes.remove(ctx, member, params['user_id'] ?? ''),
      listInvitations: (ctx, member) => memberRoutes.invitations(ctx, member),
      inviteMember: (ctx, member) => memberRoutes.invite(ctx, member),
      withdrawInvitation: (ctx, member, params) => memberRoutes.withdraw(ctx, member, params['invitation_id'] ?? ''),
    },
    origin: {
      signUp: (ctx) => sessions.signUp(ctx),
      logIn: (ctx) => sessions.logIn(ctx),
      requestPasswordReset: (ctx) => recovery.requestReset(ctx),
      resetPassword: (ctx) => recovery.resetPassword(ctx),
      verifyEmail: (ctx) => recovery.verifyEmail(ctx),
      acceptInvitation: (ctx) => sessions.acceptInvitation(ctx),
    },
  };
}

import type { SignUpOptions } from './schemas.js';
import type { Config } from '../../platform/config/config.js';
import type { Accounts } from '../accounts/accounts.js';
import type { IdentityDatabase } from '../database.js';
import { createEmailLinks } from '../people/email-links.js';
import { createMembers } from '../people/members.js';
import { createPasswordRules } from '../people/password-rules.js';
import { createPasswords } from '../people/passwords.js';
import { createSessions } from '../people/sessions.js';
import type { MemberPrincipal } from '../access/principal.js';
import type { ApiContext } from '../../platform/http/context.js';
import type { Auditor } from '../access/audit.js';
import { createAccountMail } from './account-mail.js';
import { createPortalLimits } from './limits.js';
import type { Mailer } from '../../platform/mail/mailer.js';
import { createMemberRoutes } from './members.js';
import { createRecoveryRoutes } from './recovery.js';
import { createSessionRoutes } from './sessions.js';

type PathParams = Readonly<Record<string, string>>;

/** What people do as people: open accounts, log in, manage members. */
export function createPortal(deps: {
  config: Config;
  database: IdentityDatabase;
  accounts: Accounts;
  auditor: Auditor;
  mailer: Mailer;
}) {
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
      readSignUpOptions: (ctx: ApiContext) => {
        ctx.body = { sign_up: signUp.mode, sends_email: mail !== undefined } satisfies SignUpOptions;
      },
    },
    session: {
      readSession: (ctx: ApiContext, member: MemberPrincipal) => sessions.read(ctx, member),
      logOut: (ctx: ApiContext, member: MemberPrincipal) => sessions.logOut(ctx, member),
      logOutEverywhere: (ctx: ApiContext, member: MemberPrincipal) => sessions.logOutEverywhere(ctx, member),
      changePassword: (ctx: ApiContext, member: MemberPrincipal) => sessions.changePassword(ctx, member),
      sendVerificationEmail: (ctx: ApiContext, member: MemberPrincipal) => recovery.sendVerification(ctx, member),
      listMembers: (ctx: ApiContext, member: MemberPrincipal) => memberRoutes.list(ctx, member),
      updateMember: (ctx: ApiContext, member: MemberPrincipal, params: PathParams) =>
        memberRoutes.update(ctx, member, params['user_id'] ?? ''),
      removeMember: (ctx: ApiContext, member: MemberPrincipal, params: PathParams) =>
        memberRoutes.remove(ctx, member, params['user_id'] ?? ''),
      listInvitations: (ctx: ApiContext, member: MemberPrincipal) => memberRoutes.invitations(ctx, member),
      inviteMember: (ctx: ApiContext, member: MemberPrincipal) => memberRoutes.invite(ctx, member),
      withdrawInvitation: (ctx: ApiContext, member: MemberPrincipal, params: PathParams) =>
        memberRoutes.withdraw(ctx, member, params['invitation_id'] ?? ''),
    },
    origin: {
      signUp: (ctx: ApiContext) => sessions.signUp(ctx),
      logIn: (ctx: ApiContext) => sessions.logIn(ctx),
      requestPasswordReset: (ctx: ApiContext) => recovery.requestReset(ctx),
      resetPassword: (ctx: ApiContext) => recovery.resetPassword(ctx),
      verifyEmail: (ctx: ApiContext) => recovery.verifyEmail(ctx),
      acceptInvitation: (ctx: ApiContext) => sessions.acceptInvitation(ctx),
    },
  };
}

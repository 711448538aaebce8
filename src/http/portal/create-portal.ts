import type { SignUpOptions } from '../../contract/portal.js';
import type { Config } from '../../config.js';
import type { Accounts } from '../../store/accounts.js';
import type { Database } from '../../store/database.js';
import { createMembers } from '../../store/members.js';
import { createPasswordRules } from '../../store/password-rules.js';
import { createPasswords } from '../../store/passwords.js';
import { createSessions } from '../../store/sessions.js';
import type { Auditor } from '../middleware/audit.js';
import type { Handlers } from '../router.js';
import { createPortalLimits } from './limits.js';
import { createMemberRoutes } from './members.js';
import { createSessionRoutes } from './sessions.js';

/** What people do as people: open accounts, log in, manage members. */
export function createPortal(deps: {
  config: Config;
  database: Database;
  accounts: Accounts;
  auditor: Auditor;
}): Pick<Handlers, 'session' | 'origin'> & { none: Pick<Handlers['none'], 'readSignUpOptions'> } {
  const shared = {
    ...deps,
    members: createMembers(deps.database),
    sessions: createSessions(deps.database),
    passwords: createPasswords(),
    passwordRules: createPasswordRules(),
    limits: createPortalLimits(deps),
  };
  const sessions = createSessionRoutes(shared);
  const members = createMemberRoutes(shared);
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
      listMembers: (ctx, member) => members.list(ctx, member),
      updateMember: (ctx, member, params) => members.update(ctx, member, params['user_id'] ?? ''),
      removeMember: (ctx, member, params) => members.remove(ctx, member, params['user_id'] ?? ''),
      listInvitations: (ctx, member) => members.invitations(ctx, member),
      inviteMember: (ctx, member) => members.invite(ctx, member),
      withdrawInvitation: (ctx, member, params) => members.withdraw(ctx, member, params['invitation_id'] ?? ''),
    },
    origin: {
      signUp: (ctx) => sessions.signUp(ctx),
      logIn: (ctx) => sessions.logIn(ctx),
      acceptInvitation: (ctx) => sessions.acceptInvitation(ctx),
    },
  };
}

import type { Config } from '../../platform/config/config.js';
import type { memberRoutes } from './contract.js';
import { mayUse } from '../../kernel/access.js';
import type { Auditor } from '../access/audit.js';
import { apiKeyRoutes } from '../api-keys/contract.js';
import type { KeyCreators } from '../api-keys/key-creators.js';
import type { Members } from '../people/members.js';
import type { LoginSessions } from '../people/login-sessions.js';
import { wholeList } from '../../platform/http/lists.js';
import { limitExceeded } from '../../platform/http/rate-limits/rate-limit.js';
import type { RouteHandlers } from '../access/principal.js';
import { deadlineOf, withDeadline } from '../../platform/http/deadline.js';
import { recheckAfter } from '../../platform/http/recheck-after.js';
import { respond } from '../../platform/http/routing/response.js';
import { createWrites } from '../../platform/mongo/writes.js';
import type { AccountMail } from './account-mail.js';
import type { PortalLimits } from './limits.js';
import type { MailRequestLimits } from './mail-request-limits.js';
import { auditRevokedKeys } from './person-requests.js';
import { assertInvitationsEnabled } from './login-sessions.js';
import { invitationView, memberView } from './views.js';

/** Handlers of the account's members and invitations. */
export function createMemberHandlers(deps: {
  config: Config;
  members: Members;
  sessions: LoginSessions;
  limits: PortalLimits;
  accountMail: AccountMail;
  mailRequests: MailRequestLimits;
  keyCreators: KeyCreators;
  auditor: Auditor;
}): RouteHandlers<typeof memberRoutes> {
  const { config, members, sessions, limits, accountMail, mailRequests, keyCreators, auditor } = deps;
  return {
    async listMembers({ ctx, principal: { account } }) {
      return wholeList((await withDeadline(deadlineOf(ctx), members.list(account._id))).map(memberView));
    },

    async updateMember({ ctx, principal: { account, actor }, params: { user_id: userId }, body: { role } }) {
      const before = await withDeadline(deadlineOf(ctx), members.find(account._id, userId));
      const writes = createWrites();
      const changed = recheckAfter(ctx, members.setRole(account._id, userId, role, writes.add), () =>
        members.restoreRole(account._id, userId, { changed: role, before: before.role }),
      );
      const user = await withDeadline(deadlineOf(ctx), changed);
      // The new role would apply to the next request anyway, but the member must also log in again, with a new token.
      const loggedOut = await withDeadline(deadlineOf(ctx), sessions.endAll(userId));
      if (!mayUse(role, apiKeyRoutes.createApiKey)) {
        const keys = await withDeadline(deadlineOf(ctx), keyCreators.revokeAll({ accountId: account._id, userId }));
        await auditRevokedKeys(auditor, ctx, { actor, keys });
      }
      return respond(memberView(user), { unchanged: writes.isNone() && !loggedOut });
    },

    async removeMember({ ctx, principal: { account, actor }, params: { user_id: userId } }) {
      const { user, revokedKeys } = await withDeadline(deadlineOf(ctx), members.remove(account._id, userId));
      await withDeadline(deadlineOf(ctx), sessions.endAll(userId));
      await auditRevokedKeys(auditor, ctx, { actor, keys: revokedKeys });
      return memberView(user);
    },

    async listInvitations({ ctx, principal: { account } }) {
      const open = await withDeadline(deadlineOf(ctx), members.invitations(account._id));
      return wholeList(open.map(invitationView));
    },

    async inviteMember({ ctx, principal: { account, user }, readBody }) {
      assertInvitationsEnabled(config);
      const { email, role } = await readBody();
      const isMailed = config.mail !== undefined;
      // Before the limits of a day, which a request that is rejected here must not use up.
      if (isMailed) await withDeadline(deadlineOf(ctx), mailRequests.countInvitation(ctx, account._id));
      await withDeadline(deadlineOf(ctx), limits.countInvitation(ctx, { accountId: account._id, email }));
      if (isMailed) {
        const waitMs = await withDeadline(deadlineOf(ctx), accountMail.countInvitation(account._id));
        if (waitMs !== undefined) throw limitExceeded(ctx, Math.ceil(waitMs / 1_000));
      }
      const invited = members.invite({
        accountId: account._id,
        email,
        role,
        invitedBy: user._id,
        provesAddress: isMailed,
      });
      const kept = recheckAfter(ctx, invited, ({ invitation }) =>
        members.withdraw(account._id, invitation.invitationId),
      );
      const { invitation, token } = await withDeadline(deadlineOf(ctx), kept);
      if (isMailed) accountMail.invitation({ email, token, accountId: account._id, accountName: account.name });
      // A token proves control of the address only if others did not see it, so do not return an e-mailed token.
      const shown = { ...invitationView(invitation), ...(isMailed ? {} : { token }) };
      return respond(shown, { target: invitation.invitationId });
    },

    async withdrawInvitation({ ctx, principal: { account }, params: { invitation_id: invitationId } }) {
      return invitationView(await withDeadline(deadlineOf(ctx), members.withdraw(account._id, invitationId)));
    },
  };
}

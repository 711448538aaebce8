import type { Config } from '../../platform/config/config.js';
import { InvitationBody, MemberChangesBody } from './schemas.js';
import { ServiceError } from '../../kernel/errors.js';
import type { Members } from '../people/members.js';
import type { Sessions } from '../people/sessions.js';
import { wholeList } from '../../platform/http/lists.js';
import type { ApiContext } from '../../platform/http/context.js';
import type { MemberPrincipal } from '../access/principal.js';
import { deadlineOf, within } from '../../platform/http/deadline.js';
import { granted } from '../../platform/http/granted.js';
import { bodyOf } from '../../platform/http/input.js';
import type { AccountMail } from './account-mail.js';
import type { PortalLimits } from './limits.js';
import { refuseInvitations } from './sessions.js';
import { invitationView, memberView } from './views.js';

/** Members of the account and invitations to it. */
export function createMemberRoutes(deps: {
  config: Config;
  members: Members;
  sessions: Sessions;
  limits: PortalLimits;
  accountMail: AccountMail;
}) {
  const { config, members, sessions, limits, accountMail } = deps;
  return {
    async list(ctx: ApiContext, { account }: MemberPrincipal): Promise<void> {
      ctx.body = wholeList((await within(deadlineOf(ctx), members.list(account._id))).map(memberView));
    },

    async update(ctx: ApiContext, { account }: MemberPrincipal, userId: string): Promise<void> {
      const { role } = await bodyOf(MemberChangesBody, ctx);
      const before = await within(deadlineOf(ctx), members.find(account._id, userId));
      const changed = granted(ctx, members.setRole(account._id, userId, role), () =>
        members.setRole(account._id, userId, before.role),
      );
      const user = await within(deadlineOf(ctx), changed);
      // What they may do is read with every request; they log in again all the same, with a new token.
      await within(deadlineOf(ctx), sessions.endAll(userId));
      ctx.body = memberView(user);
    },

    async remove(ctx: ApiContext, { account }: MemberPrincipal, userId: string): Promise<void> {
      const user = await within(deadlineOf(ctx), members.remove(account._id, userId));
      await within(deadlineOf(ctx), sessions.endAll(userId));
      ctx.body = memberView(user);
    },

    async invitations(ctx: ApiContext, { account }: MemberPrincipal): Promise<void> {
      const open = await within(deadlineOf(ctx), members.invitations(account._id));
      ctx.body = wholeList(open.map(invitationView));
    },

    async invite(ctx: ApiContext, { account, user }: MemberPrincipal): Promise<void> {
      refuseInvitations(config);
      const { email, role } = await bodyOf(InvitationBody, ctx);
      await within(deadlineOf(ctx), limits.countInvitation(ctx, { accountId: account._id, email }));
      const isMailed = config.mail !== undefined;
      const invited = members.invite({
        accountId: account._id,
        email,
        role,
        invitedBy: user._id,
        provesAddress: isMailed,
      });
      const kept = granted(ctx, invited, ({ invitation }) => members.withdraw(account._id, invitation.invitationId));
      const { invitation, token } = await within(deadlineOf(ctx), kept);
      ctx.state.target = invitation.invitationId;
      if (isMailed) accountMail.invitation({ email, token, accountName: account.name });
      // Who has the token proves that they have the address, unless it was shown to somebody else.
      ctx.body = { ...invitationView(invitation), ...(isMailed ? {} : { token }) };
    },

    async withdraw(ctx: ApiContext, { account }: MemberPrincipal, invitationId: string): Promise<void> {
      if (invitationId === '') throw new ServiceError('NOT_FOUND', 'The account has no such open invitation.');
      ctx.body = invitationView(await within(deadlineOf(ctx), members.withdraw(account._id, invitationId)));
    },
  };
}

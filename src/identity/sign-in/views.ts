import type { Invitation, Member, PortalSession } from './schemas.js';
import type { AccountDocument } from '../accounts/model.js';
import type { InvitationDocument, UserDocument } from '../people/model.js';
import { accountView } from '../accounts/routes.js';
import type { Config } from '../../platform/config/config.js';
import type { Mode } from '../../kernel/ids.js';

export function memberView(user: UserDocument): Member {
  return {
    user_id: user._id,
    email: user.email,
    name: user.name,
    role: user.role,
    email_verified: user.unverified !== true,
    created_at: user.createdAt.toISOString(),
  };
}

export function loginSessionView(p: {
  user: UserDocument;
  account: AccountDocument;
  mode: Mode;
  expiresAt: Date;
  config: Config;
}): PortalSession {
  const { uiUrl, namespace } = p.config.temporal;
  return {
    member: memberView(p.user),
    account: accountView(p.account, p.mode, p.config),
    expires_at: p.expiresAt.toISOString(),
    // Only operators see the address of Temporal's web UI.
    ...(uiUrl === undefined || p.user.operator !== true
      ? {}
      : { temporal_ui_url: `${uiUrl}/namespaces/${encodeURIComponent(namespace)}` }),
  };
}

export function invitationView(invitation: InvitationDocument): Invitation {
  return {
    invitation_id: invitation.invitationId,
    email: invitation.email,
    role: invitation.role,
    created_at: invitation.createdAt.toISOString(),
    expires_at: invitation.expiresAt.toISOString(),
  };
}

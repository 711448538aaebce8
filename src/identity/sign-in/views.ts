import type { Invitation, Member, PortalSession } from './schemas.js';
import type { AccountDocument } from '../accounts/model.js';
import type { InvitationDocument, UserDocument } from '../people/model.js';
import { accountView } from '../accounts/routes.js';
import type { Config } from '../../platform/config/config.js';
import type { Mode } from '../../kernel/ids.js';
import { omitUndefined } from '../../kernel/omit-undefined.js';

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
    live_calls_simulated: p.config.carriers.live.isSimulated,
    ...omitUndefined({
      payment_url: paymentUrlOf(p.config, p.account._id),
      operator_contact_url: p.config.payments.contactUrl,
    }),
    ...(!p.config.production && p.user.operator === true ? { can_kill_processes: true } : {}),
    // Only operators see the address of Temporal's web UI.
    ...(uiUrl === undefined || p.user.operator !== true
      ? {}
      : { temporal_ui_url: `${uiUrl}/namespaces/${encodeURIComponent(namespace)}` }),
  };
}

/** Returns the page on which customers pay, with the account in the parameter that the payment webhook reads. */
function paymentUrlOf({ payments }: Config, accountId: string): string | undefined {
  if (payments.url === undefined) return undefined;
  const page = new URL(payments.url);
  // Stripe returns it in the event: https://docs.stripe.com/payment-links/url-parameters, read on 2026-11-23.
  page.searchParams.set('client_reference_id', accountId);
  return page.href;
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

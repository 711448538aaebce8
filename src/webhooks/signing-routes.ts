import { RotateSigningBody, type WebhookSigning } from './schemas.js';
import type { StoredWebhookSecret } from '../identity/accounts/model.js';
import type { WebhookSecrets } from './secrets.js';
import type { ApiContext } from '../platform/http/context.js';
import type { Principal } from '../identity/access/principal.js';
import { deadlineOf, within } from '../platform/http/deadline.js';
import { granted } from '../platform/http/granted.js';
import { bodyOf } from '../platform/http/input.js';

const DEFAULT_OVERLAP_HOURS = 24;
const MS_PER_HOUR = 3_600_000;

/** Whether and by which secrets the account's webhooks are signed. */
export function createWebhookSigningRoutes({ secrets }: { secrets: WebhookSecrets }) {
  const viewOf = async (ctx: ApiContext, accountId: string) =>
    signingView(await within(deadlineOf(ctx), secrets.list(accountId)));

  return {
    async read(ctx: ApiContext, { account }: Principal): Promise<void> {
      ctx.body = await viewOf(ctx, account._id);
    },

    async rotate(ctx: ApiContext, principal: Principal): Promise<void> {
      const accountId = principal.account._id;
      const { overlap_hours: hours = DEFAULT_OVERLAP_HOURS } = await bodyOf(RotateSigningBody, ctx);
      // Nothing to undo: the secret is shown in this answer only, and the next rotation replaces it.
      const rotated = granted(ctx, secrets.rotate(accountId, hours * MS_PER_HOUR), () => Promise.resolve());
      const { secret, stored } = await within(deadlineOf(ctx), rotated);
      ctx.state.target = stored.id;
      ctx.body = { ...(await viewOf(ctx, accountId)), secret };
    },

    async turnOff(ctx: ApiContext, principal: Principal): Promise<void> {
      await within(deadlineOf(ctx), secrets.remove(principal.account._id));
      ctx.body = await viewOf(ctx, principal.account._id);
    },
  };
}

function signingView(secrets: readonly StoredWebhookSecret[]): WebhookSigning {
  return {
    enabled: secrets.length > 0,
    secrets: secrets.map(({ id, createdAt, expiresAt }) => ({
      secret_id: id,
      created_at: createdAt.toISOString(),
      ...(expiresAt ? { expires_at: expiresAt.toISOString() } : {}),
    })),
  };
}

import type { signingRoutes } from '../contract.js';
import type { WebhookSigning } from '../schemas.js';
import type { StoredWebhookSecret } from '../../identity/accounts/model.js';
import type { WebhookSecrets } from './secrets.js';
import type { ApiContext } from '../../platform/http/context.js';
import type { RouteHandlers } from '../../identity/access/principal.js';
import { deadlineOf, withDeadline } from '../../platform/http/deadline.js';
import { recheckAfter } from '../../platform/http/recheck-after.js';
import { respond } from '../../platform/http/routing/response.js';
import { createWrites } from '../../platform/mongo/writes.js';

const DEFAULT_OVERLAP_HOURS = 24;
const MS_PER_HOUR = 3_600_000;

/** Creates the handlers for the signing secrets of the account's webhooks. */
export function createSigningHandlers({ secrets }: { secrets: WebhookSecrets }): RouteHandlers<typeof signingRoutes> {
  const readView = async (ctx: ApiContext, accountId: string) =>
    signingView(await withDeadline(deadlineOf(ctx), secrets.list(accountId)));

  return {
    readWebhookSigning({ ctx, principal: { account } }) {
      return readView(ctx, account._id);
    },

    async rotateWebhookSigning({ ctx, principal, body }) {
      const accountId = principal.account._id;
      const { overlap_hours: hours = DEFAULT_OVERLAP_HOURS } = body;
      // A sender that lost the permission meanwhile must not end the secrets that receivers know.
      const rotated = recheckAfter(ctx, secrets.rotate(accountId, hours * MS_PER_HOUR), (made) =>
        secrets.undoRotation(accountId, made),
      );
      const { secret, toolSecrets, stored } = await withDeadline(deadlineOf(ctx), rotated);
      const view = await readView(ctx, accountId);
      return respond({ ...view, secret, tool_secrets: toolSecrets }, { target: stored.id });
    },

    async turnOffWebhookSigning({ ctx, principal }) {
      const accountId = principal.account._id;
      const writes = createWrites();
      await withDeadline(deadlineOf(ctx), secrets.remove(accountId, writes.add));
      return respond(await readView(ctx, accountId), { unchanged: writes.isNone() });
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

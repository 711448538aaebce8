import type { Config } from '../platform/config/config.js';
import type { RouteHandlers } from '../identity/access/principal.js';
import type { deliveryRoutes, signingRoutes } from './contract.js';
import type { WebhooksDatabase } from './database.js';
import { createWebhookDeliveries } from './deliveries.js';
import { createDeliveryHandlers, type DeliveryHandlersDeps } from './deliveries-routes.js';
import { createWebhookFailures } from './failures.js';
import { createWebhookSecrets } from './signing/secrets.js';
import { createSigningHandlers } from './signing/signing-routes.js';

export interface WebhookHandlersDeps extends Pick<
  DeliveryHandlersDeps,
  'gateway' | 'calls' | 'rateLimiter' | 'cursors' | 'attempts' | 'largeDocuments'
> {
  config: Config;
  database: WebhooksDatabase;
}

/** Creates the handlers of all routes about completion webhooks. */
export function createWebhookHandlers(
  deps: WebhookHandlersDeps,
): RouteHandlers<typeof deliveryRoutes & typeof signingRoutes> {
  const { database } = deps;
  return {
    ...createDeliveryHandlers({
      ...deps,
      deliveries: createWebhookDeliveries(database),
      failures: createWebhookFailures(database),
    }),
    ...createSigningHandlers({ secrets: createWebhookSecrets(deps) }),
  };
}

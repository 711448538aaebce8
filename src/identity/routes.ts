import type { RouteHandlers } from './access/principal.js';
import type { accountRoutes, auditRoutes } from './accounts/contract.js';
import { createAccountHandlers, type AccountHandlersDeps } from './accounts/routes.js';
import { createApiKeys } from './api-keys/api-keys.js';
import { keyPeppersOf } from './api-keys/key-search.js';
import type { apiKeyRoutes } from './api-keys/contract.js';
import { createApiKeyHandlers } from './api-keys/routes.js';
import type { portalRoutes } from './sign-in/contract.js';
import { createPortalHandlers, type PortalHandlersDeps } from './sign-in/routes.js';

/** Handlers of accounts, API keys, people and the audit log. */
export function createIdentityHandlers(
  deps: AccountHandlersDeps & PortalHandlersDeps,
): RouteHandlers<typeof accountRoutes & typeof apiKeyRoutes & typeof auditRoutes & typeof portalRoutes> {
  const { database, config } = deps;
  return {
    ...createAccountHandlers(deps),
    ...createApiKeyHandlers({
      apiKeys: createApiKeys({ database, ...keyPeppersOf(config) }),
    }),
    ...createPortalHandlers(deps),
  };
}

import { accountRoutes, auditRoutes } from '../identity/accounts/contract.js';
import { apiKeyRoutes } from '../identity/api-keys/contract.js';
import { portalRoutes } from '../identity/sign-in/contract.js';
import { moneyRoutes } from '../billing/contract.js';
import { deliveryRoutes, signingRoutes } from '../webhooks/contract.js';

/** Domains whose handlers are mounted by their contracts. */
export const mountedRoutes = {
  ...moneyRoutes,
  ...deliveryRoutes,
  ...signingRoutes,
  ...accountRoutes,
  ...apiKeyRoutes,
  ...auditRoutes,
  ...portalRoutes,
};
export type Mounted = keyof typeof mountedRoutes;

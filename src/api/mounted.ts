import { moneyRoutes } from '../billing/contract.js';
import { deliveryRoutes, signingRoutes } from '../webhooks/contract.js';

/** Domains whose handlers are mounted by their contracts. */
export const mountedRoutes = { ...moneyRoutes, ...deliveryRoutes, ...signingRoutes };
export type Mounted = keyof typeof mountedRoutes;

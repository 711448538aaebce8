import { placingRoutes } from '../calls/placing/contract.js';
import { carrierCallbackRoutes, carrierInboundRoutes } from '../telephony/contract.js';
import { agentRoutes } from '../agents/contract.js';
import { numberRoutes } from '../agents/numbers/contract.js';
import { serviceRoutes } from './contract.js';
import { accountRoutes, auditRoutes } from '../identity/accounts/contract.js';
import { apiKeyRoutes } from '../identity/api-keys/contract.js';
import { webCallRoutes } from '../calls/web/contract.js';
import { callRoutes } from '../calls/views/contract.js';
import { moneyRoutes } from '../billing/contract.js';
import { portalRoutes } from '../identity/sign-in/contract.js';
import { deliveryRoutes, signingRoutes } from '../webhooks/contract.js';
import { voiceRoutes } from '../agents/voices/contract.js';

const accountTables = {
  ...callRoutes,
  ...webCallRoutes,
  ...deliveryRoutes,
  ...signingRoutes,
  ...agentRoutes,
  ...numberRoutes,
  ...accountRoutes,
  ...apiKeyRoutes,
  ...auditRoutes,
  ...voiceRoutes,
  ...moneyRoutes,
  ...portalRoutes,
};

/** All routes except those that carriers call, which have their handlers in the carrier adapters. */
export const mountedRoutes = { ...placingRoutes, ...accountTables, ...serviceRoutes };

/**
 * All routes of the HTTP API, including those that carriers call. The OpenAPI document and the SDK's types derive from
 * it.
 */
export const routes = {
  ...placingRoutes,
  ...carrierInboundRoutes,
  ...accountTables,
  ...carrierCallbackRoutes,
  ...serviceRoutes,
};

export type OperationId = keyof typeof routes;

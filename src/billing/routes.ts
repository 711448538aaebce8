import type { Handlers } from '../platform/http/routing/handlers.js';
import type { moneyRoutes } from './contract.js';
import { createPaymentHandlers, type PaymentWebhookDeps } from './payments/webhook.js';
import { createStatementHandlers, type StatementDeps, type StatementOwner } from './statements/routes.js';

/** Handlers of all routes about balances, statements and payments. */
export function createMoneyHandlers(
  deps: StatementDeps & PaymentWebhookDeps,
): Handlers<typeof moneyRoutes, { keyOrSession: StatementOwner }> {
  return { ...createStatementHandlers(deps), ...createPaymentHandlers(deps) };
}

import type { CallGateway } from '../calls/gateway.js';
import { ServiceError } from '../kernel/errors.js';
import type { Database } from '../database.js';
import type { Handlers } from '../platform/http/routing/handlers.js';
import type { serviceRoutes } from './contract.js';
import { pingMongodb } from '../platform/mongo/connection.js';
import { createDependencyChecks } from '../platform/telemetry/readiness.js';

/** Handlers of GET /health/live, /health/serving and /health/ready. */
export function createHealthHandlers(deps: {
  database: Database;
  gateway: CallGateway;
  /** Whether the process is about to stop. It still serves requests, but should get no new ones. */
  isDraining?: () => boolean;
}): Handlers<Pick<typeof serviceRoutes, 'checkLiveness' | 'checkServing' | 'checkReadiness'>> {
  const current = createDependencyChecks({
    mongodb: () => pingMongodb(deps.database),
    temporal: () => deps.gateway.checkHealth(),
  });

  function requireServing(): void {
    if (deps.isDraining?.()) throw new ServiceError('SERVICE_UNAVAILABLE', 'This process is stopping.');
  }

  return {
    checkLiveness: () => ({ status: 'live' }),

    checkServing() {
      requireServing();
      return { status: 'serving' };
    },

    async checkReadiness() {
      requireServing();
      const { mongodb, temporal } = await current();
      if (mongodb !== 'ok' || temporal !== 'ok') {
        const away = [...(mongodb === 'ok' ? [] : ['MongoDB']), ...(temporal === 'ok' ? [] : ['Temporal'])];
        const message = `No response from ${away.join(' and ')}.`;
        throw new ServiceError('SERVICE_UNAVAILABLE', message, { mongodb, temporal });
      }
      return { status: 'ready', mongodb, temporal };
    },
  };
}

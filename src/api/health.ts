import type { CallGateway } from '../calls/gateway.js';
import { ServiceError } from '../kernel/errors.js';
import type { Database } from '../database.js';
import type { Handlers } from '../platform/http/routing/handlers.js';
import type { serviceRoutes } from './contract.js';
import { pingMongodb } from '../platform/mongo/connection.js';
import { createDependencyChecks } from '../platform/telemetry/readiness.js';

/** Handlers of GET /health/live and /health/ready. */
export function createHealthHandlers(deps: {
  database: Database;
  gateway: CallGateway;
  /** Whether the process is about to stop. It still serves requests, but should get no new ones. */
  isDraining?: () => boolean;
}): Handlers<Pick<typeof serviceRoutes, 'checkLiveness' | 'checkReadiness'>> {
  const current = createDependencyChecks({
    mongodb: () => pingMongodb(deps.database),
    temporal: () => deps.gateway.checkHealth(),
  });

  return {
    checkLiveness: () => ({ status: 'live' }),

    async checkReadiness() {
      if (deps.isDraining?.()) throw new ServiceError('SERVICE_UNAVAILABLE', 'This process is stopping.');
      const { mongodb, temporal } = await current();
      if (mongodb !== 'ok' || temporal !== 'ok') {
        throw new ServiceError('SERVICE_UNAVAILABLE', 'MongoDB or Temporal is unavailable.', { mongodb, temporal });
      }
      return { status: 'ready', mongodb, temporal };
    },
  };
}

import type { CallGateway } from '../calls/gateway.js';
import { ServiceError } from '../kernel/errors.js';
import type { Database } from '../database.js';
import type { Handlers } from '../platform/http/routing/handlers.js';
import type { serviceRoutes } from './contract.js';
import { withDeadline } from '../platform/http/deadline.js';

/** Timeout of the check of one dependency. */
const CHECK_TIMEOUT_MS = 1_000;

/** Results are cached this long. The route needs no key, so frequent requests must be cheap. */
const FRESH_MS = 1_000;

type State = 'ok' | 'away';
interface Health {
  mongodb: State;
  temporal: State;
}

/** Handlers of GET /health/live and /health/ready. */
export function createHealthHandlers(deps: {
  database: Database;
  gateway: CallGateway;
}): Handlers<Pick<typeof serviceRoutes, 'checkLiveness' | 'checkReadiness'>> {
  let last: { at: number; health: Promise<Health> } | undefined;

  async function look(): Promise<Health> {
    const [mongodb, temporal] = await Promise.all([
      stateOf(deps.database.connection.getClient().db().command({ ping: 1 })),
      stateOf(deps.gateway.checkHealth()),
    ]);
    return { mongodb, temporal };
  }

  function current(): Promise<Health> {
    if (last === undefined || Date.now() - last.at > FRESH_MS) last = { at: Date.now(), health: look() };
    return last.health;
  }

  return {
    checkLiveness: () => ({ status: 'live' }),

    async checkReadiness() {
      const { mongodb, temporal } = await current();
      if (mongodb !== 'ok' || temporal !== 'ok') {
        throw new ServiceError('SERVICE_UNAVAILABLE', 'MongoDB or Temporal is unavailable.', { mongodb, temporal });
      }
      return { status: 'ready', mongodb, temporal };
    },
  };
}

async function stateOf(check: Promise<unknown>): Promise<State> {
  try {
    await withDeadline(Date.now() + CHECK_TIMEOUT_MS, check);
    return 'ok';
  } catch {
    return 'away';
  }
}

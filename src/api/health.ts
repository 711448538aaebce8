import type { CallGateway } from '../calls/gateway.js';
import { ServiceError } from '../kernel/errors.js';
import type { Database } from '../database.js';
import type { ApiContext } from '../platform/http/context.js';
import { within } from '../platform/http/deadline.js';

/** How long a part of the service may take to show that it is there. */
const PART_ANSWERS_WITHIN_MS = 1_000;

/** Answers stand this long, so that asking often costs nothing: the route needs no key. */
const FRESH_MS = 1_000;

type State = 'ok' | 'away';
interface Health {
  mongodb: State;
  temporal: State;
}

/** GET /health/live and /health/ready. */
export function createHealth(deps: { database: Database; gateway: CallGateway }) {
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
    live(ctx: ApiContext): void {
      ctx.body = { status: 'live' };
    },

    async ready(ctx: ApiContext): Promise<void> {
      const health = await current();
      if (health.mongodb !== 'ok' || health.temporal !== 'ok') {
        throw new ServiceError('SERVICE_UNAVAILABLE', 'A part of the service is away.', { ...health });
      }
      ctx.body = { status: 'ready', ...health };
    },
  };
}

async function stateOf(answer: Promise<unknown>): Promise<State> {
  try {
    await within(Date.now() + PART_ANSWERS_WITHIN_MS, answer);
    return 'ok';
  } catch {
    return 'away';
  }
}

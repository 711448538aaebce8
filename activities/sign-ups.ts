import { createSignUpExpiry } from '../src/calls/sign-up-expiry.js';
import type { Database } from '../src/database.js';
import type { Logger } from '../src/platform/telemetry/logger.js';
import { withHeartbeats } from './with-heartbeats.js';

interface Deps {
  database: Database;
  logger: Logger;
  eraseCall: (call: { callId: string }) => Promise<void>;
}

/** Deletes expired sign-ups, as part of each round of reconciliation. */
export function createSignUpActivities({ database, logger, eraseCall }: Deps) {
  const expiry = createSignUpExpiry({ database, eraseCall, logger });
  return {
    /** Deletes sign-ups whose email address was not verified in time. */
    expireSignUps: (): Promise<{ deleted: number }> =>
      withHeartbeats(async () => {
        const deleted = await expiry.run();
        if (deleted > 0) logger.info({ deleted }, 'expired sign-ups deleted');
        return { deleted };
      }),
  };
}

import { withDeadline } from '../../platform/http/deadline.js';
import { retryUntil } from '../../platform/retry.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { CallGateway } from '../gateway.js';
import type { CallProjection, CallDecision } from '../projection.js';

/**
 * Delays between attempts to stop a call, and their total time. Used if the call could be neither given up nor
 * confirmed.
 */
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 10_000;
const MAX_RETRY_MS = 30 * 60_000;

export type GivenUpCalls = ReturnType<typeof createGivenUpCalls>;

/** Gives up calls whose workflow did not respond to the API in time. */
export function createGivenUpCalls(deps: {
  projection: Pick<CallProjection, 'giveUp'>;
  gateway: Pick<CallGateway, 'hangUp'>;
  logger: Logger;
}) {
  const { projection, gateway, logger } = deps;

  /** Returns true if the call provably will not be dialed, or was hung up. */
  async function isSettled(callId: string): Promise<boolean> {
    const decision = await projection.giveUp(callId).catch(() => undefined);
    if (decision === 'given_up') return true;
    const hungUp = await gateway.hangUp(callId, { cause: 'expired' }).catch(() => undefined);
    // If no workflow runs, a call that had begun has ended. The workflow of any other call may still start.
    return hungUp === true || (hungUp === false && decision === 'begun');
  }

  async function keepGivingUp(callId: string): Promise<void> {
    const settle = async () => {
      if (!(await isSettled(callId))) throw new Error('neither MongoDB nor Temporal confirmed that the call ends');
    };
    const limits = { until: Date.now() + MAX_RETRY_MS, firstPauseMs: FIRST_PAUSE_MS, longestPauseMs: MAX_PAUSE_MS };
    await retryUntil(settle, limits).catch((err: unknown) => {
      logger.error({ callId, err }, 'call may be placed although its request got a 503');
    });
  }

  return {
    /**
     * Gives a call up unless its reservation was granted before. The database decides which of the two came first, so
     * that the client and the workflow never disagree. If the database does not respond in time, the call is given up
     * or hung up, without a bill, as soon as the database or Temporal is available again.
     * @param deadline ms since the epoch
     * @returns `begun`: the call goes ahead
     */
    async giveUp(callId: string, deadline: number): Promise<CallDecision> {
      try {
        return await withDeadline(deadline, projection.giveUp(callId));
      } catch {
        void keepGivingUp(callId);
        return 'given_up';
      }
    },
  };
}

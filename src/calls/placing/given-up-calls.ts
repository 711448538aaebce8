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

interface GiveUpTerms {
  /** Runs, perhaps later, if the call was given up before it could begin. Its failure is ignored. */
  onGivenUp: () => Promise<void>;
  /**
   * Asked before a call that has begun is hung up, because its request got a 503 meanwhile. False: another request got a
   * 200 for the call, so it goes ahead. By default true.
   */
  mayHangUp?: (() => Promise<boolean>) | undefined;
}

export type GivenUpCalls = ReturnType<typeof createGivenUpCalls>;

/** Gives up calls whose workflow did not respond to the API in time. */
export function createGivenUpCalls(deps: {
  projection: Pick<CallProjection, 'giveUp'>;
  gateway: Pick<CallGateway, 'hangUp'>;
  logger: Logger;
}) {
  const { projection, gateway, logger } = deps;

  /**
   * Gives a call up once, unless it has begun.
   * @param onGivenUp runs if the call was given up, so that it can never begin, even if its request is repeated
   */
  async function decide(callId: string, onGivenUp: GiveUpTerms['onGivenUp']): Promise<CallDecision> {
    const decision = await projection.giveUp(callId);
    if (decision === 'given_up') void onGivenUp().catch(() => undefined);
    return decision;
  }

  /** Returns true if the call provably will not be dialed, was hung up, or belongs to another request. */
  async function isSettled(callId: string, { onGivenUp, mayHangUp }: GiveUpTerms): Promise<boolean> {
    const decision = await decide(callId, onGivenUp).catch(() => undefined);
    if (decision === 'given_up') return true;
    // While the database does not respond, it is not known whether the call belongs to another request.
    if (mayHangUp !== undefined && decision === undefined) return false;
    if (mayHangUp !== undefined && !(await mayHangUp())) return true;
    const hungUp = await gateway.hangUp(callId, { cause: 'expired' }).catch(() => undefined);
    // If no workflow runs, a call that had begun has ended. The workflow of any other call may still start.
    return hungUp === true || (hungUp === false && decision === 'begun');
  }

  async function keepGivingUp(callId: string, terms: GiveUpTerms): Promise<void> {
    const settle = async () => {
      if (!(await isSettled(callId, terms)))
        throw new Error('neither MongoDB nor Temporal confirmed that the call ends');
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
    async giveUp(callId: string, deadline: number, terms: GiveUpTerms): Promise<CallDecision> {
      try {
        return await withDeadline(deadline, decide(callId, terms.onGivenUp));
      } catch {
        void keepGivingUp(callId, terms);
        return 'given_up';
      }
    },

    /** Gives up, in the background and only once, a call that was not started. A repeated request may start it. */
    giveUpUnstarted(callId: string, onGivenUp: GiveUpTerms['onGivenUp']): void {
      void decide(callId, onGivenUp).catch(() => undefined);
    },
  };
}

import { Context } from '@temporalio/activity';
import type { Config } from '../src/platform/config/config.js';
import { LONGEST_DIAL_WAIT_MS } from '../src/telephony/pacing/dial-queue.js';
import { DialSlotTaken, DialSlotTooLate } from '../src/telephony/pacing/errors.js';
import type { DialPacing } from '../src/telephony/pacing/dial-pacing.js';
import type { CallProjection, ProjectedChange } from '../src/calls/projection.js';
import type { CallOfAccount } from './money.js';

interface Deps {
  config: Config;
  pacing: DialPacing;
  projection: CallProjection;
}

/** Enforces the carrier's limit of calls per second across all workers. */
export function createPacingActivities({ config, pacing, projection }: Deps) {
  return {
    /**
     * Takes a dial slot. While none is free, the call is IDLE, and the attempt fails with the delay after which
     * Temporal retries it. A retry adds no event to the history.
     * @param input.waitedMs how long the call has waited before
     * @param input.shown read model writes: `waiting` when the call must wait, `dialing` when the wait is over
     * @returns the slot's time, ms of the database server's clock; null if the carrier has no limit
     * @throws DialSlotTooLate after the longest wait, DialSlotTaken to try again later
     */
    async takeDialSlot(
      input: CallOfAccount & { waitedMs: number; shown?: { waiting: ProjectedChange; dialing: ProjectedChange } },
    ): Promise<{ slotAt: number | null }> {
      const { callId, accountId, mode, waitedMs, shown } = input;
      const { carrierAccountId, callsPerSecond } = config.carriers[mode];
      if (callsPerSecond === undefined) return { slotAt: null };
      const { attempt, scheduledTimestampMs, currentAttemptScheduledTimestampMs } = Context.current().info;
      const answer = await pacing.requestSlot({ carrierAccountId, callsPerSecond }, { callId, accountId });
      if (answer.granted) {
        if (shown && attempt > 1) await projection.apply({ ...shown.dialing, status: 'RINGING' });
        return { slotAt: answer.slotAt };
      }
      // Temporal's clock measures the wait; the queue uses the database server's clock.
      const leftMs = LONGEST_DIAL_WAIT_MS - waitedMs - (currentAttemptScheduledTimestampMs - scheduledTimestampMs);
      if (leftMs <= 0) throw new DialSlotTooLate();
      if (shown) await projection.apply({ ...shown.waiting, status: 'IDLE', waitingFor: 'dial_slot' });
      throw new DialSlotTaken(answer.ahead, Math.min(answer.retryAt - answer.now, leftMs));
    },
  };
}

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

/** The carrier's calls per second, kept by all workers together. */
export function createPacingActivities({ config, pacing, projection }: Deps) {
  return {
    /**
     * Takes a slot to dial in. While there is none the attempt fails and asks Temporal to come back when it is the
     * call's turn, which costs the history nothing; people meanwhile see the call as IDLE.
     * @param input.waitedMs what of the longest wait is used up already
     * @param input.shown the read model's writes: `waiting` when it must wait, `dialing` when the wait is over
     * @returns the slot's time; null where the carrier takes any number of calls
     */
    async takeDialSlot(
      input: CallOfAccount & { waitedMs: number; shown?: { waiting: ProjectedChange; dialing: ProjectedChange } },
    ): Promise<{ slotAt: number | null }> {
      const { callId, accountId, mode, waitedMs, shown } = input;
      const { carrierAccountId, callsPerSecond } = config.carriers[mode];
      if (callsPerSecond === undefined) return { slotAt: null };
      const { attempt, scheduledTimestampMs, currentAttemptScheduledTimestampMs } = Context.current().info;
      const answer = await pacing.ask({ carrierAccountId, callsPerSecond }, { callId, accountId });
      if (answer.granted) {
        if (shown && attempt > 1) await projection.apply({ ...shown.dialing, status: 'RINGING' });
        return { slotAt: answer.slotAt };
      }
      // Temporal's clock counts the wait; the queue's is the database's.
      const leftMs = LONGEST_DIAL_WAIT_MS - waitedMs - (currentAttemptScheduledTimestampMs - scheduledTimestampMs);
      if (leftMs <= 0) throw new DialSlotTooLate();
      if (shown) await projection.apply({ ...shown.waiting, status: 'IDLE', waitingFor: 'dial_slot' });
      throw new DialSlotTaken(answer.ahead, Math.min(answer.askAgainAt - answer.now, leftMs));
    },
  };
}

import type { Config } from '../../platform/config/config.js';
import { accountOf } from '../../telephony/accounts/configured-account.js';
import { LONGEST_DIAL_WAIT_MS } from '../../telephony/pacing/dial-queue.js';
import { DialSlotTaken, DialSlotTooLate } from '../../telephony/pacing/errors.js';
import type { DialPacing } from '../../telephony/pacing/dial-pacing.js';
import type { CallProjection, ProjectedChange } from '../projection.js';
import type { CallOfAccount } from './call-of-account.js';

interface Deps {
  config: Config;
  pacing: DialPacing;
  projection: CallProjection;
}

export interface DialSlotRequest extends CallOfAccount {
  /** See `CallInput`. */
  carrierAccountId?: string;
  /** How long the call has waited before, in ms. */
  waitedMs: number;
  /** Read model writes: `waiting` when the call must wait, `dialing` when the wait is over. */
  shown?: { waiting: ProjectedChange; dialing: ProjectedChange };
}

export type DialSlots = ReturnType<typeof createDialSlots>;

/** Enforces the carrier's limit of calls per second across all workers. */
export function createDialSlots({ config, pacing, projection }: Deps) {
  return {
    /**
     * Takes a dial slot. While none is free, the call is IDLE.
     * @param asked.again whether this request was denied a slot before
     * @returns the slot's time, ms of the database server's clock; null if the carrier has no limit
     * @throws DialSlotTooLate after the longest wait, DialSlotTaken to try again later, CarrierAccountMissing
     */
    async takeDialSlot(
      { callId, accountId, mode, carrierAccountId: chosen, waitedMs, shown }: DialSlotRequest,
      asked: { again: boolean },
    ): Promise<{ slotAt: number | null }> {
      const { carrierAccountId, callsPerSecond } = accountOf(config.carriers, { mode, carrierAccountId: chosen });
      if (callsPerSecond === undefined) return { slotAt: null };
      const answer = await pacing.requestSlot({ carrierAccountId, callsPerSecond }, { callId, accountId });
      if (answer.granted) {
        if (shown && asked.again) await projection.apply({ ...shown.dialing, status: 'RINGING' });
        return { slotAt: answer.slotAt };
      }
      const leftMs = LONGEST_DIAL_WAIT_MS - waitedMs;
      if (leftMs <= 0) throw new DialSlotTooLate();
      if (shown) await projection.apply({ ...shown.waiting, status: 'IDLE', waitingFor: 'dial_slot' });
      throw new DialSlotTaken(answer.ahead, Math.min(answer.retryAt - answer.now, leftMs));
    },
  };
}

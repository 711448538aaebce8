import type { CarrierAccount } from '../../platform/config/config.js';

/**
 * Twilio's queue of outbound calls: calls above an account's calls per second are accepted and dialed later, in their
 * order. Inbound calls and `<Dial>` do not count.
 */
export interface CallQueue {
  /** Takes the next free place of an account. @returns how long the call is queued, in ms */
  join(account: CarrierAccount): number;
}

export function createCallQueue(now: () => number = () => performance.now()): CallQueue {
  const nextDials = new Map<string, number>();
  return {
    join({ carrierAccountId, callsPerSecond }) {
      if (callsPerSecond === undefined) return 0;
      const at = Math.max(now(), nextDials.get(carrierAccountId) ?? 0);
      nextDials.set(carrierAccountId, at + 1_000 / callsPerSecond);
      return Math.round(at - now());
    },
  };
}

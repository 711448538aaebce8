import type { CarrierAccount } from '../../platform/config/config.js';
import { createPacedTurns, type PacedTurns } from './paced-turns.js';

/**
 * Twilio's queue of outbound calls: calls above an account's calls per second are accepted and dialed later, in their
 * order. Inbound calls and `<Dial>` do not count.
 */
export interface CallQueue {
  /** Takes the next slot of an account. @returns how long the call is queued, in ms */
  join(account: CarrierAccount): number;
}

export function createCallQueue(now?: () => number): CallQueue {
  const turnsOf = new Map<string, PacedTurns>();
  return {
    join({ carrierAccountId, callsPerSecond }) {
      if (callsPerSecond === undefined) return 0;
      const turns = turnsOf.get(carrierAccountId) ?? createPacedTurns(now);
      turnsOf.set(carrierAccountId, turns);
      return Math.round(turns.take(1_000 / callsPerSecond));
    },
  };
}

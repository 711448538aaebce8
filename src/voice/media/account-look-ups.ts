import { networksOf } from '../../platform/egress/client-address.js';
import { createFairQueue } from '../../platform/fair-queue.js';
import type { AccountOfCall } from '../../telephony/accounts/account-of-call.js';
import type { CallReader } from '../call-reader.js';

/** Look-ups at once. They leave most of the process's connections to the database to the calls that it carries. */
const MAX_RUNNING = 8;
/** As many as there may be connections without a verified signature: all calls of a process that died reconnect at once. */
const MAX_WAITING = 2_000;
const QUEUE_FULL = new Error('Too many look-ups of carrier accounts are waiting.');

/**
 * Looks up the carrier accounts of calls for upgrade requests that may be forged. Few look-ups run at once, and clients
 * share them fairly, so that a flood from one network delays only that network's requests.
 */
export function createAccountLookUps(calls: Pick<CallReader, 'accountOf'>) {
  const queue = createFairQueue({
    maxRunning: MAX_RUNNING,
    maxWaiting: MAX_WAITING,
    createFullError: () => QUEUE_FULL,
  });

  return {
    /**
     * Returns the carrier account of a call; null if the call is unknown, or its sender has gone.
     * @param sender.client the client's address, as returned by `clientOf`
     * @throws the database's error if it is unavailable
     */
    async find(
      callId: string,
      sender: { client: string; isOpen: () => boolean },
    ): Promise<AccountOfCall | null | 'too many'> {
      const work = async () => (sender.isOpen() ? calls.accountOf(callId) : null);
      try {
        return await queue.run({ groups: networksOf(sender.client) }, work);
      } catch (error) {
        if (error === QUEUE_FULL) return 'too many';
        throw error;
      }
    },
  };
}

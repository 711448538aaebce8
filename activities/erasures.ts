import { RetryLaterError } from '../src/kernel/errors.js';

/** Erasing a call costs the database as much as placing several, and a customer may erase hundreds together. */
const AT_ONCE = 2;
/** An erasure that is done takes less than a second. */
const RETRY_AFTER_MS = 500;
const SPREAD_MS = 1_000;

type EraseCall = (call: { callId: string }) => Promise<void>;

/** Too many calls are being erased at the moment. */
class ErasuresBusyError extends RetryLaterError {
  override readonly name = 'ErasuresBusyError';
}

/**
 * Limits how many calls this process erases at the same time. An erasure that finds all places taken comes back later, so
 * that it keeps no slot from other activities.
 */
export function createErasureActivities({ eraseCall }: { eraseCall: EraseCall }) {
  let running = 0;
  return {
    /** Erases a call's personal data. It is safe to repeat. */
    async eraseCall(call: { callId: string }): Promise<void> {
      if (running >= AT_ONCE) {
        throw new ErasuresBusyError('other calls are being erased', RETRY_AFTER_MS + Math.random() * SPREAD_MS, true);
      }
      running += 1;
      try {
        await eraseCall(call);
      } finally {
        running -= 1;
      }
    },
  };
}

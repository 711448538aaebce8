import { setTimeout as sleep } from 'node:timers/promises';
import {
  requestDialSlot,
  isMissed,
  newDialQueue,
  takeNextSlot,
  type SlotResponse,
  type DialQueue,
} from './dial-queue.js';
import { CALL_ID_PATTERN } from '../../kernel/ids.js';
import { optimisticUpdate } from '../../platform/mongo/optimistic-update.js';
import type { TelephonyDatabase } from '../database.js';
import type { DialPacingDocument } from './model.js';
import { createServerClock, type ServerClock } from '../../platform/mongo/server-clock.js';
import { driverCollection } from '../../platform/mongo/driver-collection.js';

export type DialPacing = ReturnType<typeof createDialPacing>;

/** A carrier account and its calls per second. Every process must use the same rate. */
export interface PacedAccount {
  carrierAccountId: string;
  callsPerSecond: number;
}

const MAX_ATTEMPTS = 60;
/**
 * When two processes change a queue at the same time, one of them pauses for a random time before it tries again. The
 * maximum is MIN_PAUSE_SPREAD_MS plus up to MAX_PAUSE_FACTOR times the duration of the attempt.
 */
const MIN_PAUSE_SPREAD_MS = 20;
const MAX_PAUSE_FACTOR = 10;

/**
 * Manages the dial queue of each carrier account, which all workers share. Each account has one document, and each
 * change is one optimistic update. All times come from the database server's clock.
 */
export function createDialPacing(database: TelephonyDatabase, options: { clock?: ServerClock } = {}) {
  const clock = options.clock ?? createServerClock(database);
  const documents = driverCollection<DialPacingDocument>(database, database.dialPacing);

  /** Applies a change to a queue and repeats it after each conflict. */
  async function updateQueue<T>(
    carrierAccountId: string,
    decideQueue: (queue: DialQueue, now: number) => { queue: DialQueue; answer: T },
  ): Promise<T> {
    const retries = { name: 'dial_pacing', maxAttempts: MAX_ATTEMPTS, pause: pauseAfterConflict } as const;
    const decide = async (found: DialPacingDocument | null) => {
      const { _id, version, ...before } = found ?? { _id: carrierAccountId, version: 0, ...newDialQueue() };
      const { queue, answer } = decideQueue(before, await clock());
      if (queue === before) return { answer };
      if (found === null) return { answer, insert: { _id, version: 1, ...queue } };
      return { answer, when: { version }, update: { $set: { ...queue, version: version + 1 } } };
    };
    return optimisticUpdate(documents, carrierAccountId, decide, retries);
  }

  return {
    /**
     * Requests a dial slot. A call that receives none keeps its position in the queue if it asks again at `retryAt`.
     */
    requestSlot(
      carrier: PacedAccount,
      call: { callId: string; accountId: string },
    ): Promise<SlotResponse & { now: number }> {
      // The call id becomes a field name, so validate it.
      if (!CALL_ID_PATTERN.test(call.callId)) throw new RangeError('callId must be a valid call id');
      const { carrierAccountId, callsPerSecond } = carrier;
      return updateQueue(carrierAccountId, (before, now) => {
        const { queue, answer } = requestDialSlot(before, { ...call, now, callsPerSecond });
        return { queue, answer: { ...answer, now } };
      });
    },

    /**
     * Waits until the time of a slot. If the slot is missed, for example because this process woke up too late, takes
     * the next free one.
     * @returns false when there is no slot within `timeoutMs`; then the call must not be dialed
     */
    async waitForSlot(carrier: PacedAccount, slotAt: number, timeoutMs: number): Promise<boolean> {
      const { carrierAccountId, callsPerSecond } = carrier;
      let now = await clock();
      let dialAt = slotAt;
      for (const giveUpAt = now + timeoutMs; ; now = await clock()) {
        if (isMissed(dialAt, now)) {
          [dialAt, now] = await updateQueue(carrierAccountId, (before, at) => {
            const taken = takeNextSlot(before, { now: at, callsPerSecond });
            return { queue: taken.queue, answer: [taken.slotAt, at] as const };
          });
        }
        if (dialAt > giveUpAt) return false;
        if (dialAt > now) await sleep(dialAt - now);
        else if (!isMissed(dialAt, now)) return true;
      }
    },
  };
}

/** Pauses for a random time, longer after more attempts and when the database is slow. */
async function pauseAfterConflict(tries: number, tookMs: number): Promise<void> {
  await sleep(Math.random() * (MIN_PAUSE_SPREAD_MS + tookMs * Math.min(tries - 1, MAX_PAUSE_FACTOR)));
}

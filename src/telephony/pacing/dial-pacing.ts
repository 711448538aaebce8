import { setTimeout as sleep } from 'node:timers/promises';
import { askForSlot, isMissed, newDialQueue, takeNextSlot, type DialAnswer, type DialQueue } from './dial-queue.js';
import { CALL_ID_PATTERN } from '../../kernel/ids.js';
import { optimisticUpdate } from '../../platform/mongo/optimistic-update.js';
import type { TelephonyDatabase } from '../database.js';
import type { DialPacingDocument } from './model.js';
import { createServerClock, type ServerClock } from '../../platform/mongo/server-clock.js';
import { driverCollection } from '../../platform/mongo/driver-collection.js';

export type DialPacing = ReturnType<typeof createDialPacing>;

/** A carrier account and its calls per second; every process must use the same rate. */
export interface PacedAccount {
  carrierAccountId: string;
  callsPerSecond: number;
}

const MOST_TRIES = 60;
/**
 * After a conflict, a process pauses for a random time of up to this long plus up to this many times the duration of
 * the attempt.
 */
const SHORTEST_SPREAD_MS = 20;
const MAX_SPREAD = 10;

/**
 * The dial queue of each carrier account, shared by all workers: one document per account, and each change is one
 * optimistic update. All times come from the database server's clock.
 */
export function createDialPacing(database: TelephonyDatabase, options: { clock?: ServerClock } = {}) {
  const clock = options.clock ?? createServerClock(database);
  const documents = driverCollection<DialPacingDocument>(database, database.dialPacing);

  /** Applies a change, repeating it after each conflict. */
  async function change<T>(
    carrierAccountId: string,
    plan: (queue: DialQueue, now: number) => { queue: DialQueue; answer: T },
  ): Promise<T> {
    const retries = { name: 'dial_pacing', mostTries: MOST_TRIES, pause: pauseInCrowd };
    const decide = async (found: DialPacingDocument | null) => {
      const { _id, version, ...before } = found ?? { _id: carrierAccountId, version: 0, ...newDialQueue() };
      const { queue, answer } = plan(before, await clock());
      if (queue === before) return { answer };
      if (found === null) return { answer, insert: { _id, version: 1, ...queue } };
      return { answer, when: { version }, update: { $set: { ...queue, version: version + 1 } } };
    };
    return optimisticUpdate(documents, carrierAccountId, decide, retries);
  }

  return {
    /** Asks for a dial slot. A call without a slot keeps its position in the queue if it asks again at `askAgainAt`. */
    ask(carrier: PacedAccount, call: { callId: string; accountId: string }): Promise<DialAnswer & { now: number }> {
      // The call id becomes a field name, so validate it.
      if (!CALL_ID_PATTERN.test(call.callId)) throw new RangeError('not a call id');
      const { carrierAccountId, callsPerSecond } = carrier;
      return change(carrierAccountId, (before, now) => {
        const { queue, answer } = askForSlot(before, { ...call, now, callsPerSecond });
        return { queue, answer: { ...answer, now } };
      });
    },

    /**
     * Waits until the time of a slot; if the slot is missed, for example because this process woke up too late, takes
     * the next free one.
     * @returns false when there is no slot within `withinMs`: do not dial
     */
    async awaitSlot(carrier: PacedAccount, slotAt: number, withinMs: number): Promise<boolean> {
      const { carrierAccountId, callsPerSecond } = carrier;
      let now = await clock();
      let dialAt = slotAt;
      for (const giveUpAt = now + withinMs; ; now = await clock()) {
        if (isMissed(dialAt, now)) {
          [dialAt, now] = await change(carrierAccountId, (before, at) => {
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

/** The slower the database and the more attempts so far, the longer the random pause. */
async function pauseInCrowd(tries: number, tookMs: number): Promise<void> {
  await sleep(Math.random() * (SHORTEST_SPREAD_MS + tookMs * Math.min(tries - 1, MAX_SPREAD)));
}

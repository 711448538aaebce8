import { isDuplicateKey } from '../platform/mongo/connection.js';
import type { TelephonyDatabase } from './database.js';
import type { CarrierEventDocument } from './carrier-event-model.js';

/** No call has more callbacks than this; more are not read. */
const MOST_EVENTS = 100;

export type CarrierEvents = ReturnType<typeof createCarrierEvents>;

/** What the carrier told of each call, for people who ask what happened; nothing is decided by it. */
export function createCarrierEvents(database: TelephonyDatabase) {
  return {
    /** Keeps a callback; a repeat of one is not kept again. */
    async add(event: Omit<CarrierEventDocument, '_id' | 'createdAt'>): Promise<void> {
      const _id = `${event.callId}:${event.carrierSid}:${event.sequence ?? event.status}`;
      try {
        await database.carrierEvents.create([{ _id, createdAt: new Date(), ...event }]);
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
    },

    /** In the order in which they came. */
    list(callId: string): Promise<CarrierEventDocument[]> {
      return database.carrierEvents
        .find({ callId })
        .sort({ createdAt: 1, _id: 1 })
        .limit(MOST_EVENTS)
        .lean<CarrierEventDocument[]>()
        .exec();
    },
  };
}

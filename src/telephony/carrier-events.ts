import { isDuplicateKey } from '../platform/mongo/connection.js';
import type { TelephonyDatabase } from './database.js';
import type { CarrierEventDocument } from './carrier-event-model.js';

/** Maximum events read per call. No call has more callbacks than this. */
const MAX_EVENTS = 100;

export type CarrierEvents = ReturnType<typeof createCarrierEvents>;

/** Stores the status callbacks and refused dials of each call for the timeline. No decision depends on them. */
export function createCarrierEvents(database: TelephonyDatabase) {
  return {
    /** Stores a callback or a refused dial; a repeated one is stored once. */
    async add(event: Omit<CarrierEventDocument, '_id' | 'createdAt'>): Promise<void> {
      const _id = `${event.callId}:${event.carrierSid ?? 'none'}:${event.sequence ?? event.status}`;
      try {
        await database.carrierEvents.create([{ _id, createdAt: new Date(), ...event }]);
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
    },

    /** Lists the callbacks of a call in the order of arrival. */
    list(callId: string): Promise<CarrierEventDocument[]> {
      return database.carrierEvents
        .find({ callId })
        .sort({ createdAt: 1, _id: 1 })
        .limit(MAX_EVENTS)
        .lean<CarrierEventDocument[]>()
        .exec();
    },
  };
}

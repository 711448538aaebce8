import type { CarrierFinalStatus } from '../kernel/call-state.js';
import { isDuplicateKey } from '../platform/mongo/connection.js';
import { createRecentEntries } from '../platform/recent-entries.js';
import type { TelephonyDatabase } from './database.js';
import type { CarrierEventDocument } from './carrier-event-model.js';

/** Maximum events read per call. No call has more, because their ids differ only in what {@link nameOf} returns. */
const MAX_EVENTS = 100;

/** Callbacks from this number on are stored like those without a number. A call has about five. */
const MAX_SEQUENCE = 80;

/** Statuses that are stored once each without a number. All others are stored as one. */
const NAMED_STATUSES: ReadonlySet<string> = new Set(['queued', 'initiated', 'ringing', 'in-progress']);

/** Events that this process has stored, about 200 bytes each. Those that it forgets are stored once all the same. */
const RECENT_EVENTS = { maxEntries: 10_000, maxAgeMs: 10 * 60_000 };

type NewCarrierEvent = Omit<CarrierEventDocument, '_id' | 'createdAt'>;

export type CarrierEvents = ReturnType<typeof createCarrierEvents>;

/** Stores the status callbacks and rejected dials of each call for the timeline. No decision depends on them. */
export function createCarrierEvents(database: TelephonyDatabase) {
  const recent = createRecentEntries<true>(RECENT_EVENTS);

  return {
    /**
     * Stores a callback or a rejected dial; a repeated one is stored once. Stores at most 100 of a call.
     * @param end the status of the ended call, if the callback reports its end
     */
    async add(event: NewCarrierEvent, end?: CarrierFinalStatus): Promise<void> {
      const _id = `${event.callId}:${event.carrierSid ?? 'none'}:${nameOf(event, end)}`;
      if (recent.get(_id)) return;
      try {
        await database.carrierEvents.create([{ _id, createdAt: new Date(), ...event }]);
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
      recent.set(_id, true);
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

/** Distinguishes the events of a carrier's call. The end has a name that no earlier callback can take. */
function nameOf({ carrierSid, sequence, status }: NewCarrierEvent, end?: CarrierFinalStatus): string | number {
  if (end !== undefined || carrierSid === undefined) return end ?? status;
  if (sequence !== undefined && sequence < MAX_SEQUENCE) return sequence;
  return NAMED_STATUSES.has(status) ? status : 'other';
}

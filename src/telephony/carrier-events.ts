import type { CarrierFinalStatus } from '../kernel/call-state.js';
import { isDuplicateKey } from '../platform/mongo/connection.js';
import { driverCollection, WITHOUT_UNDEFINED } from '../platform/mongo/driver-collection.js';
import { createRecentEntries } from '../platform/recent-entries.js';
import type { CarrierBindingDocument, InitiatedReport } from './carrier-binding-model.js';
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

/**
 * Stores the status callbacks and rejected dials of each call for the timeline. No decision depends on them. The callback
 * `initiated` of an outbound call is in its binding.
 */
export function createCarrierEvents(database: TelephonyDatabase) {
  const recent = createRecentEntries<true>(RECENT_EVENTS);
  const documents = driverCollection<CarrierEventDocument>(database, database.carrierEvents);
  const bindings = driverCollection<CarrierBindingDocument>(database, database.carrierBindings);

  return {
    /**
     * Stores a callback or a rejected dial; a repeated one is stored once. Stores at most 100 of a call.
     * @param end the status of the ended call, if the callback reports its end
     */
    async add(event: NewCarrierEvent, end?: CarrierFinalStatus): Promise<void> {
      const _id = `${event.callId}:${event.carrierSid ?? 'none'}:${nameOf(event, end)}`;
      if (recent.get(_id)) return;
      try {
        await documents.insertOne({ _id, createdAt: new Date(), ...event }, WITHOUT_UNDEFINED);
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
      recent.set(_id, true);
    },

    /** Lists the callbacks of a call in the order of arrival. */
    async list(callId: string): Promise<CarrierEventDocument[]> {
      const [binding, events] = await Promise.all([
        bindings.findOne(
          { _id: callId, initiated: { $exists: true } },
          { projection: { carrierSid: 1, initiated: 1 } },
        ),
        documents.find({ callId }).sort({ createdAt: 1, _id: 1 }).limit(MAX_EVENTS).toArray(),
      ]);
      if (binding?.initiated === undefined) return events;
      const first = initiatedEvent(binding, binding.initiated);
      return [...events, first].toSorted((a, b) => +a.createdAt - +b.createdAt);
    },

    /** Deletes the callbacks of a call. */
    async remove(callId: string): Promise<void> {
      await documents.deleteMany({ callId });
      await bindings.updateOne({ _id: callId }, { $unset: { initiated: '' } });
    },
  };
}

function initiatedEvent(
  { _id: callId, carrierSid }: Pick<CarrierBindingDocument, '_id' | 'carrierSid'>,
  { receivedAt, at, sequence }: InitiatedReport,
): CarrierEventDocument {
  return {
    _id: `${callId}:${carrierSid}:initiated`,
    callId,
    carrierSid,
    status: 'initiated',
    createdAt: receivedAt,
    ...(at && { at }),
    ...(sequence === undefined ? {} : { sequence }),
  };
}

/** Distinguishes the events of a carrier's call. The end has a name that no earlier callback can take. */
function nameOf({ carrierSid, sequence, status }: NewCarrierEvent, end?: CarrierFinalStatus): string | number {
  if (end !== undefined || carrierSid === undefined) return end ?? status;
  if (sequence !== undefined && sequence < MAX_SEQUENCE) return sequence;
  return NAMED_STATUSES.has(status) ? status : 'other';
}

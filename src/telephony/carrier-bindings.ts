import type { AnsweredBy } from '../kernel/call-state.js';
import { isDuplicateKey } from '../platform/mongo/connection.js';
import type { CarrierIdentity } from './callbacks.js';
import type { TelephonyDatabase } from './database.js';
import type { CarrierBindingDocument } from './carrier-binding-model.js';

export type CarrierBindings = ReturnType<typeof createCarrierBindings>;

/**
 * Connects our calls to the carrier's calls. A call's row is inserted only if the call has none, so the first one
 * stays.
 */
export function createCarrierBindings(database: TelephonyDatabase) {
  const bindings = database.carrierBindings;

  const find = (callId: string) => bindings.findById(callId).lean<CarrierBindingDocument>().exec();

  async function insertIfAbsent(row: CarrierBindingDocument): Promise<CarrierBindingDocument> {
    const existing = await find(row._id);
    if (existing) return existing;
    try {
      await bindings.create(row);
      return row;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      // Another process inserted a row for this call first, or the carrier's call is bound to another of our calls. In
      // the second case this call has no row. Return a closed row, which is not stored.
      return (await find(row._id)) ?? { ...row, carrierSid: closedSid(row._id), closed: true };
    }
  }

  return {
    find,

    findBySid(carrierSid: string): Promise<CarrierBindingDocument | null> {
      return bindings.findOne({ carrierSid }).lean<CarrierBindingDocument>().exec();
    },

    /**
     * Binds a call to the carrier's call unless the call is bound or closed already. Returns the stored row.
     * @param times.queuedMs how long the carrier queues the call before it dials
     * @throws RangeError when the identifier does not have the carrier's format
     */
    async bind(
      callId: string,
      carrierSid: string,
      carrier: CarrierIdentity,
      { queuedMs }: { queuedMs?: number } = {},
    ): Promise<CarrierBindingDocument> {
      if (!carrier.isCallId(carrierSid)) throw new RangeError('carrierSid must be a call identifier of the carrier');
      const queued = queuedMs === undefined ? {} : { queuedMs };
      return insertIfAbsent({ _id: callId, carrierSid, carrier: carrier.kind, boundAt: new Date(), ...queued });
    },

    /** Allows new streams of the bound call up to this stream number. A repeat changes nothing. */
    async grantStream(callId: string, carrierSid: string, streamNumber: number): Promise<void> {
      await bindings.updateOne({ _id: callId, carrierSid }, { $max: { resumptions: streamNumber } });
    },

    /**
     * Records that the bound call was given up because of a failure on our side. Later times do not replace the first.
     */
    async recordGivenUp(callId: string, carrierSid: string, givenUpAt: Date): Promise<void> {
      await bindings.updateOne({ _id: callId, carrierSid, givenUpAt: null }, { $set: { givenUpAt } });
    },

    /** Records that the bound inbound call was rejected. */
    async recordRejection(callId: string, rejection: CarrierBindingDocument['rejection']): Promise<void> {
      await bindings.updateOne({ _id: callId }, { $set: { rejection } });
    },

    /** Records who answered the bound call. The first result stays. A result for another carrier call is ignored. */
    async recordAnsweredBy(callId: string, carrierSid: string, answeredBy: AnsweredBy): Promise<void> {
      await bindings.updateOne({ _id: callId, carrierSid, answeredBy: null }, { $set: { answeredBy } });
    },

    /** Returns detection results by call id. Calls without a result are left out. */
    async answeredBy(callIds: readonly string[]): Promise<Map<string, AnsweredBy>> {
      const found = await bindings
        .find({ _id: { $in: [...callIds] }, answeredBy: { $ne: null } }, { answeredBy: 1 })
        .lean<Pick<CarrierBindingDocument, '_id' | 'answeredBy'>[]>()
        .exec();
      return new Map(found.flatMap(({ _id, answeredBy }) => (answeredBy ? [[_id, answeredBy] as const] : [])));
    },

    /** Prevents the call from being bound later, unless it is bound already. Returns the stored row. */
    close(callId: string): Promise<CarrierBindingDocument> {
      return insertIfAbsent({ _id: callId, carrierSid: closedSid(callId), closed: true, boundAt: new Date() });
    },
  };
}

function closedSid(callId: string): string {
  return `closed:${callId}`;
}

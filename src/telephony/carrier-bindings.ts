import type { AnsweredBy } from '../kernel/call-state.js';
import { isDuplicateKey } from '../platform/mongo/connection.js';
import type { CarrierIdentity } from './callbacks.js';
import type { TelephonyDatabase } from './database.js';
import type { CarrierBindingDocument } from './carrier-binding-model.js';

export type CarrierBindings = ReturnType<typeof createCarrierBindings>;

/** Maps our calls to the carrier's calls. Rows are only inserted if absent: the first row of a call is final. */
export function createCarrierBindings(database: TelephonyDatabase) {
  const bindings = database.carrierBindings;

  const find = (callId: string) => bindings.findById(callId).lean<CarrierBindingDocument>().exec();

  async function insertIfAbsent(row: CarrierBindingDocument): Promise<CarrierBindingDocument> {
    const standing = await find(row._id);
    if (standing) return standing;
    try {
      await bindings.create(row);
      return row;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      // Either another process inserted a row for this call first, or the carrier's call is bound to another of our
      // calls. In that case this call has no binding, and a closed row, which is not stored, is the correct result.
      return (await find(row._id)) ?? { ...row, carrierSid: closedSid(row._id), closed: true };
    }
  }

  return {
    find,

    findBySid(carrierSid: string): Promise<CarrierBindingDocument | null> {
      return bindings.findOne({ carrierSid }).lean<CarrierBindingDocument>().exec();
    },

    /**
     * Binds a call to the carrier's call unless it is already bound or closed; returns the row that is stored.
     * @throws RangeError when the identifier does not have the carrier's format
     */
    async bind(callId: string, carrierSid: string, carrier: CarrierIdentity): Promise<CarrierBindingDocument> {
      if (!carrier.isCallId(carrierSid)) throw new RangeError('not an identifier of the carrier’s call');
      return insertIfAbsent({ _id: callId, carrierSid, carrier: carrier.kind, boundAt: new Date() });
    },

    /** Allows streams up to this stream number for the bound call. A repeat changes nothing. */
    async grantStream(callId: string, carrierSid: string, resumption: number): Promise<void> {
      await bindings.updateOne({ _id: callId, carrierSid }, { $max: { resumptions: resumption } });
    },

    /** Records that the bound call was given up because of a fault of ours. The first time is final. */
    async noteGivenUp(callId: string, carrierSid: string, givenUpAt: Date): Promise<void> {
      await bindings.updateOne({ _id: callId, carrierSid, givenUpAt: null }, { $set: { givenUpAt } });
    },

    /** Records who answered the bound call. The first result is final; a result for another carrier call is ignored. */
    async noteAnsweredBy(callId: string, carrierSid: string, answeredBy: AnsweredBy): Promise<void> {
      await bindings.updateOne({ _id: callId, carrierSid, answeredBy: null }, { $set: { answeredBy } });
    },

    /** Detection results by call id; calls without a result are left out. */
    async answeredBy(callIds: readonly string[]): Promise<Map<string, AnsweredBy>> {
      const found = await bindings
        .find({ _id: { $in: [...callIds] }, answeredBy: { $ne: null } }, { answeredBy: 1 })
        .lean<Pick<CarrierBindingDocument, '_id' | 'answeredBy'>[]>()
        .exec();
      return new Map(found.flatMap(({ _id, answeredBy }) => (answeredBy ? [[_id, answeredBy] as const] : [])));
    },

    /** Prevents the call from ever being bound, unless it already is; returns the row that is stored. */
    close(callId: string): Promise<CarrierBindingDocument> {
      return insertIfAbsent({ _id: callId, carrierSid: closedSid(callId), closed: true, boundAt: new Date() });
    },
  };
}

function closedSid(callId: string): string {
  return `closed:${callId}`;
}

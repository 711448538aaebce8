import type { AnsweredBy } from '../kernel/call-state.js';
import { isDuplicateKey } from '../platform/mongo/connection.js';
import type { CarrierIdentity } from './callbacks.js';
import type { TelephonyDatabase } from './database.js';
import type { CarrierBindingDocument } from './carrier-binding-model.js';

export type CarrierBindings = ReturnType<typeof createCarrierBindings>;

/** Which of the carrier's calls a call is. Insert-if-absent is the whole protocol: the first row stands for ever. */
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
      // Either someone was faster for this call, or the carrier's call belongs to another call of ours: then this one
      // has no binding, and a closed row is the truth to give back without writing it.
      return (await find(row._id)) ?? { ...row, carrierSid: closedSid(row._id), closed: true };
    }
  }

  return {
    find,

    findBySid(carrierSid: string): Promise<CarrierBindingDocument | null> {
      return bindings.findOne({ carrierSid }).lean<CarrierBindingDocument>().exec();
    },

    /**
     * Binds a call to the carrier's call unless it is bound or closed already; returns the row that stands.
     * @throws RangeError when the carrier has no identifiers of that form
     */
    async bind(callId: string, carrierSid: string, carrier: CarrierIdentity): Promise<CarrierBindingDocument> {
      if (!carrier.isCallId(carrierSid)) throw new RangeError('not an identifier of the carrier’s call');
      return insertIfAbsent({ _id: callId, carrierSid, carrier: carrier.kind, boundAt: new Date() });
    },

    /** Notes that the bound call may have a stream of this number; a repeat changes nothing. */
    async grantStream(callId: string, carrierSid: string, resumption: number): Promise<void> {
      await bindings.updateOne({ _id: callId, carrierSid }, { $max: { resumptions: resumption } });
    },

    /** Notes who answered the bound call; the first word stands, and another call's is not taken. */
    async noteAnsweredBy(callId: string, carrierSid: string, answeredBy: AnsweredBy): Promise<void> {
      await bindings.updateOne({ _id: callId, carrierSid, answeredBy: null }, { $set: { answeredBy } });
    },

    /** Who answered, of those calls of which it is known. */
    async answeredBy(callIds: readonly string[]): Promise<Map<string, AnsweredBy>> {
      const found = await bindings
        .find({ _id: { $in: [...callIds] }, answeredBy: { $ne: null } }, { answeredBy: 1 })
        .lean<Pick<CarrierBindingDocument, '_id' | 'answeredBy'>[]>()
        .exec();
      return new Map(found.flatMap(({ _id, answeredBy }) => (answeredBy ? [[_id, answeredBy] as const] : [])));
    },

    /** Rules out that the call is ever bound, unless it is; returns the row that stands. */
    close(callId: string): Promise<CarrierBindingDocument> {
      return insertIfAbsent({ _id: callId, carrierSid: closedSid(callId), closed: true, boundAt: new Date() });
    },
  };
}

function closedSid(callId: string): string {
  return `closed:${callId}`;
}

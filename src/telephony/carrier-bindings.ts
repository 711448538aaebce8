import type { AnsweredBy } from '../kernel/call-state.js';
import { createRecentEntries } from '../platform/recent-entries.js';
import type { CarrierIdentity } from './callbacks.js';
import type { CarrierBindingDocument, InitiatedReport } from './carrier-binding-model.js';
import { closedSid, createBindingRows, RECENT_BINDINGS, type BindingFacts } from './carrier-binding-rows.js';
import type { TelephonyDatabase } from './database.js';

export type CarrierBindings = ReturnType<typeof createCarrierBindings>;

/**
 * Connects our calls to the carrier's calls. A call's row is inserted only if the call has none, so the first one
 * stays.
 */
export function createCarrierBindings(database: TelephonyDatabase) {
  const bindings = database.carrierBindings;
  const { find, recent, bind, insertIfAbsent } = createBindingRows(database);
  /** The carrier's calls whose beginning this process has recorded. */
  const initiated = createRecentEntries<true>(RECENT_BINDINGS);

  return {
    find,

    findBySid(carrierSid: string): Promise<CarrierBindingDocument | null> {
      return bindings.findOne({ carrierSid }).lean<CarrierBindingDocument>().exec();
    },

    bind,

    /**
     * Binds a call to the carrier's call, as `bind` does. Returns whether the call is bound to it.
     * @throws RangeError when the identifier does not have the carrier's format
     */
    async isBoundTo(
      callId: string,
      carrierSid: string,
      carrier: CarrierIdentity,
      facts: BindingFacts = {},
    ): Promise<boolean> {
      return (recent.get(callId) ?? (await bind(callId, carrierSid, carrier, facts)).carrierSid) === carrierSid;
    },

    /**
     * Binds a call to the carrier's call, as `bind` does, and records that the carrier has begun it if it is the bound one. The
     * first time of the receipt stays.
     * @throws RangeError when the identifier does not have the carrier's format
     */
    async recordInitiated(
      p: { callId: string; carrierSid: string; carrier: CarrierIdentity; facts: BindingFacts },
      { receivedAt, at, sequence }: InitiatedReport,
    ): Promise<void> {
      const key = `${p.callId}:${p.carrierSid}`;
      if (initiated.get(key)) return;
      const told = {
        ...(at === undefined ? {} : { 'initiated.at': at }),
        ...(sequence === undefined ? {} : { 'initiated.sequence': sequence }),
      };
      await bind(p.callId, p.carrierSid, p.carrier, p.facts, {
        $min: { 'initiated.receivedAt': receivedAt },
        ...(Object.keys(told).length === 0 ? {} : { $set: told }),
      });
      initiated.set(key, true);
    },

    /** Records that the carrier gets its instruction for the answered call. Do so before the response to the carrier. */
    async recordInstruction(callId: string, carrierSid: string): Promise<void> {
      await bindings.updateOne({ _id: callId, carrierSid }, { $set: { isInstructed: true } });
    },

    /** Allows new streams of the bound call up to this stream number. A repeat changes nothing. */
    async grantStream(callId: string, carrierSid: string, streamNumber: number): Promise<void> {
      await bindings.updateOne({ _id: callId, carrierSid }, { $max: { resumptions: streamNumber } });
    },

    /** Records that a media server will close these streams, because it stops. They end as planned, not as lost. */
    async recordPlannedCloses(streams: readonly { callId: string; streamNumber: number }[]): Promise<void> {
      if (streams.length === 0) return;
      await bindings.bulkWrite(
        streams.map(({ callId: _id, streamNumber: plannedStream }) => ({
          updateOne: { filter: { _id }, update: { $max: { plannedStream } } },
        })),
        { ordered: false },
      );
    },

    /**
     * Records that the bound call was given up because of a failure on our side. Of several reports, the first one about the
     * latest stream stays.
     * @param given.after number of the last stream before, -1 if there was none
     */
    async recordGivenUp(callId: string, carrierSid: string, given: { at: Date; after: number }): Promise<void> {
      const isLatest = { $or: [{ givenUpAt: null }, { givenUpAfter: { $lt: given.after } }] };
      const change = { givenUpAt: given.at, givenUpAfter: given.after };
      await bindings.updateOne({ _id: callId, carrierSid, ...isLatest }, { $set: change });
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

import type { AnsweredBy, Direction } from '../kernel/call-state.js';
import { isDuplicateKey } from '../platform/mongo/connection.js';
import { createRecentEntries } from '../platform/recent-entries.js';
import { storedAccount } from './accounts/account-of-call.js';
import type { CarrierIdentity } from './callbacks.js';
import type { TelephonyDatabase } from './database.js';
import type { CarrierBindingDocument } from './carrier-binding-model.js';

/** Bindings that a process caches, about 200 bytes each. The ids of a binding never change. */
const RECENT_BINDINGS = { maxEntries: 10_000, maxAgeMs: 10 * 60_000 };

interface BindingFacts {
  /** How long the carrier queues the call before it dials. */
  queuedMs?: number;
  /** Direction of our call. From the binding on, the row of an outbound call shows whether it was instructed. */
  direction?: Direction;
}

export type CarrierBindings = ReturnType<typeof createCarrierBindings>;

/**
 * Connects our calls to the carrier's calls. A call's row is inserted only if the call has none, so the first one
 * stays.
 */
export function createCarrierBindings(database: TelephonyDatabase) {
  const bindings = database.carrierBindings;

  /** The carrier's calls of recent calls. */
  const recent = createRecentEntries<string>(RECENT_BINDINGS);

  const find = (callId: string) => bindings.findById(callId).lean<CarrierBindingDocument>().exec();

  function remember(row: CarrierBindingDocument): CarrierBindingDocument {
    recent.set(row._id, row.carrierSid);
    return row;
  }

  /** Inserts the row unless the call has one, in one command, because the unique key decides. Returns the stored row. */
  async function insertIfAbsent({ _id, ...row }: CarrierBindingDocument): Promise<CarrierBindingDocument> {
    try {
      const stored = await bindings
        .findOneAndUpdate({ _id }, { $setOnInsert: row }, { upsert: true, returnDocument: 'after' })
        .lean<CarrierBindingDocument>();
      return remember(stored);
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      // Another process inserted a row for this call first, or the carrier's call is bound to another of our calls. In
      // the second case this call has no row. Return a closed row, which is not stored.
      const stored = await find(_id);
      return stored ? remember(stored) : { _id, ...row, carrierSid: closedSid(_id), closed: true };
    }
  }

  /**
   * Binds a call to the carrier's call unless the call is bound or closed already. Returns the stored row.
   * @throws RangeError when the identifier does not have the carrier's format
   */
  async function bind(
    callId: string,
    carrierSid: string,
    carrier: CarrierIdentity,
    facts: BindingFacts = {},
  ): Promise<CarrierBindingDocument> {
    if (!carrier.isCallId(carrierSid)) throw new RangeError('carrierSid must be a call identifier of the carrier');
    const at = { carrier: carrier.kind, ...storedAccount(carrier.account) };
    return insertIfAbsent({ _id: callId, carrierSid, ...at, boundAt: new Date(), ...factsOf(facts) });
  }

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

/** The facts of a binding as they are stored. */
function factsOf({ queuedMs, direction }: BindingFacts): Partial<CarrierBindingDocument> {
  return {
    ...(queuedMs === undefined ? {} : { queuedMs }),
    ...(direction === 'outbound' ? { isInstructed: false } : {}),
  };
}

function closedSid(callId: string): string {
  return `closed:${callId}`;
}

import type { mongo } from 'mongoose';
import type { Direction } from '../kernel/call-state.js';
import { isDuplicateKey } from '../platform/mongo/connection.js';
import { driverCollection, WITHOUT_UNDEFINED } from '../platform/mongo/driver-collection.js';
import { createRecentEntries } from '../platform/recent-entries.js';
import { storedAccount } from './accounts/account-of-call.js';
import type { CarrierIdentity } from './callbacks.js';
import type { CarrierBindingDocument } from './carrier-binding-model.js';
import type { TelephonyDatabase } from './database.js';

/** Bindings that a process caches, about 200 bytes each. The ids of a binding never change. */
export const RECENT_BINDINGS = { maxEntries: 10_000, maxAgeMs: 10 * 60_000 };

export interface BindingFacts {
  /** How long the carrier queues the call before it dials. */
  queuedMs?: number;
  /** Direction of our call. From the binding on, the row of an outbound call shows whether it was instructed. */
  direction?: Direction;
}

/** Inserts the rows of bindings, and caches to which carrier's call each call is bound. */
export function createBindingRows(database: TelephonyDatabase) {
  const documents = driverCollection<CarrierBindingDocument>(database, database.carrierBindings);

  /** The carrier's calls of recent calls. */
  const recent = createRecentEntries<string>(RECENT_BINDINGS);

  const find = (callId: string): Promise<CarrierBindingDocument | null> => documents.findOne({ _id: callId });

  function remember(row: CarrierBindingDocument): CarrierBindingDocument {
    recent.set(row._id, row.carrierSid);
    return row;
  }

  /**
   * Inserts the row unless the call has one, in one command, because the unique key decides. Returns the stored row.
   * @param change applied to the row, new or not, if it is that of the carrier's call
   */
  async function insertIfAbsent(
    { _id, ...row }: CarrierBindingDocument,
    change?: mongo.UpdateFilter<CarrierBindingDocument>,
  ): Promise<CarrierBindingDocument> {
    try {
      const options = { ...WITHOUT_UNDEFINED, upsert: true, returnDocument: 'after' } as const;
      const filter = change === undefined ? { _id } : { _id, carrierSid: row.carrierSid };
      const stored = await documents.findOneAndUpdate(filter, { ...change, $setOnInsert: row }, options);
      return remember(stored ?? { _id, ...row });
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      // Another process inserted a row for this call first, or the carrier's call is bound to another of our calls. In
      // the second case this call has no row. Return a closed row, which is not stored.
      if (change !== undefined) await documents.updateOne({ _id, carrierSid: row.carrierSid }, change);
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
    change?: mongo.UpdateFilter<CarrierBindingDocument>,
  ): Promise<CarrierBindingDocument> {
    if (!carrier.isCallId(carrierSid)) throw new RangeError('carrierSid must be a call identifier of the carrier');
    const at = { carrier: carrier.kind, ...storedAccount(carrier.account) };
    return insertIfAbsent({ _id: callId, carrierSid, ...at, boundAt: new Date(), ...factsOf(facts) }, change);
  }

  return { recent, find, insertIfAbsent, bind };
}

/** The facts of a binding as they are stored. */
function factsOf({ queuedMs, direction }: BindingFacts): Partial<CarrierBindingDocument> {
  return {
    ...(queuedMs === undefined ? {} : { queuedMs }),
    ...(direction === 'outbound' ? { isInstructed: false } : {}),
  };
}

/** The value of `carrierSid` in the row of a call that gets no carrier call any more. */
export function closedSid(callId: string): string {
  return `closed:${callId}`;
}

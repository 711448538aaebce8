import { isDuplicateKey } from '../platform/mongo/connection.js';
import type { WebhooksDatabase } from './database.js';
import type { Mode } from '../kernel/ids.js';
import type { WebhookDeliveryDocument } from './model.js';
import { findRaw, type RawDocument } from '../platform/mongo/raw-document.js';
import { readPage, type Page, type PagePosition } from '../platform/mongo/pages.js';

export type DeliveryHead = Omit<WebhookDeliveryDocument, 'body'>;
export type WebhookDeliveries = ReturnType<typeof createWebhookDeliveries>;

/** Stores deliveries. URL and body are stored once and never change, so that every attempt sends the same bytes. */
export function createWebhookDeliveries(database: WebhooksDatabase) {
  const deliveries = database.webhookDeliveries;

  function find(callId: string): Promise<WebhookDeliveryDocument | null> {
    return deliveries.findById(callId).lean<WebhookDeliveryDocument>().exec();
  }

  return {
    find,

    /** Finds a delivery without its body, which contains the transcription. */
    findHead(callId: string): Promise<DeliveryHead | null> {
      return deliveries.findById(callId, { body: 0 }).lean<DeliveryHead>().exec();
    },

    /** Finds a delivery without decoding it. */
    findWhole(
      callId: string,
      owner: { accountId: string; mode: Mode },
    ): Promise<RawDocument<WebhookDeliveryDocument> | null> {
      return findRaw(deliveries, { _id: callId, ...owner }, {});
    },

    /**
     * Reads one page of an account's deliveries in a mode, newest first. `pending`: neither delivered nor failed yet.
     */
    page(p: {
      accountId: string;
      mode: Mode;
      state?: 'pending' | 'delivered' | 'failed';
      after?: PagePosition;
      limit: number;
      signal?: AbortSignal;
    }): Promise<Page<WebhookDeliveryDocument>> {
      const { accountId, mode, state, ...position } = p;
      const stateFilter = state === undefined ? {} : { state: state === 'pending' ? null : state };
      return readPage(deliveries, { filter: { accountId, mode, ...stateFilter }, fields: { body: 0 }, ...position });
    },

    /**
     * Records the state of the latest delivery; undefined: in progress.
     * @returns the delivery without its body, as it is then
     */
    async recordState(
      callId: string,
      state: 'delivered' | 'failed' | undefined,
      lastAttemptAt: Date,
    ): Promise<DeliveryHead | null> {
      const update = {
        delivered: { $set: { lastAttemptAt, state, deliveredAt: lastAttemptAt }, $unset: { failedAt: '' } },
        failed: { $set: { lastAttemptAt, state, failedAt: lastAttemptAt } },
        pending: { $set: { lastAttemptAt }, $unset: { state: '' } },
      }[state ?? 'pending'];
      return deliveries
        .findOneAndUpdate({ _id: callId }, update, { returnDocument: 'after', projection: { body: 0 } })
        .lean<DeliveryHead>()
        .exec();
    },

    /**
     * Starts the next redelivery, unless another request has started it since `known` was read.
     * @returns the current number of redeliveries
     */
    async beginRedelivery(callId: string, known: number): Promise<number> {
      const next = known + 1;
      const before = known === 0 ? { redeliveries: { $exists: false } } : { redeliveries: known };
      await deliveries.updateOne({ _id: callId, ...before }, { $set: { redeliveries: next }, $unset: { state: '' } });
      return (await find(callId))?.redeliveries ?? 0;
    },

    /**
     * Erases URL and body permanently. After that, nothing is sent. If there is no delivery yet, stores an erased one, so
     * that none can be stored later.
     */
    async erase(callId: string, now: Date): Promise<void> {
      try {
        // Uses the driver, because the mongoose model rejects empty strings in required fields.
        await deliveries.collection.updateOne(
          { _id: callId as never, erasedAt: { $exists: false } },
          { $set: { url: '', body: '', erasedAt: now }, $unset: { endpoint: '' } },
          { upsert: true },
        );
      } catch (error) {
        // It was erased before.
        if (!isDuplicateKey(error)) throw error;
      }
    },

    /**
     * Stores the delivery unless the call already has one.
     * @returns the stored delivery, and whether it is new; then no attempt of it can exist
     */
    async insertOrFind(
      delivery: WebhookDeliveryDocument,
    ): Promise<{ delivery: WebhookDeliveryDocument; isNew: boolean }> {
      try {
        await deliveries.create(delivery);
        return { delivery, isNew: true };
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        const existing = await find(delivery._id);
        if (existing === null)
          throw new Error('A webhook delivery was deleted while it was being stored.', { cause: error });
        return { delivery: existing, isNew: false };
      }
    },
  };
}

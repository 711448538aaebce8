import type { mongo } from 'mongoose';
import { isDuplicateKey } from '../platform/mongo/connection.js';
import type { WebhooksDatabase } from './database.js';
import type { Mode } from '../kernel/ids.js';
import type { WebhookDeliveryDocument } from './model.js';
import { driverCollection, WITHOUT_UNDEFINED } from '../platform/mongo/driver-collection.js';
import { findRaw, type RawDocument } from '../platform/mongo/raw-document.js';
import { readPage, type Page, type PagePosition } from '../platform/mongo/pages.js';

export type DeliveryHead = Omit<WebhookDeliveryDocument, 'body'>;
export type WebhookDeliveries = ReturnType<typeof createWebhookDeliveries>;

/** Stores deliveries. URL and body are stored once and never change, so that every attempt sends the same bytes. */
export function createWebhookDeliveries(database: WebhooksDatabase) {
  const deliveries = database.webhookDeliveries;
  const documents = driverCollection<WebhookDeliveryDocument>(database, deliveries);

  return {
    find: (callId: string): Promise<WebhookDeliveryDocument | null> => documents.findOne({ _id: callId }),

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
      const updates: Record<'delivered' | 'failed' | 'pending', mongo.UpdateFilter<WebhookDeliveryDocument>> = {
        delivered: {
          $set: { lastAttemptAt, state: 'delivered', deliveredAt: lastAttemptAt },
          $unset: { failedAt: '' },
        },
        failed: { $set: { lastAttemptAt, state: 'failed', failedAt: lastAttemptAt } },
        pending: { $set: { lastAttemptAt }, $unset: { state: '' } },
      };
      const update = updates[state ?? 'pending'];
      return documents.findOneAndUpdate({ _id: callId }, update, { returnDocument: 'after', projection: { body: 0 } });
    },

    /**
     * Starts the next redelivery, unless another request has started it since `known` was read.
     * @returns the current number of redeliveries
     */
    async beginRedelivery(callId: string, known: number): Promise<number> {
      const next = known + 1;
      const before = known === 0 ? { redeliveries: { $exists: false } } : { redeliveries: known };
      await deliveries.updateOne({ _id: callId, ...before }, { $set: { redeliveries: next }, $unset: { state: '' } });
      return (await documents.findOne({ _id: callId }, { projection: { redeliveries: 1 } }))?.redeliveries ?? 0;
    },

    /**
     * Erases URL and body permanently. After that, nothing is sent. If there is no delivery yet, stores an erased one, so
     * that none can be stored later.
     */
    async erase(callId: string, now: Date): Promise<void> {
      try {
        // Not by Mongoose, whose model rejects empty strings in required fields.
        await documents.updateOne(
          { _id: callId, erasedAt: { $exists: false } },
          { $set: { url: '', body: '', erasedAt: now }, $unset: { endpoint: '' } },
          { upsert: true },
        );
      } catch (error) {
        // It was erased before.
        if (!isDuplicateKey(error)) throw error;
      }
    },

    /** Stores the delivery. Returns `exists`, and changes nothing, if the call already has one. */
    async insert(delivery: WebhookDeliveryDocument): Promise<'inserted' | 'exists'> {
      try {
        await documents.insertOne(delivery, WITHOUT_UNDEFINED);
        return 'inserted';
      } catch (error) {
        if (isDuplicateKey(error)) return 'exists';
        throw error;
      }
    },
  };
}

import { isDuplicateKey } from '../platform/mongo/connection.js';
import type { WebhooksDatabase } from './database.js';
import { findAllRaw, type RawDocument } from '../platform/mongo/raw-document.js';
import { LIST_READ_TIMEOUT_MS } from '../platform/mongo/pages.js';
import { driverCollection, WITHOUT_UNDEFINED } from '../platform/mongo/driver-collection.js';
import type { AttemptStep, WebhookAttemptDocument, WebhookDeliveryDocument } from './model.js';

export type WebhookAttempts = ReturnType<typeof createWebhookAttempts>;

/** Result of an attempt in its stored form. */
export type AttemptOutcome = Required<Pick<WebhookAttemptDocument, 'outcome'>> &
  Pick<
    WebhookAttemptDocument,
    | 'durationMs'
    | 'httpStatus'
    | 'error'
    | 'requestHeaders'
    | 'responseHeaders'
    | 'responseHeadersLeftOut'
    | 'responseBody'
  >;

/** Headers are left out where several attempts are shown with other data, because they are large. */
const WITHOUT_HEADERS = { requestHeaders: 0, responseHeaders: 0 } as const;

const COUNTED_AT_ONCE = 1_000;

const STEP_FIELDS: Record<keyof AttemptStep, 1> = { number: 1, redelivery: 1, startedAt: 1, finishedAt: 1, outcome: 1 };

/**
 * Stores one row per attempt before the request is sent, or, if the delivery says when its first attempt began, that one with
 * its outcome. Attempts are counted only by these rows and that time.
 */
export function createWebhookAttempts(database: WebhooksDatabase) {
  const attempts = database.webhookAttempts;
  const documents = driverCollection<WebhookAttemptDocument>(database, attempts);
  const deliveries = driverCollection<WebhookDeliveryDocument>(database, database.webhookDeliveries);

  const storedSteps = (callId: string) =>
    documents.find<AttemptStep>({ callId }, { projection: STEP_FIELDS }).sort({ number: 1 }).toArray();
  const findDelivery = (callId: string) =>
    deliveries.findOne<BegunDelivery>({ _id: callId }, { projection: { callId: 1, firstAttemptAt: 1 } });

  return {
    /** Lists all attempts of a call's deliveries, in order. With headers and bodies, they may have 2 MB. */
    listWhole(callId: string): Promise<RawDocument<WebhookAttemptDocument[]>> {
      return findAllRaw(attempts, { callId }, { number: 1 });
    },

    /** Lists what decides the next attempt of a call's deliveries, in order. */
    async steps(callId: string): Promise<AttemptStep[]> {
      const [rows, delivery] = await Promise.all([storedSteps(callId), findDelivery(callId)]);
      return [...unstoredAttempt(delivery, rows), ...rows];
    },

    /** Lists the same for a delivery that was read already. */
    async stepsOf(delivery: BegunDelivery): Promise<AttemptStep[]> {
      const rows = await storedSteps(delivery.callId);
      return [...unstoredAttempt(delivery, rows), ...rows];
    },

    /**
     * Lists the latest attempts of a call's deliveries, in order, without their headers.
     * @param most maximum number of attempts
     */
    async latest(callId: string, most: number): Promise<WebhookAttemptDocument[]> {
      const found = documents.find({ callId }, { projection: WITHOUT_HEADERS }).sort({ number: -1 }).limit(most);
      const [newestFirst, delivery] = await Promise.all([found.toArray(), findDelivery(callId)]);
      const rows = newestFirst.toReversed();
      // Of more rows than these, the first one is not shown.
      return [...(rows.length < most ? unstoredAttempt(delivery, rows) : []), ...rows];
    },

    /** Counts the attempts by call id. Redeliveries can make them many, so this reads only their index, in small batches. */
    async counts(callIds: readonly string[]): Promise<Map<string, number>> {
      const rows = await attempts
        .find({ callId: { $in: [...callIds] } }, { _id: 0, callId: 1, number: 1 })
        .batchSize(COUNTED_AT_ONCE)
        .maxTimeMS(LIST_READ_TIMEOUT_MS)
        .lean<Pick<WebhookAttemptDocument, 'callId'>[]>();
      const counts = new Map<string, number>();
      for (const { callId } of rows) counts.set(callId, (counts.get(callId) ?? 0) + 1);
      return counts;
    },

    /** Finds the last failed attempt of each call. */
    async lastFailedOf(callIds: readonly string[]): Promise<Map<string, WebhookAttemptDocument>> {
      const found = new Map<string, WebhookAttemptDocument>();
      for (const callId of callIds) {
        const row = await lastFailed(attempts, callId);
        if (row !== null) found.set(callId, row);
      }
      return found;
    },

    /** Erases the responses, which may repeat the data that was sent, and the headers. */
    async erase(callId: string): Promise<void> {
      const erased = { requestHeaders: '', responseHeaders: '', responseHeadersLeftOut: '', responseBody: '' };
      await attempts.updateMany({ callId }, { $unset: erased });
    },

    /**
     * Lists the first attempts of several calls, by call id, each in order and without headers.
     * @param most maximum number of attempts per call
     */
    async listOf(callIds: readonly string[], most: number): Promise<Map<string, WebhookAttemptDocument[]>> {
      // Query by id, because every server has an index on the id.
      const ids = callIds.flatMap((callId) => Array.from({ length: most }, (_, index) => attemptId(callId, index + 1)));
      const found = await attempts
        .find({ _id: { $in: ids } }, WITHOUT_HEADERS)
        .sort({ _id: 1 })
        .lean<WebhookAttemptDocument[]>()
        .exec();
      const byCall = new Map<string, WebhookAttemptDocument[]>();
      for (const row of found) byCall.set(row.callId, [...(byCall.get(row.callId) ?? []), row]);
      return byCall;
    },

    /** Claims an attempt for this worker. Returns `taken` when another worker has claimed it. */
    async begin(callId: string, number: number, startedAt: Date, redelivery = 0): Promise<'begun' | 'taken'> {
      const _id = attemptId(callId, number);
      try {
        await documents.insertOne({ _id, callId, number, startedAt, ...(redelivery > 0 ? { redelivery } : {}) });
        return 'begun';
      } catch (error) {
        if (isDuplicateKey(error)) return 'taken';
        throw error;
      }
    },

    /**
     * Records the result of an attempt. A success is recorded even if the attempt was marked as interrupted meanwhile.
     * @param at.started when a first attempt began that may have no row yet
     */
    async finish(
      callId: string,
      number: number,
      outcome: AttemptOutcome,
      at: { finished: Date; started?: Date | undefined },
    ): Promise<void> {
      const open = outcome.outcome === 'delivered' ? {} : { outcome: { $exists: false } };
      const row = at.started && { $setOnInsert: { callId, number, startedAt: at.started } };
      const update = { $set: { ...outcome, finishedAt: at.finished }, ...row };
      const options = { ...WITHOUT_UNDEFINED, upsert: row !== undefined };
      try {
        await documents.updateOne({ _id: attemptId(callId, number), ...open }, update, options);
      } catch (error) {
        // The attempt has another result.
        if (!isDuplicateKey(error)) throw error;
      }
    },
  };
}

/** The part of a delivery that says when its first attempt began. */
export type BegunDelivery = Pick<WebhookDeliveryDocument, 'callId' | 'firstAttemptAt'>;

/**
 * Returns the first attempt of a delivery if it has no row yet.
 * @param rows the first attempts that have rows, in order
 */
export function unstoredAttempt(
  delivery: BegunDelivery | null,
  rows: readonly Pick<AttemptStep, 'number'>[],
): WebhookAttemptDocument[] {
  if (delivery?.firstAttemptAt === undefined || rows[0]?.number === 1) return [];
  const { callId, firstAttemptAt: startedAt } = delivery;
  return [{ _id: attemptId(callId, 1), callId, number: 1, startedAt }];
}

function lastFailed(attempts: WebhooksDatabase['webhookAttempts'], callId: string) {
  return attempts
    .findOne({ callId, outcome: 'failed' }, { ...WITHOUT_HEADERS, responseBody: 0 })
    .sort({ number: -1 })
    .maxTimeMS(LIST_READ_TIMEOUT_MS)
    .lean<WebhookAttemptDocument>();
}

function attemptId(callId: string, number: number): string {
  return `${callId}:${number}`;
}

import { isDuplicateKey } from '../platform/mongo/connection.js';
import type { WebhooksDatabase } from './database.js';
import type { WebhookAttemptDocument } from './model.js';

export type WebhookAttempts = ReturnType<typeof createWebhookAttempts>;

/** How an attempt ended, as its row keeps it. */
export type AttemptOutcome = Required<Pick<WebhookAttemptDocument, 'outcome'>> &
  Pick<WebhookAttemptDocument, 'durationMs' | 'httpStatus' | 'error' | 'responseBody'>;

/** One row per attempt, there before its POST: the attempts are counted here and nowhere else. */
export function createWebhookAttempts(database: WebhooksDatabase) {
  const attempts = database.webhookAttempts;
  return {
    /** All attempts of a call's deliveries, first to last. */
    list(callId: string): Promise<WebhookAttemptDocument[]> {
      return attempts.find({ callId }).sort({ number: 1 }).lean<WebhookAttemptDocument[]>().exec();
    },

    /** The latest attempts of a call's deliveries, first to last. */
    async latest(callId: string, most: number): Promise<WebhookAttemptDocument[]> {
      const rows = await attempts
        .find({ callId })
        .sort({ number: -1 })
        .limit(most)
        .lean<WebhookAttemptDocument[]>()
        .exec();
      return rows.toReversed();
    },

    /** How many attempts each of these calls has. */
    async counts(callIds: readonly string[]): Promise<Map<string, number>> {
      const rows = await attempts
        .find({ callId: { $in: [...callIds] } }, { callId: 1 })
        .lean<Pick<WebhookAttemptDocument, '_id' | 'callId'>[]>()
        .exec();
      const counts = new Map<string, number>();
      for (const { callId } of rows) counts.set(callId, (counts.get(callId) ?? 0) + 1);
      return counts;
    },

    /** The last attempt of each of these calls that the receiver did not accept. */
    async lastFailedOf(callIds: readonly string[]): Promise<Map<string, WebhookAttemptDocument>> {
      const rows = await attempts
        .find({ callId: { $in: [...callIds] }, outcome: 'failed' }, { responseBody: 0 })
        .sort({ callId: 1, number: 1 })
        .lean<WebhookAttemptDocument[]>()
        .exec();
      return new Map(rows.map((row) => [row.callId, row]));
    },

    /** Takes out what receivers answered, which may repeat what they were sent. */
    async erase(callId: string): Promise<void> {
      await attempts.updateMany({ callId }, { $unset: { responseBody: '' } });
    },

    /** The attempts of several calls' deliveries, by call, each first to last. */
    async listOf(callIds: readonly string[], most: number): Promise<Map<string, WebhookAttemptDocument[]>> {
      // By their ids, which every server has an index of.
      const ids = callIds.flatMap((callId) => Array.from({ length: most }, (_, index) => attemptId(callId, index + 1)));
      const found = await attempts
        .find({ _id: { $in: ids } })
        .sort({ _id: 1 })
        .lean<WebhookAttemptDocument[]>()
        .exec();
      const byCall = new Map<string, WebhookAttemptDocument[]>();
      for (const row of found) byCall.set(row.callId, [...(byCall.get(row.callId) ?? []), row]);
      return byCall;
    },

    /** Claims an attempt for the caller alone; `taken` when another worker has it. */
    async begin(callId: string, number: number, startedAt: Date, redelivery = 0): Promise<'begun' | 'taken'> {
      const _id = attemptId(callId, number);
      try {
        await attempts.create({ _id, callId, number, startedAt, ...(redelivery > 0 ? { redelivery } : {}) });
        return 'begun';
      } catch (error) {
        if (isDuplicateKey(error)) return 'taken';
        throw error;
      }
    },

    /** Writes what came of an attempt. A delivery stays a delivery, also when the row was given up meanwhile. */
    async finish(callId: string, number: number, outcome: AttemptOutcome, finishedAt: Date): Promise<void> {
      const open = outcome.outcome === 'delivered' ? {} : { outcome: { $exists: false } };
      await attempts.updateOne({ _id: attemptId(callId, number), ...open }, { $set: { ...outcome, finishedAt } });
    },
  };
}

function attemptId(callId: string, number: number): string {
  return `${callId}:${number}`;
}

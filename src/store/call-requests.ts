import { isDuplicateKey, type Database } from './database.js';
import type { CallRequestDocument } from './models/call-request.js';

export type CallRequests = ReturnType<typeof createCallRequests>;

/** What clients and carriers asked for: written once, never changed. */
export function createCallRequests(database: Database) {
  const requests = database.callRequests;
  return {
    /** Inserts the request; `exists` when the call was asked for before, whose document then stands. */
    async insert(document: CallRequestDocument): Promise<'inserted' | 'exists'> {
      try {
        await requests.create(document);
        return 'inserted';
      } catch (error) {
        if (isDuplicateKey(error)) return 'exists';
        throw error;
      }
    },

    find(callId: string): Promise<CallRequestDocument | null> {
      return requests.findById(callId).lean<CallRequestDocument>().exec();
    },

    /** Which of these calls are to have a completion webhook. */
    async withWebhook(callIds: readonly string[]): Promise<string[]> {
      const found = await requests
        .find({ _id: { $in: callIds }, webhookUrl: { $exists: true } }, { _id: 1 })
        .lean<Pick<CallRequestDocument, '_id'>[]>()
        .exec();
      return found.map(({ _id }) => _id);
    },
  };
}

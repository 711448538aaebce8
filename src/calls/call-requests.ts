import { isDuplicateKey } from '../platform/mongo/connection.js';
import type { CallsDatabase } from './database.js';
import type { CallRequestDocument } from './call-request-model.js';

export type CallRequests = ReturnType<typeof createCallRequests>;

/** What clients and carriers asked for: written once, never changed but by erasure and, once a call has ended, for its tools. */
export function createCallRequests(database: CallsDatabase) {
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

    /** Takes everything personal out. The row stays, so that a request that is repeated cannot bring it back. */
    async erase(callId: string): Promise<void> {
      // As the driver's own write: a model refuses empty texts.
      await requests.collection.updateOne(
        { _id: callId as never },
        {
          $set: {
            fromPhoneNumber: '',
            toPhoneNumber: '',
            'agent.instruction': '',
            inputParameters: '{}',
            externalCallId: '',
          },
          $unset: {
            webhookUrl: '',
            'agent.outputParameters': '',
            'agent.name': '',
            'agent.voicemailMessage': '',
            'agent.transferNumbers': '',
            'agent.tools': '',
          },
        },
      );
    },

    /** Takes the agent's tools out of a call that has ended: by far the largest part, and needed only while it talks. */
    async dropTools(callId: string): Promise<void> {
      await requests.updateOne({ _id: callId, 'agent.tools': { $exists: true } }, { $unset: { 'agent.tools': '' } });
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

import { isDuplicateKey } from '../platform/mongo/connection.js';
import type { CallsDatabase } from './database.js';
import type { CallRequestDocument } from './call-request-model.js';

export type CallRequests = ReturnType<typeof createCallRequests>;

/** Stores requested calls. Each is written once; afterwards only erasure and the removal of its tools change it. */
export function createCallRequests(database: CallsDatabase) {
  const requests = database.callRequests;
  return {
    /** Inserts the request. Returns `exists`, and changes nothing, if the call was already requested. */
    async insert(document: CallRequestDocument): Promise<'inserted' | 'exists'> {
      try {
        await requests.create(document);
        return 'inserted';
      } catch (error) {
        if (isDuplicateKey(error)) return 'exists';
        throw error;
      }
    },

    /** Removes the personal data. The document stays, so that a repeated request cannot bring the data back. */
    async erase(callId: string): Promise<void> {
      // Through the driver, because the Mongoose model rejects empty strings.
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

    /** Removes the agent's tools after the call: they are by far the largest part and needed only during it. */
    async dropTools(callId: string): Promise<void> {
      await requests.updateOne({ _id: callId, 'agent.tools': { $exists: true } }, { $unset: { 'agent.tools': '' } });
    },

    find(callId: string): Promise<CallRequestDocument | null> {
      return requests.findById(callId).lean<CallRequestDocument>().exec();
    },

    /** Which of these calls have a completion webhook. */
    async withWebhook(callIds: readonly string[]): Promise<string[]> {
      const found = await requests
        .find({ _id: { $in: callIds }, webhookUrl: { $exists: true } }, { _id: 1 })
        .lean<Pick<CallRequestDocument, '_id'>[]>()
        .exec();
      return found.map(({ _id }) => _id);
    },
  };
}

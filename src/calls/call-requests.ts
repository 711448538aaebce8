import { CONVERSATION_FIELDS } from '../agents/fields/conversation-fields.js';
import { isDuplicateKey } from '../platform/mongo/connection.js';
import { driverCollection, WITHOUT_UNDEFINED } from '../platform/mongo/driver-collection.js';
import { createRecentEntries } from '../platform/recent-entries.js';
import type { AccountOfCall } from '../telephony/accounts/account-of-call.js';
import { factsOf, type CallFacts } from './call-facts.js';
import type { CallsDatabase } from './database.js';
import type { CallRequestDocument } from './call-request-model.js';

/** The settings of the agent's conversation in a stored request; some contain texts. */
const CONVERSATION_SETTINGS = Object.fromEntries(
  Object.values(CONVERSATION_FIELDS).map(({ stored }) => [`agent.${stored}`, '']),
);

/** Facts of recent calls in a process: about 1 kB each, and for as long as the steps of a short call take. */
const RECENT_FACTS = { maxEntries: 5_000, maxAgeMs: 60_000 };

export type CallRequests = ReturnType<typeof createCallRequests>;

/**
 * Stores requested calls. A stored request is changed only by erasure and by the removal of its tools.
 * @param recent facts of recent calls; by default those that this object has stored or read
 */
export function createCallRequests(database: CallsDatabase, recent = createRecentEntries<CallFacts>(RECENT_FACTS)) {
  const requests = database.callRequests;
  const stored = driverCollection<CallRequestDocument>(database, requests);

  async function find(callId: string): Promise<CallRequestDocument | null> {
    const request = await stored.findOne({ _id: callId });
    if (request) recent.set(callId, factsOf(request));
    return request;
  }

  return {
    /** Inserts the request. Returns `exists`, and changes nothing, if the call was already requested. */
    async insert(document: CallRequestDocument): Promise<'inserted' | 'exists'> {
      try {
        await stored.insertOne(document, WITHOUT_UNDEFINED);
        recent.set(document._id, factsOf(document));
        return 'inserted';
      } catch (error) {
        if (isDuplicateKey(error)) return 'exists';
        throw error;
      }
    },

    /** Removes the personal data. The document stays, so that a repeated request cannot bring the data back. */
    async erase(callId: string): Promise<void> {
      recent.delete(callId);
      // Uses the driver, because the Mongoose model rejects empty strings.
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
            unknownFields: '',
            requestId: '',
            'agent.outputParameters': '',
            'agent.name': '',
            'agent.voicemailMessage': '',
            'agent.transferNumbers': '',
            'agent.tools': '',
            ...CONVERSATION_SETTINGS,
          },
        },
      );
    },

    /**
     * Removes the agent's tools after the call. They are by far the largest part, and only a running call needs them.
     */
    async dropTools(callId: string): Promise<void> {
      if (recent.get(callId)?.hasTools === false) return;
      await requests.updateOne({ _id: callId, 'agent.tools': { $exists: true } }, { $unset: { 'agent.tools': '' } });
    },

    find,

    /** Returns the carrier account of a call. */
    accountOf(callId: string): Promise<AccountOfCall | null> {
      return stored.findOne<AccountOfCall>({ _id: callId }, { projection: { mode: 1, carrierAccountId: 1 } });
    },

    /**
     * Returns the facts of a call. Reads them unless this process has stored or read the request within the last minute.
     */
    async facts(callId: string): Promise<CallFacts | undefined> {
      const known = recent.get(callId);
      if (known !== undefined) return known;
      const request = await find(callId);
      return request === null ? undefined : factsOf(request);
    },

    /** Returns those of the calls that have a completion webhook. */
    async withWebhook(callIds: readonly string[]): Promise<string[]> {
      const found = await requests
        .find({ _id: { $in: callIds }, webhookUrl: { $exists: true } }, { _id: 1 })
        .lean<Pick<CallRequestDocument, '_id'>[]>()
        .exec();
      return found.map(({ _id }) => _id);
    },
  };
}

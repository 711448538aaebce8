import type { Database } from './database.js';
import { isDuplicateKey } from './database.js';
import type { ConversationResultDocument, StoredTurn } from './models/conversation-result.js';

/** One conversation: a call and the stream that carries it. */
export interface ConversationKey {
  callId: string;
  streamSid: string;
}

export interface ConversationBeginning extends ConversationKey {
  carrierSid: string;
  engine: string;
  startedAt: Date;
}

export interface ConversationProgress {
  agentAudioPlayed: boolean;
  /** All turns so far, not only the new ones, so that a lost checkpoint loses nothing. */
  turns: readonly StoredTurn[];
}

export type ConversationEnding = ConversationBeginning &
  ConversationProgress &
  Required<
    Pick<ConversationResultDocument, 'endedAt' | 'endReason' | 'summary' | 'outputParameters' | 'hasRecording'>
  > &
  Pick<ConversationResultDocument, 'answeredBy' | 'transferTo'>;

export type ConversationResults = ReturnType<typeof createConversationResults>;

/** What the media server saw of each call. Every write may be repeated; only the stream that began a row changes it. */
export function createConversationResults(database: Database) {
  const { conversationResults } = database;

  return {
    /** Claims the call for one stream. `taken`: another stream has it, so this one must not speak. */
    async begin(beginning: ConversationBeginning): Promise<'begun' | 'taken'> {
      const { callId, ...fields } = beginning;
      try {
        await conversationResults.create({ _id: callId, ...fields, agentAudioPlayed: false, turns: [] });
        return 'begun';
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        const standing = await conversationResults.findById(callId).lean();
        return standing?.streamSid === beginning.streamSid ? 'begun' : 'taken';
      }
    },

    async checkpoint(key: ConversationKey, progress: ConversationProgress): Promise<void> {
      await conversationResults.updateOne({ _id: key.callId, streamSid: key.streamSid }, { $set: { ...progress } });
    },

    /** Writes the whole result, also when no earlier write arrived. */
    async finish(ending: ConversationEnding): Promise<void> {
      const { callId, streamSid, ...fields } = ending;
      await conversationResults.updateOne({ _id: callId, streamSid }, { $set: fields }, { upsert: true });
    },

    find(callId: string): Promise<ConversationResultDocument | null> {
      return conversationResults.findById(callId).lean<ConversationResultDocument>().exec();
    },
  };
}

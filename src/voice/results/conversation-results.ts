import type { CallReader } from '../call-reader.js';
import type { VoiceDatabase } from '../database.js';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import type { ConversationResultDocument, StoredTurn } from './model.js';

/** One conversation: a call and the stream that carries it. */
export interface ConversationKey {
  callId: string;
  streamSid: string;
}

export interface ConversationBeginning extends ConversationKey {
  carrierSid: string;
  engine: string;
  /** Of the call's first stream. */
  startedAt: Date;
  /** The stream's number; 0, or absent, for the first. */
  resumptions?: number;
}

/** All that is known so far, not only what is new, so that a lost checkpoint loses nothing. */
export type ConversationProgress = {
  agentAudioPlayed: boolean;
  turns: readonly StoredTurn[];
} & Pick<
  ConversationResultDocument,
  'values' | 'outputParameters' | 'latencies' | 'usage' | 'summary' | 'answeredBy' | 'hasRecording' | 'sessionLogs'
>;

export type ConversationEnding = ConversationBeginning &
  ConversationProgress &
  Required<Pick<ConversationResultDocument, 'endedAt' | 'endReason' | 'summary' | 'outputParameters'>> &
  Pick<ConversationResultDocument, 'transferTo'>;

/** `earlier`: what the streams before left, null for the first. `taken`: another stream has the call. */
export type Claim = { claimed: true; earlier: ConversationResultDocument | null } | { claimed: false };

export type ConversationResults = ReturnType<typeof createConversationResults>;

/** What the media server saw of each call. Every write may be repeated; only the stream that has a row changes it. */
export function createConversationResults(database: VoiceDatabase, { isErased }: Pick<CallReader, 'isErased'>) {
  const { conversationResults } = database;

  /** Takes over a row that is not ended from a stream with a lower number. */
  async function takeOver(beginning: ConversationBeginning): Promise<ConversationResultDocument | null> {
    const { callId, streamSid, carrierSid, engine, resumptions = 0 } = beginning;
    return conversationResults
      .findOneAndUpdate(
        { _id: callId, endedAt: { $exists: false }, resumptions: { $not: { $gte: resumptions } } },
        { $set: { streamSid, carrierSid, engine, resumptions }, $unset: { summary: '', hasRecording: '' } },
        { returnDocument: 'before' },
      )
      .lean<ConversationResultDocument>()
      .exec();
  }

  return {
    /** Claims the call for one stream; a stream that was not claimed must not speak. Nobody claims an erased call. */
    async begin(beginning: ConversationBeginning): Promise<Claim> {
      const { callId, ...fields } = beginning;
      if (await isErased(callId)) return { claimed: false };
      if ((beginning.resumptions ?? 0) > 0) {
        const earlier = await takeOver(beginning);
        if (earlier !== null) return { claimed: true, earlier };
      }
      try {
        await conversationResults.create({ _id: callId, ...fields, agentAudioPlayed: false, turns: [] });
        return { claimed: true, earlier: null };
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        const standing = await conversationResults.findById(callId).lean<ConversationResultDocument>();
        // An earlier try of this very write; nothing was written since.
        if (standing?.streamSid === beginning.streamSid) return { claimed: true, earlier: standing };
        return { claimed: false };
      }
    },

    /** @returns false when the row is another stream's, or ended */
    async checkpoint(key: ConversationKey, progress: ConversationProgress): Promise<boolean> {
      const { matchedCount } = await conversationResults.updateOne(
        { _id: key.callId, streamSid: key.streamSid, endedAt: { $exists: false } },
        { $set: { ...progress } },
      );
      return matchedCount > 0;
    },

    /**
     * Writes the whole result, also when no earlier write arrived.
     * @returns false when the call was erased, and nothing is written
     * @throws a duplicate key when another stream has it
     */
    async finish(ending: ConversationEnding): Promise<boolean> {
      const { callId, streamSid, ...fields } = ending;
      if (await isErased(callId)) return false;
      await conversationResults.updateOne({ _id: callId, streamSid }, { $set: fields }, { upsert: true });
      return true;
    },

    /** Whether this stream still has the call, and nobody has ended it. */
    async isOpen({ callId, streamSid }: ConversationKey): Promise<boolean> {
      return (await conversationResults.exists({ _id: callId, streamSid, endedAt: { $exists: false } })) !== null;
    },

    /** Removes what was said; none is a success. */
    async delete(callId: string): Promise<void> {
      await conversationResults.deleteOne({ _id: callId });
    },

    find(callId: string): Promise<ConversationResultDocument | null> {
      return conversationResults.findById(callId).lean<ConversationResultDocument>().exec();
    },
  };
}

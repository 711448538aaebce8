import type { CallReader } from '../call-reader.js';
import type { VoiceDatabase } from '../database.js';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import { driverCollection } from '../../platform/mongo/driver-collection.js';
import { changedItems } from './changed-items.js';
import type { ConversationResultDocument, StoredLatency, StoredTurn } from './model.js';

/** One conversation: a call and the stream that carries it. */
export interface ConversationKey {
  callId: string;
  streamId: string;
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

/** The lists as they are in a row; of what is written later, only the difference goes to the database. */
export interface StoredLists {
  turns: readonly StoredTurn[];
  latencies?: readonly StoredLatency[];
}

/** All of a row but its lists, which grow with the call. */
export type ResultHead = Omit<ConversationResultDocument, 'turns' | 'latencies' | 'sessionLogs'>;

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
  // Mongoose would cast each turn of the call anew at each checkpoint, which takes longer than all else.
  const rows = driverCollection<ConversationResultDocument>(database, conversationResults);

  /** Takes over a row that is not ended from a stream with a lower number. */
  async function takeOver(beginning: ConversationBeginning): Promise<ConversationResultDocument | null> {
    const { callId, streamId, carrierSid, engine, resumptions = 0 } = beginning;
    return conversationResults
      .findOneAndUpdate(
        { _id: callId, endedAt: { $exists: false }, resumptions: { $not: { $gte: resumptions } } },
        { $set: { streamSid: streamId, carrierSid, engine, resumptions }, $unset: { summary: '', hasRecording: '' } },
        { returnDocument: 'before' },
      )
      .lean<ConversationResultDocument>()
      .exec();
  }

  return {
    /** Claims the call for one stream; a stream that was not claimed must not speak. Nobody claims an erased call. */
    async begin(beginning: ConversationBeginning): Promise<Claim> {
      const { callId, streamId, ...fields } = beginning;
      if (await isErased(callId)) return { claimed: false };
      if ((beginning.resumptions ?? 0) > 0) {
        const earlier = await takeOver(beginning);
        if (earlier !== null) return { claimed: true, earlier };
      }
      try {
        await conversationResults.create({
          _id: callId,
          streamSid: streamId,
          ...fields,
          agentAudioPlayed: false,
          turns: [],
        });
        return { claimed: true, earlier: null };
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        const standing = await conversationResults.findById(callId).lean<ConversationResultDocument>();
        // An earlier try of this very write; nothing was written since.
        if (standing?.streamSid === streamId) return { claimed: true, earlier: standing };
        return { claimed: false };
      }
    },

    /**
     * @param known what this stream is known to have stored; absent: nothing, and the lists are written anew
     * @returns false when the row is another stream's, or ended
     */
    async checkpoint(key: ConversationKey, progress: ConversationProgress, known?: StoredLists): Promise<boolean> {
      const { matchedCount } = await rows.updateOne(
        { _id: key.callId, streamSid: key.streamId, endedAt: { $exists: false } },
        { $set: changesOf(progress, known) },
      );
      return matchedCount > 0;
    },

    /**
     * Writes the whole result, also when no earlier write arrived.
     * @param known as for a checkpoint
     * @returns false when the call was erased, and nothing is written
     * @throws a duplicate key when another stream has it
     */
    async finish(ending: ConversationEnding, known?: StoredLists): Promise<boolean> {
      const { callId, streamId, ...fields } = ending;
      if (await isErased(callId)) return false;
      const row = { _id: callId, streamSid: streamId };
      if (known !== undefined) {
        const { matchedCount } = await rows.updateOne(row, { $set: changesOf(fields, known) });
        if (matchedCount > 0) return true;
      }
      await rows.updateOne(row, { $set: changesOf(fields) }, { upsert: true });
      return true;
    },

    /** Whether this stream still has the call, and nobody has ended it. */
    async isOpen({ callId, streamId }: ConversationKey): Promise<boolean> {
      return (
        (await conversationResults.exists({ _id: callId, streamSid: streamId, endedAt: { $exists: false } })) !== null
      );
    },

    /** Removes what was said; none is a success. */
    async delete(callId: string): Promise<void> {
      await conversationResults.deleteOne({ _id: callId });
    },

    find(callId: string): Promise<ConversationResultDocument | null> {
      return conversationResults.findById(callId).lean<ConversationResultDocument>().exec();
    },

    /** What was said in a call, and nothing else of it. */
    findTurns(callId: string): Promise<Pick<ConversationResultDocument, 'turns'> | null> {
      return conversationResults
        .findById(callId, { turns: 1 })
        .lean<Pick<ConversationResultDocument, 'turns'>>()
        .exec();
    },

    /** All but what grows with the call. */
    findHead(callId: string): Promise<ResultHead | null> {
      return conversationResults.findById(callId, { turns: 0, latencies: 0, sessionLogs: 0 }).lean<ResultHead>().exec();
    },
  };
}

/** Values by their paths in the row; of each list the items that are not stored yet. Writing them again changes nothing. */
function changesOf<T extends ConversationProgress>(progress: T, known?: StoredLists): Record<string, unknown> {
  const { turns, latencies, ...fields } = progress;
  return {
    ...fields,
    ...changedItems('turns', known?.turns, turns),
    ...(latencies && changedItems('latencies', known?.latencies, latencies)),
  };
}

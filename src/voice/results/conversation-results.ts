import type { CallReader } from '../call-reader.js';
import type { VoiceDatabase } from '../database.js';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import { driverCollection } from '../../platform/mongo/driver-collection.js';
import { findRaw, type RawDocument } from '../../platform/mongo/raw-document.js';
import { changedItems } from './changed-items.js';
import type { ConversationResultDocument, StoredLatency, StoredToolCall, StoredTurn } from './model.js';

/** A conversation is identified by a call and the media stream that carries it. */
export interface ConversationKey {
  callId: string;
  streamId: string;
}

export interface ConversationBeginning extends ConversationKey {
  carrierSid: string;
  engine: string;
  /** Start of the call's first stream. */
  startedAt: Date;
  /** The stream number; 0 or absent for the first. */
  resumptions?: number;
  /** Set for a test call. */
  test?: true;
}

/** All data so far, not only the changes, so that the next checkpoint makes up for a lost one. */
export type ConversationProgress = {
  agentAudioPlayed: boolean;
  turns: readonly StoredTurn[];
} & Pick<
  ConversationResultDocument,
  | 'values'
  | 'outputParameters'
  | 'latencies'
  | 'toolCalls'
  | 'usage'
  | 'failures'
  | 'served'
  | 'summary'
  | 'answeredBy'
  | 'ignoredSettings'
  | 'hasRecording'
  | 'sessionLogs'
>;

/** The lists as a row stores them. Later writes send only the differences to the database. */
export interface StoredLists {
  turns: readonly StoredTurn[];
  latencies?: readonly StoredLatency[];
  toolCalls?: readonly StoredToolCall[];
}

export type LatestConversation = Pick<ConversationResultDocument, 'turns' | 'values'>;

/** A row without the lists that grow with the call. */
export type ResultHead = Omit<ConversationResultDocument, 'turns' | 'latencies' | 'toolCalls' | 'sessionLogs'>;

/** The times that an engine's replies took in a call, and the tools that it used. */
export type EngineTrace = Pick<ConversationResultDocument, 'latencies' | 'toolCalls'>;

export type ConversationEnding = ConversationBeginning &
  ConversationProgress &
  Required<Pick<ConversationResultDocument, 'endedAt' | 'endReason' | 'summary' | 'outputParameters'>> &
  Pick<ConversationResultDocument, 'transferTo'> & {
    /** Whether the words are not stored, and removed if they are. */
    dropsWords?: true;
  };

/**
 * `earlier`: the row written by previous streams, null for the first one. `claimed: false`: another stream owns the
 * call.
 */
export type Claim = { claimed: true; earlier: ConversationResultDocument | null } | { claimed: false };

/** Filter for rows that streams may still change. */
const OPEN = { endedAt: { $exists: false }, wordsDroppedAt: { $exists: false } } as const;

export type ConversationResults = ReturnType<typeof createConversationResults>;

/**
 * Stores the conversation's result of each call. Writes can be repeated. Only the stream that owns a row changes it.
 */
export function createConversationResults(database: VoiceDatabase, { isErased }: Pick<CallReader, 'isErased'>) {
  const { conversationResults } = database;
  // Bypass Mongoose, because it would cast every turn of the call at each checkpoint, which is too slow.
  const rows = driverCollection<ConversationResultDocument>(database, conversationResults);

  /** Takes over an unfinished row from a stream with a lower number. */
  async function takeOver(beginning: ConversationBeginning): Promise<ConversationResultDocument | null> {
    const { callId, streamId, carrierSid, engine, resumptions = 0 } = beginning;
    return conversationResults
      .findOneAndUpdate(
        { _id: callId, ...OPEN, resumptions: { $not: { $gte: resumptions } } },
        { $set: { streamSid: streamId, carrierSid, engine, resumptions }, $unset: { summary: '', hasRecording: '' } },
        { returnDocument: 'before' },
      )
      .lean<ConversationResultDocument>()
      .exec();
  }

  return {
    /**
     * Claims the call for one stream. A stream that cannot claim it must stay silent. An erased call is never claimed.
     */
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
        // An earlier attempt of this same write succeeded.
        if (standing?.streamSid === streamId) return { claimed: true, earlier: standing };
        return { claimed: false };
      }
    },

    /**
     * Stores the progress of the conversation.
     * @param known the lists that this stream has stored so far; if absent, the lists are written in full
     * @returns false if the row belongs to another stream or has ended
     */
    async checkpoint(key: ConversationKey, progress: ConversationProgress, known?: StoredLists): Promise<boolean> {
      const { matchedCount } = await rows.updateOne(
        { _id: key.callId, streamSid: key.streamId, ...OPEN },
        { $set: changesOf(progress, known) },
      );
      return matchedCount > 0;
    },

    /**
     * Writes the whole result, even if no earlier write arrived.
     * @param known the lists that this stream has stored so far; if absent, the lists are written in full
     * @returns false if the call was erased; then nothing is written
     * @throws a duplicate key error if another stream owns the call
     */
    async finish(ending: ConversationEnding, known?: StoredLists): Promise<boolean> {
      const { callId, streamId, dropsWords, ...fields } = ending;
      if (await isErased(callId)) return false;
      const row = { _id: callId, streamSid: streamId };
      if (known !== undefined && dropsWords !== true) {
        const { matchedCount } = await rows.updateOne(row, { $set: changesOf(fields, known) });
        if (matchedCount > 0) return true;
      }
      await rows.updateOne(row, dropsWords ? withoutWords(fields) : { $set: changesOf(fields) }, { upsert: true });
      return true;
    },

    /** Whether this stream still owns the call and the conversation has not ended. */
    async isOpen({ callId, streamId }: ConversationKey): Promise<boolean> {
      return (
        (await conversationResults.exists({ _id: callId, streamSid: streamId, endedAt: { $exists: false } })) !== null
      );
    },

    /** Deletes the result of a call and its interim words; succeeds if there are none. */
    async delete(callId: string): Promise<void> {
      await conversationResults.deleteOne({ _id: callId });
      await database.liveWords.deleteOne({ _id: callId });
    },

    find(callId: string): Promise<ConversationResultDocument | null> {
      return conversationResults.findById(callId).lean<ConversationResultDocument>().exec();
    },

    /** Finds only the transcript of a call. */
    findTurns(callId: string): Promise<RawDocument<Pick<ConversationResultDocument, 'turns'>> | null> {
      return findRaw(conversationResults, { _id: callId }, { turns: 1 });
    },

    /** Finds only what the engine did in a call. */
    findTrace(callId: string): Promise<RawDocument<EngineTrace> | null> {
      return findRaw(conversationResults, { _id: callId }, { latencies: 1, toolCalls: 1 });
    },

    /** Finds the last turns of a call, and the values extracted so far. */
    findLatest(callId: string, turns: number): Promise<LatestConversation | null> {
      return conversationResults
        .findById(callId, { turns: { $slice: -turns }, values: 1 })
        .lean<LatestConversation>()
        .exec();
    },

    /** Finds the row of a call without the lists that grow with the call. */
    findHead(callId: string): Promise<ResultHead | null> {
      const withoutLists = { turns: 0, latencies: 0, toolCalls: 0, sessionLogs: 0 };
      return conversationResults.findById(callId, withoutLists).lean<ResultHead>().exec();
    },
  };
}

/** The update that stores an end without its words, and removes those that are stored. */
function withoutWords(fields: Omit<ConversationEnding, keyof ConversationKey | 'dropsWords'>): {
  $set: Record<string, unknown>;
  $unset: Record<string, ''>;
} {
  const { values: _values, toolCalls: _toolCalls, sessionLogs: _sessionLogs, ...others } = fields;
  return { $set: { ...others, turns: [] }, $unset: { values: '', toolCalls: '', sessionLogs: '' } };
}

/** The `$set` paths of a write. Lists include only items not stored yet. Repeating the write changes nothing. */
function changesOf<T extends ConversationProgress>(progress: T, known?: StoredLists): Record<string, unknown> {
  const { turns, latencies, toolCalls, ...fields } = progress;
  return {
    ...fields,
    ...changedItems('turns', known?.turns, turns),
    ...(latencies && changedItems('latencies', known?.latencies, latencies)),
    ...(toolCalls && changedItems('toolCalls', known?.toolCalls, toolCalls)),
  };
}

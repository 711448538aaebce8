import { driverCollection } from '../../platform/mongo/driver-collection.js';
import type { VoiceDatabase } from '../database.js';
import type { InterimWords, LiveWordsDocument } from './model.js';

/** How long a call counts as watched. Longer than the interval of `watch`, because clocks may differ. */
const WATCHED_MS = 20_000;

export type LiveWords = ReturnType<typeof createLiveWords>;

/**
 * Stores the interim words of watched calls: media processes write them, API processes read them. A call without
 * watchers has no document, so nothing is written for it.
 */
export function createLiveWords(database: VoiceDatabase) {
  const rows = driverCollection<LiveWordsDocument>(database, database.liveWords);
  return {
    /** Records that somebody watches a call, for the next 20 s. */
    async watch(callId: string): Promise<void> {
      const watchedUntil = new Date(Date.now() + WATCHED_MS);
      await rows.updateOne({ _id: callId }, { $set: { watchedUntil } }, { upsert: true });
    },

    /** Returns those of the calls that somebody watches. */
    async watchedAmong(callIds: readonly string[]): Promise<Set<string>> {
      const filter = { _id: { $in: [...callIds] }, watchedUntil: { $gt: new Date() } };
      const found = await rows.find(filter, { projection: { _id: 1 } }).toArray();
      return new Set(found.map(({ _id }) => _id));
    },

    /** Replaces the words of a call that is watched. */
    async write(callId: string, words: readonly InterimWords[]): Promise<void> {
      await rows.updateOne({ _id: callId }, { $set: { words: [...words] } });
    },

    async find(callId: string): Promise<InterimWords[]> {
      return (await rows.findOne({ _id: callId }))?.words ?? [];
    },

    /** Deletes the words of a call; succeeds if there are none. */
    async remove(callId: string): Promise<void> {
      await rows.deleteOne({ _id: callId });
    },
  };
}

import type { LatestConversation } from '../../voice/results/conversation-results.js';
import type { LiveWords } from '../../voice/live-words/live-words.js';
import type { InterimWords } from '../../voice/live-words/model.js';
import { LATEST_TURNS, type CallReading } from './call-reading.js';
import { latestView } from './call-views.js';

/** Reads the turns of a call in progress again after this time. While a call is watched, media servers store each at once. */
const READ_LATEST_EVERY_MS = 1_000;
/** Tells media servers again after this time that the call is watched. */
const WATCH_EVERY_MS = 5_000;
/** Interim words that have not changed for this time are not shown: the speaker has stopped, or the process has died. */
const INTERIM_FOR_MS = 10_000;

/** The conversation of a call in progress, as last read. Times in ms since the epoch. */
export interface LiveConversation {
  latest: LatestConversation | null;
  latestAt: number;
  watchedAt: number;
  interim: readonly InterimWords[];
  /** The words as JSON, and since when they are the same. */
  words: string;
  wordsSince: number;
}

export const UNKNOWN_CONVERSATION: LiveConversation = {
  latest: null,
  latestAt: 0,
  watchedAt: 0,
  interim: [],
  words: '[]',
  wordsSince: 0,
};

/** Reads the conversations of watched calls in progress. */
export function createLiveConversations(deps: { reading: CallReading; liveWords: LiveWords }) {
  const { reading, liveWords } = deps;
  return {
    /** Reads what may have changed since `before`. */
    async read(callId: string, before: LiveConversation): Promise<LiveConversation> {
      const now = Date.now();
      const isDue = now - before.latestAt >= READ_LATEST_EVERY_MS;
      const tells = now - before.watchedAt >= WATCH_EVERY_MS;
      const [latest, interim] = await Promise.all([
        isDue ? reading.readLatest(callId) : before.latest,
        liveWords.find(callId),
        // Without it, only the interim words are missing.
        tells ? liveWords.watch(callId).catch(() => undefined) : undefined,
      ]);
      const words = JSON.stringify(interim);
      return {
        latest,
        latestAt: isDue ? now : before.latestAt,
        watchedAt: tells ? now : before.watchedAt,
        interim,
        words,
        wordsSince: words === before.words ? before.wordsSince : now,
      };
    },

    /** Returns the data of the event; undefined while there is no conversation. */
    eventOf({ latest, interim, wordsSince }: LiveConversation): string | undefined {
      if (latest === null) return undefined;
      const isStale = Date.now() - wordsSince > INTERIM_FOR_MS;
      return JSON.stringify(latestView(latest, isStale ? [] : interim, LATEST_TURNS));
    },

    /** Call this when the call has ended. */
    end: (callId: string) => liveWords.remove(callId),
  };
}

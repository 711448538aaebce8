import type { LiveWords } from '../../voice/live-words/live-words.js';

/** Deletes the interim words of ended calls. */
export function createLiveWordsRemoval({ liveWords }: { liveWords: Pick<LiveWords, 'remove'> }) {
  return {
    /** Deletes the words that a media process which stopped without warning has left. It is safe to repeat. */
    async removeLiveWords({ callId }: { callId: string }): Promise<void> {
      await liveWords.remove(callId);
    },
  };
}

import type { Logger } from '../../platform/telemetry/logger.js';
import type { LiveWords } from './live-words.js';
import type { InterimWords } from './model.js';

/** Minimum interval between two writes of a call. */
const WRITE_EVERY_MS = 300;
/** Of longer words, only the end is shown. */
const MAX_TEXT_LENGTH = 1_000;

type Speaker = InterimWords['speaker'];

export type InterimWordsWriter = ReturnType<typeof createInterimWords>;

/**
 * Writes the interim words of one session while somebody watches its call: at most three times a second, and one write at
 * a time, so that a slow database is never asked for more. Audio never waits for it. Nothing is retried.
 */
export function createInterimWords(p: {
  callId: string;
  liveWords: Pick<LiveWords, 'write' | 'remove'>;
  /** The start of the speaker's last turn in the transcript, in ms; -1 if there is none. */
  lastTurnMs(speaker: Speaker): number;
  /** Whether the words must not be stored. */
  isHidden?: boolean;
  logger: Logger;
}) {
  const { callId, liveWords, logger } = p;
  /** Words that were not written yet. */
  const waiting = new Map<Speaker, () => string>();
  const written = new Map<Speaker, InterimWords>();
  let isWatched = false;
  let isClosed = false;
  let isWriting = false;
  let nextAt = 0;
  let timer: NodeJS.Timeout | undefined;

  /** @returns whether there are new words */
  function take(): boolean {
    let isNew = false;
    for (const [speaker, read] of waiting) {
      const text = read().trim().slice(-MAX_TEXT_LENGTH);
      if (text === '' || text === written.get(speaker)?.text) continue;
      written.set(speaker, { speaker, text, afterMs: p.lastTurnMs(speaker) });
      isNew = true;
    }
    waiting.clear();
    return isNew;
  }

  async function write(): Promise<void> {
    timer = undefined;
    if (!take()) return;
    nextAt = performance.now() + WRITE_EVERY_MS;
    isWriting = true;
    try {
      await liveWords.write(callId, [...written.values()]);
    } catch (error) {
      logger.debug({ callId, err: error }, 'interim words not stored');
    } finally {
      isWriting = false;
      schedule();
    }
  }

  function schedule(): void {
    if (!isWatched || isClosed || isWriting || timer !== undefined || waiting.size === 0) return;
    timer = setTimeout(() => void write(), Math.max(0, nextAt - performance.now())).unref();
  }

  function close(): void {
    isClosed = true;
    clearTimeout(timer);
    waiting.clear();
  }

  return {
    isWatched: () => isWatched,

    setWatched(watched: boolean): void {
      isWatched = watched;
      schedule();
    },

    /** @param read returns what the speaker has said since the last turn; called only if the words are written */
    show(speaker: Speaker, read: () => string): void {
      if (isClosed || p.isHidden === true) return;
      waiting.set(speaker, read);
      schedule();
    },

    /** Call this when a turn of the speaker is added to the transcript, which replaces the words. */
    onTurn: (speaker: Speaker) => void waiting.delete(speaker),

    /** Stops writing, because another stream may continue the call. */
    close,

    /** Stops writing and deletes the words, because the call has ended. */
    end(): void {
      close();
      if (!isWatched) return;
      liveWords.remove(callId).catch((error: unknown) => {
        logger.debug({ callId, err: error }, 'interim words not deleted');
      });
    },
  };
}

import type { Logger } from '../../platform/telemetry/logger.js';
import type { LiveWords } from './live-words.js';

/** Interval of the query for all running calls of this process. */
const READ_EVERY_MS = 2_000;

interface WatchedSession {
  /** Called with whether somebody watches the call. */
  setWatched(isWatched: boolean): void;
}

/** Notifies running sessions whether somebody watches their call. Without the database, they keep the last answer. */
export function followWatchedCalls(deps: {
  sessions: ReadonlyMap<string, WatchedSession>;
  liveWords: Pick<LiveWords, 'watchedAmong'>;
  logger: Logger;
  readEveryMs?: number;
}): { close(): void } {
  const { sessions, liveWords, logger } = deps;
  let isReading = false;

  async function read(): Promise<void> {
    if (isReading || sessions.size === 0) return;
    isReading = true;
    try {
      const watched = await liveWords.watchedAmong([...sessions.keys()]);
      for (const [callId, session] of sessions) session.setWatched(watched.has(callId));
    } catch (error) {
      logger.debug({ err: error }, 'watched calls not read');
    } finally {
      isReading = false;
    }
  }

  const timer = setInterval(() => void read(), deps.readEveryMs ?? READ_EVERY_MS);
  return { close: () => clearInterval(timer) };
}

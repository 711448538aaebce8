import type { CallReader } from '../call-reader.js';
import type { Logger } from '../../platform/telemetry/logger.js';

/** Interval of the query that reads the ends of all running calls of this process. */
const READ_EVERY_MS = 5_000;

/** A session that is notified when its call will end. */
export interface EndingListener {
  /**
   * Called with the time at which the call will end, in seconds from the start of its first stream; undefined: no end is
   * known any more.
   */
  endsAfter(seconds: number | undefined): void;
  /** Called when the call has ended although its media stream is still open. */
  callIsOver(): void;
}

export interface EndingWatch {
  close(): void;
}

/**
 * Notifies running sessions when their call has ended, and when the balance or the duration limit will end it. Reads
 * both from the read model. While the database is unavailable, sessions are not notified, and audio continues.
 */
export function watchEndings(deps: {
  sessions: ReadonlyMap<string, EndingListener>;
  calls: Pick<CallReader, 'endings'>;
  logger: Logger;
  readEveryMs?: number;
}): EndingWatch {
  const { sessions, calls, logger } = deps;
  let reading = false;

  async function read(): Promise<void> {
    if (reading || sessions.size === 0) return;
    reading = true;
    try {
      const ends = await calls.endings([...sessions.keys()]);
      for (const [callId, session] of sessions) {
        const end = ends.get(callId);
        if (end === 'over') session.callIsOver();
        else session.endsAfter(end);
      }
    } catch (error) {
      logger.debug({ err: error }, 'call endings not read');
    } finally {
      reading = false;
    }
  }

  const timer = setInterval(() => void read(), deps.readEveryMs ?? READ_EVERY_MS);
  return { close: () => clearInterval(timer) };
}

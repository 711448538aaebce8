import type { CallReader } from '../call-reader.js';
import type { Logger } from '../../platform/telemetry/logger.js';

/** Interval for reading the ends of all live calls: one query per process. */
const READ_EVERY_MS = 5_000;

/** A session that is notified of its end. */
export interface Ending {
  /** In seconds from the start of the call's first stream; undefined: no end is known any more. */
  endsAfter(seconds: number | undefined): void;
  /** The call has ended, although its media stream is still open. */
  callIsOver(): void;
}

export interface EndingWatch {
  close(): void;
}

/**
 * Notifies live sessions when their call is over, or of the end that the balance or the duration limit will force,
 * according to the read model. Sends nothing while the database is unavailable; audio is not affected.
 */
export function watchEndings(deps: {
  sessions: ReadonlyMap<string, Ending>;
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
      logger.debug({ err: error }, 'the ends of live calls could not be read');
    } finally {
      reading = false;
    }
  }

  const timer = setInterval(() => void read(), deps.readEveryMs ?? READ_EVERY_MS);
  return { close: () => clearInterval(timer) };
}

import type { CallReader } from '../call-reader.js';
import type { Logger } from '../../platform/telemetry/logger.js';

/** How often the ends of all live calls are read: one query per process, whatever their number. */
const READ_EVERY_MS = 5_000;

/** A talk that can be told when it will be ended. */
export interface Ending {
  /** In seconds from the start of the stream; undefined: no end is known any more. */
  endsAfter(seconds: number | undefined): void;
  /** The call has ended without the talk: whatever still holds the line is not the call any more. */
  callIsOver(): void;
}

export interface EndingWatch {
  close(): void;
}

/**
 * Tells live talks that their call is over, or the end that money or the duration limit forces, as the read model has it.
 * Off the audio's way: with the database away, nobody is told.
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

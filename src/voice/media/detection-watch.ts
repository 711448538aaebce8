import type { AnsweredBy } from '../../kernel/call-state.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { Logger } from '../../platform/telemetry/logger.js';

/** Short compared with the carrier's two to five seconds: one query per process, and none if no call waits. */
const READ_EVERY_MS = 500;
/** Longer than the carrier's detection, which gives up 30 s after the answer. */
const WATCH_MS = 45_000;

/** A session that wants to know who answered. */
export interface Detected {
  onAnsweredBy(who: AnsweredBy): void;
}

export interface DetectionWatch {
  /** Notifies the session of who answered, if this is known within 45 s. */
  watch(callId: string, talk: Detected): void;
  /** Stops watching for a session that is over; a newer session of the same call is still notified. */
  forget(callId: string, talk: Detected): void;
  close(): void;
}

/**
 * Passes the result of the carrier's answering machine detection to live sessions; an API process stored it in the
 * database on a status callback. If the database is unavailable, the engine relies on its own detection.
 */
export function watchDetections(deps: {
  bindings: Pick<CarrierBindings, 'answeredBy'>;
  logger: Logger;
  readEveryMs?: number;
}): DetectionWatch {
  const { bindings, logger } = deps;
  const waiting = new Map<string, { talk: Detected; until: number }>();
  let reading = false;

  async function read(): Promise<void> {
    if (reading || waiting.size === 0) return;
    reading = true;
    try {
      const known = await bindings.answeredBy([...waiting.keys()]);
      for (const [callId, { talk, until }] of waiting) {
        const who = known.get(callId);
        if (who === undefined && performance.now() < until) continue;
        waiting.delete(callId);
        if (who !== undefined) talk.onAnsweredBy(who);
      }
    } catch (error) {
      logger.debug({ err: error }, 'who answered could not be read');
    } finally {
      reading = false;
    }
  }

  const timer = setInterval(() => void read(), deps.readEveryMs ?? READ_EVERY_MS);
  return {
    watch: (callId, talk) => void waiting.set(callId, { talk, until: performance.now() + WATCH_MS }),
    forget(callId, talk) {
      if (waiting.get(callId)?.talk === talk) waiting.delete(callId);
    },
    close: () => clearInterval(timer),
  };
}

import type { AnsweredBy } from '../../kernel/call-state.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { Logger } from '../../platform/telemetry/logger.js';

/**
 * Interval of the query for the results of all calls of this process that wait for one. It is short compared with the
 * two to five seconds that the carrier needs.
 */
const READ_EVERY_MS = 500;
/** How long a call waits for a result. The carrier's detection gives up earlier, 30 s after the answer. */
const WATCH_MS = 45_000;

/** A session that is notified whether a person or a machine answered. */
export interface DetectionListener {
  onAnsweredBy(who: AnsweredBy): void;
}

export interface DetectionWatch {
  /** Notifies the session whether a person or a machine answered, if the carrier reports it within 45 s. */
  watch(callId: string, session: DetectionListener): void;
  /** Stops notifying a session that has ended. A newer session of the same call is still notified. */
  unwatch(callId: string, session: DetectionListener): void;
  close(): void;
}

/**
 * Passes results of the carrier's answering machine detection to running sessions. API processes store them in the
 * database when status callbacks arrive. If the database is unavailable, the engine relies on its own detection.
 */
export function watchDetections(deps: {
  bindings: Pick<CarrierBindings, 'answeredBy'>;
  logger: Logger;
  readEveryMs?: number;
}): DetectionWatch {
  const { bindings, logger } = deps;
  const waiting = new Map<string, { session: DetectionListener; until: number }>();
  let reading = false;

  async function read(): Promise<void> {
    if (reading || waiting.size === 0) return;
    reading = true;
    try {
      const known = await bindings.answeredBy([...waiting.keys()]);
      for (const [callId, { session, until }] of waiting) {
        const who = known.get(callId);
        if (who === undefined && performance.now() < until) continue;
        waiting.delete(callId);
        if (who !== undefined) session.onAnsweredBy(who);
      }
    } catch (error) {
      logger.debug({ err: error }, 'detection results not read');
    } finally {
      reading = false;
    }
  }

  const timer = setInterval(() => void read(), deps.readEveryMs ?? READ_EVERY_MS);
  return {
    watch: (callId, session) => void waiting.set(callId, { session, until: performance.now() + WATCH_MS }),
    unwatch(callId, session) {
      if (waiting.get(callId)?.session === session) waiting.delete(callId);
    },
    close: () => clearInterval(timer),
  };
}

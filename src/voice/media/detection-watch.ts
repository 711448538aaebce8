import type { AnsweredBy } from '../../kernel/call-state.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { Logger } from '../../platform/telemetry/logger.js';

/** Half a second on the carrier's two to five: one query per process, and none when no call waits. */
const READ_EVERY_MS = 500;
/** The carrier's detection gives up after 30 s from the answer. */
const WATCH_MS = 45_000;

/** A talk that wants to know who answered. */
export interface Detected {
  onAnsweredBy(who: AnsweredBy): void;
}

export interface DetectionWatch {
  /** Tells the talk who answered, if that is found out in the next 45 s. */
  watch(callId: string, talk: Detected): void;
  /** Of a talk that is over; another one of the same call is still told. */
  forget(callId: string, talk: Detected): void;
  close(): void;
}

/**
 * Tells live talks what the carrier's detection of answering machines found, as a callback to some API process left it
 * in the database. Off the audio's way: with the database away, nobody is told and the engine goes by what it hears.
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

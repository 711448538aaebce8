import type { TranscriptTurn } from '../engines/port.js';
import { dtmfInTranscript, isWholeEntry } from './reducer/dtmf.js';
import { SESSION_POLICY } from './reducer/policy.js';

export interface KeyCollector {
  press(key: string): void;
  /** No more keys will come: what was pressed counts as complete. */
  stop(): void;
}

/**
 * Puts keys together that were pressed one after the other: digits up to `#`, and anything up to a pause. What
 * is pressed soon after keys were told waits, and is told with the next ones.
 * @param onKeys all of them, and how long ago the first was pressed, ms
 */
export function collectKeys(onKeys: (keys: string, sinceMs: number) => void): KeyCollector {
  const { pauseMs, minGapMs } = SESSION_POLICY.dtmf;
  let keys = '';
  let firstAt = 0;
  let toldAt = -Infinity;
  let pause: NodeJS.Timeout | undefined;

  function complete(): void {
    clearTimeout(pause);
    const all = keys;
    keys = '';
    if (all === '') return;
    toldAt = performance.now();
    onKeys(all, toldAt - firstAt);
  }

  return {
    press(key) {
      const now = performance.now();
      if (keys === '') firstAt = now;
      keys += key;
      clearTimeout(pause);
      const waitMs = isWholeEntry(keys, SESSION_POLICY.dtmf) ? Math.max(0, toldAt + minGapMs - now) : pauseMs;
      if (waitMs === 0) complete();
      else pause = setTimeout(complete, waitMs);
    },
    stop: complete,
  };
}

/** What keys become in the transcript; times in ms from the start of the stream. */
export function turnOfKeys(keys: string, sinceMs: number, nowMs: number): TranscriptTurn {
  const endMs = Math.round(nowMs);
  return { speaker: 'caller', text: dtmfInTranscript(keys), startMs: Math.round(endMs - sinceMs), endMs };
}

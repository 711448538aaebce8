import type { SessionEvent } from './reducer/events.js';
import type { SessionLog } from './reducer/replay.js';
import type { SessionSetup } from './reducer/state.js';

/** Maximum events recorded: more than an hour of lively conversation. */
const MAX_EVENTS = 20_000;
/** Maximum size of the log in UTF-8, as stored. The document of a call can hold the logs of three streams. */
const MAX_BYTES = 2_000_000;

/** Records the events of one session. They contain personal data: store them only with the call. */
export function createSessionRecorder(setup: SessionSetup) {
  const events: SessionEvent[] = [];
  let bytes = 0;
  let left = 0;

  return {
    record(event: SessionEvent): void {
      bytes += Buffer.byteLength(JSON.stringify(event));
      // A log with a gap cannot be replayed, so stop at the first event that does not fit.
      if (left > 0 || events.length >= MAX_EVENTS || bytes > MAX_BYTES) left += 1;
      else events.push(event);
    },
    log: (): SessionLog => ({ setup, events, left }),
  };
}

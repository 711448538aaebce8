import { createBeepDetector } from '../../audio/beep-detector.js';
import { decodeMulaw } from '../../audio/mulaw.js';

/** People who answer a call say less at once. */
const LONG_GREETING_MS = 6_000;
/** A machine says its greeting at once; later long talk is a person's. */
const GREETING_WITHIN_MS = 3_000;
/** A greeting and a beep are over by then. */
const LISTEN_MS = 45_000;

/** `beep`: it records now. `greeting`: it has said a long greeting, a beep may follow. */
export type MachineSign = 'beep' | 'greeting';

/** Tells an answering machine from a person, by ear, at the beginning of a call that we placed. */
export interface MachineEar {
  /** @param ended the turn of the caller that this frame ended */
  push(frame: Uint8Array, timestampMs: number, ended?: { startMs: number; endMs: number }): MachineSign | undefined;
}

export function createMachineEar(): MachineEar {
  const beeps = createBeepDetector();
  let turns = 0;

  return {
    push(frame, timestampMs, ended) {
      if (timestampMs > LISTEN_MS) return undefined;
      if (beeps.push(decodeMulaw(frame))) return 'beep';
      if (ended === undefined) return undefined;
      turns += 1;
      const isGreeting = turns === 1 && ended.startMs <= GREETING_WITHIN_MS;
      return isGreeting && ended.endMs - ended.startMs >= LONG_GREETING_MS ? 'greeting' : undefined;
    },
  };
}

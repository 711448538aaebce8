import { createBeepDetector } from '../../audio/beep-detector.js';
import { decodeMulaw } from '../../audio/mulaw.js';

/** A first turn of this length is a machine's greeting: people say less when they answer a call. */
const LONG_GREETING_MS = 6_000;
/** A machine's greeting starts within this time. A long turn that starts later is a person's. */
const GREETING_WITHIN_MS = 3_000;
/** How long to listen, in ms. After this time, greeting and beep have ended. */
const LISTEN_MS = 45_000;

/** `beep`: the machine has started to record. `greeting`: it has played a long greeting; a beep may follow. */
export type MachineSign = 'beep' | 'greeting';

/** Answering machine detection from audio at the beginning of an outbound call. */
export interface MachineDetector {
  /** @param ended the caller's turn that this frame ended */
  push(frame: Uint8Array, timestampMs: number, ended?: { startMs: number; endMs: number }): MachineSign | undefined;
}

export function createMachineDetector(): MachineDetector {
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

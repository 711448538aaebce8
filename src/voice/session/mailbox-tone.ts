import { createBeepDetector } from '../audio/beep-detector.js';
import { decodeMulaw } from '../audio/mulaw.js';
import type { VoicemailAction } from '../../kernel/voicemail.js';

/** A greeting and its tone are over by then. */
const LISTEN_MS = 45_000;

/**
 * Listens for the tones of an answering machine, also before anybody knows that there is one.
 * @param action only who leaves a message waits for the tone; for others each frame would be listened to in vain
 */
export function listenForTone(action: VoicemailAction) {
  const beeps = createBeepDetector();
  return {
    /** @returns whether this frame ended a tone */
    hear(frame: Uint8Array, timestampMs: number): boolean {
      if (action !== 'leave_message' || timestampMs > LISTEN_MS) return false;
      return beeps.push(decodeMulaw(frame));
    },
  };
}

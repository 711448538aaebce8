import { createBeepDetector } from '../audio/beep-detector.js';
import { decodeMulaw } from '../audio/mulaw.js';
import type { VoicemailAction } from '../../kernel/conversation/voicemail.js';

/** How long to listen, in ms. After this time, greeting and tone have ended. */
const LISTEN_MS = 45_000;

/**
 * Listens for the tone of an answering machine, even before a machine was detected.
 * @param action tones are detected only for `leave_message`, because no other action needs them
 */
export function createToneDetector(action: VoicemailAction) {
  const beeps = createBeepDetector();
  return {
    /** @returns whether this frame ended a tone */
    push(frame: Uint8Array, timestampMs: number): boolean {
      if (action !== 'leave_message' || timestampMs > LISTEN_MS) return false;
      return beeps.push(decodeMulaw(frame));
    },
  };
}

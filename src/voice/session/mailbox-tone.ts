import { createBeepDetector } from '../audio/beep-detector.js';
import { decodeMulaw } from '../audio/mulaw.js';
import type { VoicemailAction } from '../../kernel/voicemail.js';

/** Detection stops after this time: greeting and tone are over by then. */
const LISTEN_MS = 45_000;

/**
 * Listens for the tone of an answering machine, even before detection has reported one.
 * @param action detects tones only for `leave_message`; other actions need none, so no frames are analyzed
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

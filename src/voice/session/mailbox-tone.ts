import { createBeepDetector } from '../audio/beep-detector.js';
import { decodeMulaw } from '../audio/mulaw.js';
import { SESSION_POLICY } from './reducer/policy.js';
import type { VoicemailAction } from '../../kernel/voicemail.js';

/** A greeting and its tone are over by then. */
const LISTEN_MS = 45_000;

/**
 * Listens for the tone of a mailbox, also before anybody knows that there is one.
 * @param action only who leaves a message waits for the tone; for others each frame would be listened to in vain
 */
export function listenForTone(action: VoicemailAction) {
  const beeps = createBeepDetector();
  let heard = false;
  return {
    /** @returns whether this frame ended the tone */
    hear(frame: Uint8Array, timestampMs: number): boolean {
      if (action !== 'leave_message' || heard || timestampMs > LISTEN_MS) return false;
      heard = beeps.push(decodeMulaw(frame));
      return heard;
    },

    /**
     * How long it must have been quiet for a message to be said, ms.
     * @param saysCarrier the carrier's detection has told of the mailbox: it waits for the end of the greeting and the tone
     */
    quietBeforeMessageMs: (saysCarrier: boolean): number =>
      heard || saysCarrier ? SESSION_POLICY.voicemail.quietAfterToneMs : SESSION_POLICY.voicemail.quietWithoutToneMs,
  };
}

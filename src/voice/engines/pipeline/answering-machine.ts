import { listenForTone } from '../../session/mailbox-tone.js';

/** A machine that does not stop talking is talked over. */
const TONE_PATIENCE_MS = 40_000;

/**
 * What is done about an answering machine that has answered: hang up, or speak when its greeting and its tone are over.
 * It is met once in a call.
 */
export function createAnsweringMachine(p: {
  action: 'hang_up' | 'leave_message' | 'continue';
  now: () => number;
  farEndSpeaks: () => boolean;
  /** The carrier's own detection has told of it. */
  isToldByCarrier: () => boolean;
  /** No turn of the far end's is answered any more. */
  onMet(): void;
  hangUp(): void;
  leaveMessage(): void;
}) {
  const tone = listenForTone(p.action);
  let met = false;
  let waitingSinceMs: number | undefined;
  let lastVoiceMs = 0;

  return {
    meet(): void {
      if (met) return;
      met = true;
      if (p.action === 'continue') return;
      p.onMet();
      if (p.action === 'hang_up') p.hangUp();
      else waitingSinceMs = p.now();
    },
    hear: (frame: Uint8Array, timestampMs: number) => tone.hear(frame, timestampMs),
    wasMet: () => met,
    voice(): void {
      lastVoiceMs = p.now();
    },
    /** To be called a few times a second. */
    tick(): void {
      if (waitingSinceMs === undefined) return;
      const quietMs = p.farEndSpeaks() ? 0 : p.now() - Math.max(lastVoiceMs, waitingSinceMs);
      const isQuiet = quietMs > tone.quietBeforeMessageMs(p.isToldByCarrier());
      if (!isQuiet && p.now() - waitingSinceMs < TONE_PATIENCE_MS) return;
      waitingSinceMs = undefined;
      p.leaveMessage();
    },
  };
}

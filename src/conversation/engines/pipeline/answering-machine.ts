/** The quiet after an answering machine's greeting or its tone. */
const TONE_OVER_MS = 1_000;
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
  /** No turn of the far end's is answered any more. */
  onMet(): void;
  hangUp(): void;
  leaveMessage(): void;
}) {
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
    wasMet: () => met,
    voice(): void {
      lastVoiceMs = p.now();
    },
    /** To be called a few times a second. */
    tick(): void {
      if (waitingSinceMs === undefined) return;
      const isQuiet = !p.farEndSpeaks() && p.now() - Math.max(lastVoiceMs, waitingSinceMs) > TONE_OVER_MS;
      if (!isQuiet && p.now() - waitingSinceMs < TONE_PATIENCE_MS) return;
      waitingSinceMs = undefined;
      p.leaveMessage();
    },
  };
}

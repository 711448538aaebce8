import { decodeMulaw } from '../../audio/mulaw.js';
import type { VoiceActivityDetector } from '../../audio/voice-activity.js';
import type { CallSettings } from './agent-choice.js';

/** The caller speaks while most of the last frames are voice. */
const WINDOW = 5;
const VOTES = 3;

/**
 * How long `semantic_vad` waits at most for a caller who pauses, in ms (`RealtimeAudioInputTurnDetection.eagerness` in the
 * npm package `openai` 7.57.0).
 */
const WAITS_MS = { low: 8_000, medium: 4_000, auto: 4_000, high: 2_000 } as const;

/** The silence after which the provider must have reported the end of a turn, in ms. @param graceMs its delay */
export function silenceInTurnMs({ turnDetection }: Pick<CallSettings, 'turnDetection'>, graceMs: number): number {
  const { type } = turnDetection;
  return graceMs + (type === 'server_vad' ? turnDetection.silenceMs : WAITS_MS[turnDetection.eagerness]);
}

/**
 * Measures with our own voice activity detection how long the caller has been silent in a turn, because only the provider
 * reports the end of turns, and may fail to.
 * @param p.openedAtMs when the provider reported the start of a turn whose end it has not reported; undefined if there is none
 */
export function createTurnWatch(p: {
  detector: VoiceActivityDetector;
  now: () => number;
  openedAtMs: () => number | undefined;
}) {
  let votes: boolean[] = [];
  let heardAtMs = 0;

  return {
    /** @param frame 20 ms of 8 kHz mu-law */
    push(frame: Uint8Array): void {
      if (p.openedAtMs() === undefined) return;
      votes = [...votes, p.detector.isVoice(decodeMulaw(frame))].slice(-WINDOW);
      if (votes.filter(Boolean).length >= VOTES) heardAtMs = p.now();
    },
    /** How long the caller has been silent in the open turn, in ms; 0 if no turn is open. */
    silentMs(): number {
      const openedAtMs = p.openedAtMs();
      return openedAtMs === undefined ? 0 : p.now() - Math.max(openedAtMs, heardAtMs);
    },
    free: () => p.detector.free(),
  };
}

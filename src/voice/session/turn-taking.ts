import { FRAME_MS } from '../audio/frame.js';
import { decodeMulaw } from '../audio/mulaw.js';
import type { VoiceActivityDetector } from '../audio/voice-activity.js';

/**
 * Frames of voice that start a turn (160 ms). VAD keeps reporting voice for 100 ms or more after a sound, so a click of
 * 20 ms looks like 140 ms.
 */
const START_FRAMES = 8;
/** A turn continues while most of the last frames are voice, so that short noises do not keep it open. */
const CONTINUE_VOTES = 3;
const CONTINUE_WINDOW = 5;
/** Default silence after voice that ends the caller's turn, in ms. */
export const END_OF_TURN_MS = 600;

export interface CallerTurn {
  /** In ms from the start of the stream, as is `endMs`. */
  startMs: number;
  endMs: number;
}

export interface TurnUpdate {
  /** How long the caller has been talking in this turn, in ms; 0 while silent. */
  voiceMs: number;
  /** The turn that this frame ended. */
  ended?: CallerTurn;
}

export interface TurnTaking {
  push(frame: Uint8Array, timestampMs: number): TurnUpdate;
  /** Sets the silence that ends a turn, in ms; speech in groups, such as digits, has longer pauses. */
  endTurnAfter(ms: number): void;
  /** Sets how certain voice activity detection must be, from 0 to 1. */
  requireCertainty(threshold: number): void;
  /** The current turn, if it has not ended; used at the end of the call. */
  openTurn(): CallerTurn | undefined;
  free(): void;
}

/** Splits the caller's audio into turns, by the carrier's timestamps, so that lost frames do not stretch a pause. */
export function createTurnTaking(detector: VoiceActivityDetector): TurnTaking {
  let votes: boolean[] = [];
  let turn: CallerTurn | undefined;
  let endOfTurnMs = END_OF_TURN_MS;

  return {
    push(frame, timestampMs) {
      votes = [...votes, detector.isVoice(decodeMulaw(frame))].slice(-START_FRAMES);
      const frameEndMs = timestampMs + FRAME_MS;
      if (turn === undefined) {
        if (votes.length < START_FRAMES || votes.includes(false)) return { voiceMs: 0 };
        turn = { startMs: Math.max(0, frameEndMs - START_FRAMES * FRAME_MS), endMs: frameEndMs };
      } else if (votes.slice(-CONTINUE_WINDOW).filter(Boolean).length >= CONTINUE_VOTES) {
        turn.endMs = frameEndMs;
      } else if (frameEndMs - turn.endMs >= endOfTurnMs) {
        const ended = turn;
        turn = undefined;
        return { voiceMs: 0, ended };
      }
      return { voiceMs: turn.endMs - turn.startMs };
    },
    endTurnAfter(ms) {
      endOfTurnMs = ms;
    },
    requireCertainty: (threshold) => detector.setThreshold(threshold),
    openTurn: () => turn,
    free: () => detector.free(),
  };
}

import { FRAME_MS } from '../audio/frame.js';
import { decodeMulaw } from '../audio/mulaw.js';
import type { VoiceActivityDetector } from '../audio/voice-activity.js';

/**
 * A turn starts with 160 ms of voice: the detector goes on saying voice for 100 ms and more after it, so that a click of
 * 20 ms looks like 140.
 */
const START_FRAMES = 8;
/** It goes on while most of the last frames are voice, so that a breath of noise does not keep it open. */
const CONTINUE_VOTES = 3;
const CONTINUE_WINDOW = 5;
/** Silence after voice that ends the caller's turn, unless another one is set. */
export const END_OF_TURN_MS = 600;

export interface CallerTurn {
  /** Times in ms from the start of the stream. */
  startMs: number;
  endMs: number;
}

export interface TurnUpdate {
  /** How long the caller has been talking in this turn; 0 while silent. */
  voiceMs: number;
  /** The turn that this frame ended. */
  ended?: CallerTurn;
}

export interface TurnTaking {
  push(frame: Uint8Array, timestampMs: number): TurnUpdate;
  /** Silence that ends a turn from now on, in ms: what is said in groups has longer pauses. */
  endTurnAfter(ms: number): void;
  /** A turn that is still open, as it stands; for the end of the call. */
  openTurn(): CallerTurn | undefined;
  free(): void;
}

/** Cuts the caller's audio into turns. Measures by the carrier's timestamps, so that lost frames do not stretch a pause. */
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
    openTurn: () => turn,
    free: () => detector.free(),
  };
}

import { decodeMulaw } from '../audio/mulaw.js';
import type { VoiceActivityDetector } from './voice-activity.js';

const FRAME_MS = 20;
/** A turn starts when this many of the last frames are voice: 80 ms, so that a click is no turn. */
const START_VOTES = 4;
/** It goes on while this many are, so that a breath of noise does not keep it open. */
const CONTINUE_VOTES = 3;
const WINDOW = 5;
/** Silence after voice that ends the caller's turn. */
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
  /** A turn that is still open, as it stands; for the end of the call. */
  openTurn(): CallerTurn | undefined;
  free(): void;
}

/** Cuts the caller's audio into turns. Measures by the carrier's timestamps, so that lost frames do not stretch a pause. */
export function createTurnTaking(detector: VoiceActivityDetector): TurnTaking {
  let votes: boolean[] = [];
  let turn: CallerTurn | undefined;

  return {
    push(frame, timestampMs) {
      votes = [...votes, detector.isVoice(decodeMulaw(frame))].slice(-WINDOW);
      const voiced = votes.filter(Boolean).length;
      const frameEndMs = timestampMs + FRAME_MS;
      if (turn === undefined) {
        if (voiced < START_VOTES) return { voiceMs: 0 };
        turn = { startMs: Math.max(0, frameEndMs - START_VOTES * FRAME_MS), endMs: frameEndMs };
      } else if (voiced >= CONTINUE_VOTES) {
        turn.endMs = frameEndMs;
      } else if (frameEndMs - turn.endMs >= END_OF_TURN_MS) {
        const ended = turn;
        turn = undefined;
        return { voiceMs: 0, ended };
      }
      return { voiceMs: turn.endMs - turn.startMs };
    },
    openTurn: () => turn,
    free: () => detector.free(),
  };
}

import { MULAW_SILENCE } from '../../../audio/mulaw.js';
import type { CallerTurn, TurnTaking } from '../../turn-taking.js';

const FRAME_MS = 20;
const BYTES_PER_MS = 8;
/** What is kept of the line before the first voice and after the last: the recogniser wants some silence around it. */
const BEFORE_MS = 300;
const AFTER_MS = 250;
/** Longer turns are not listened to; of those only so much is kept. */
const KEPT_MS = 21_000;

export interface EndedTurn extends CallerTurn {
  /** All of it with some of the line around it, 8 kHz mu-law. */
  mulaw: Uint8Array;
  /** When its last voice arrived, by our own clock. */
  lastVoiceAtMs: number;
}

export interface Ear {
  /** @returns how long the caller has been talking, and the turn that this frame ended */
  push(frame: Uint8Array, timestampMs: number): { voiceMs: number; ended?: EndedTurn };
  /** A turn that is still open, as it stands. */
  openTurn(): EndedTurn | undefined;
  free(): void;
}

/** The caller's side of the line: cut into turns, with the audio of each. */
export function createEar(deps: { turnTaking: TurnTaking; now: () => number }): Ear {
  const { turnTaking, now } = deps;
  let frames: { frame: Uint8Array; atMs: number }[] = [];
  let voiceMs = 0;
  let lastVoiceAtMs = 0;

  function withAudio(turn: CallerTurn): EndedTurn {
    const fromMs = Math.max(0, turn.startMs - BEFORE_MS);
    const mulaw = new Uint8Array((turn.endMs + AFTER_MS - fromMs) * BYTES_PER_MS).fill(MULAW_SILENCE);
    for (const { frame, atMs } of frames) {
      const at = Math.round((atMs - fromMs) * BYTES_PER_MS);
      if (at >= 0 && at + frame.length <= mulaw.length) mulaw.set(frame, at);
    }
    return { ...turn, mulaw, lastVoiceAtMs };
  }

  function forget(beforeMs: number): void {
    const index = frames.findIndex(({ atMs }) => atMs >= beforeMs);
    if (index > 0) frames = frames.slice(index);
  }

  return {
    push(frame, timestampMs) {
      frames.push({ frame, atMs: timestampMs });
      const update = turnTaking.push(frame, timestampMs);
      if (update.voiceMs > voiceMs) lastVoiceAtMs = now();
      voiceMs = update.voiceMs;
      const ended = update.ended && withAudio(update.ended);
      const openSinceMs = turnTaking.openTurn()?.startMs ?? timestampMs;
      // What the detector still has to make up its mind about may be the beginning of a turn.
      forget(Math.max(openSinceMs - BEFORE_MS - FRAME_MS * 20, timestampMs - KEPT_MS));
      return ended === undefined ? { voiceMs } : { voiceMs, ended };
    },
    openTurn() {
      const turn = turnTaking.openTurn();
      return turn && withAudio(turn);
    },
    free: () => turnTaking.free(),
  };
}

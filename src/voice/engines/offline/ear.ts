import { FRAME_MS } from '../../audio/frame.js';
import { MULAW_SILENCE } from '../../audio/mulaw.js';
import type { CallerTurn, TurnTaking } from '../../session/turn-taking.js';

const BYTES_PER_MS = 8;
/** What is kept of the line before the first voice and after the last: the recogniser wants some silence around it. */
const BEFORE_MS = 300;
const AFTER_MS = 250;
/** After so much silence a turn is probably over; what follows is waited for, but need not be waited for idly. */
const PROBABLY_OVER_MS = 300;
/** Longer turns are not listened to; of those only so much is kept. */
const KEPT_MS = 21_000;

export interface EndedTurn extends CallerTurn {
  /** All of it with some of the line around it, 8 kHz mu-law. */
  mulaw: Uint8Array;
  /** When its last voice arrived, by our own clock. */
  lastVoiceAtMs: number;
}

export interface Ear {
  /**
   * @returns how long the caller has been talking, the turn that this frame ended, and the turn that is probably over:
   * told once for each pause, before it ends
   */
  push(frame: Uint8Array, timestampMs: number): { voiceMs: number; ended?: EndedTurn; pausing?: EndedTurn };
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
  /** The last voice before the pause that was told of. */
  let toldOfMs: number | undefined;

  function withAudio(turn: CallerTurn): EndedTurn {
    const fromMs = Math.max(0, turn.startMs - BEFORE_MS);
    const mulaw = new Uint8Array((turn.endMs + AFTER_MS - fromMs) * BYTES_PER_MS).fill(MULAW_SILENCE);
    for (const { frame, atMs } of frames) {
      const at = Math.round((atMs - fromMs) * BYTES_PER_MS);
      if (at >= 0 && at + frame.length <= mulaw.length) mulaw.set(frame, at);
    }
    return { ...turn, mulaw, lastVoiceAtMs };
  }

  function pausingAt(frameEndMs: number): EndedTurn | undefined {
    const turn = turnTaking.openTurn();
    if (turn === undefined || turn.endMs === toldOfMs || frameEndMs - turn.endMs < PROBABLY_OVER_MS) return undefined;
    toldOfMs = turn.endMs;
    return withAudio(turn);
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
      if (ended !== undefined) return { voiceMs, ended };
      const pausing = pausingAt(timestampMs + FRAME_MS);
      return pausing === undefined ? { voiceMs } : { voiceMs, pausing };
    },
    openTurn() {
      const turn = turnTaking.openTurn();
      return turn && withAudio(turn);
    },
    free: () => turnTaking.free(),
  };
}

import { FRAME_MS } from '../../audio/frame.js';
import { MULAW_SILENCE } from '../../audio/mulaw.js';
import type { CallerTurn, TurnTaking } from '../../session/turn-taking.js';

const BYTES_PER_MS = 8;
/** Audio kept before the first and after the last voice, because recognition needs some silence around speech. */
const BEFORE_MS = 300;
const AFTER_MS = 250;
/** After this much silence a turn has probably ended, so recognition starts before the end is certain. */
const PROBABLY_OVER_MS = 300;
/** Maximum audio kept of one turn, in ms. Longer turns are not recognized. */
const KEPT_MS = 21_000;

export interface EndedTurn extends CallerTurn {
  /** The turn with some of the audio around it, 8 kHz mu-law. */
  mulaw: Uint8Array;
  /** When the turn's last voice arrived, on the local clock (`now`). */
  lastVoiceAtMs: number;
}

export interface TurnSplitter {
  /**
   * @returns the length of the caller's voice so far in ms; the turn that this frame ended; and the turn that has
   *   probably ended, reported once per pause
   */
  push(frame: Uint8Array, timestampMs: number): { voiceMs: number; ended?: EndedTurn; probablyEnded?: EndedTurn };
  /** The current turn, if the caller has not finished it. */
  openTurn(): EndedTurn | undefined;
  free(): void;
}

/** Splits the caller's audio into turns, each with its audio. */
export function createTurnSplitter(deps: { turnTaking: TurnTaking; now: () => number }): TurnSplitter {
  const { turnTaking, now } = deps;
  let frames: { frame: Uint8Array; atMs: number }[] = [];
  let voiceMs = 0;
  let lastVoiceAtMs = 0;
  /** End of the last voice before the most recently reported pause. */
  let reportedEndMs: number | undefined;

  function withAudio(turn: CallerTurn): EndedTurn {
    const fromMs = Math.max(0, turn.startMs - BEFORE_MS);
    const mulaw = new Uint8Array((turn.endMs + AFTER_MS - fromMs) * BYTES_PER_MS).fill(MULAW_SILENCE);
    for (const { frame, atMs } of frames) {
      const at = Math.round((atMs - fromMs) * BYTES_PER_MS);
      if (at >= 0 && at + frame.length <= mulaw.length) mulaw.set(frame, at);
    }
    return { ...turn, mulaw, lastVoiceAtMs };
  }

  function probableEndAt(frameEndMs: number): EndedTurn | undefined {
    const turn = turnTaking.openTurn();
    if (turn === undefined || turn.endMs === reportedEndMs || frameEndMs - turn.endMs < PROBABLY_OVER_MS)
      return undefined;
    reportedEndMs = turn.endMs;
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
      // Keep 400 ms more, because VAD may still decide that a turn began in that time.
      forget(Math.max(openSinceMs - BEFORE_MS - FRAME_MS * 20, timestampMs - KEPT_MS));
      if (ended !== undefined) return { voiceMs, ended };
      const probablyEnded = probableEndAt(timestampMs + FRAME_MS);
      return probablyEnded === undefined ? { voiceMs } : { voiceMs, probablyEnded };
    },
    openTurn() {
      const turn = turnTaking.openTurn();
      return turn && withAudio(turn);
    },
    free: () => turnTaking.free(),
  };
}

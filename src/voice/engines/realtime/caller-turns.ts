import { FRAME_MS } from '../../audio/frame.js';
import type { SessionHappening } from '../../session/reducer/events.js';

/** Stands for words that were not transcribed. */
const NOT_TRANSCRIBED = '(speech)';

interface Turn {
  startMs: number;
  endMs?: number;
}

/**
 * The caller's turns: the provider tells their times by the audio it was given, their words later and in any order. Both
 * become events, in stream time.
 */
export function createProviderTurns(happened: (what: SessionHappening) => void) {
  const turns = new Map<string, Turn>();
  /** Where audio given to the provider stood on the stream: from this ms of it, so much later. */
  let shifts: { fromMs: number; byMs: number }[] = [];
  let givenMs = 0;

  function onStream(audioMs: number): number {
    const shift = shifts.findLast(({ fromMs }) => fromMs <= audioMs) ?? shifts[0];
    return audioMs + (shift?.byMs ?? 0);
  }

  function tell(itemId: string, text: string): void {
    const turn = turns.get(itemId);
    turns.delete(itemId);
    if (turn === undefined || text.trim() === '') return;
    const endMs = Math.max(turn.startMs + FRAME_MS, turn.endMs ?? onStream(givenMs));
    const times = { startMs: Math.round(turn.startMs), endMs: Math.round(endMs) };
    happened({ type: 'turn_words', text: text.trim(), ...times });
  }

  return {
    /** A frame was handed to the provider. */
    gave(timestampMs: number): void {
      const byMs = timestampMs - givenMs;
      if (shifts.at(-1)?.byMs !== byMs) shifts.push({ fromMs: givenMs, byMs });
      givenMs += FRAME_MS;
    },

    /** Another session counts its audio from nothing; turns whose words are missing will not get them. */
    begin(): void {
      for (const itemId of turns.keys()) tell(itemId, NOT_TRANSCRIBED);
      shifts = [];
      givenMs = 0;
    },

    /** @param audioMs of the audio given, without what the provider keeps before the speech */
    started(itemId: string, audioMs: number): void {
      const startMs = Math.max(0, onStream(audioMs));
      turns.set(itemId, { startMs });
      happened({ type: 'voice_started', startMs, streamMs: Math.max(startMs, onStream(givenMs)) });
    },

    /** @param audioMs of the audio given, without the silence that ended it */
    stopped(itemId: string, audioMs: number): void {
      const endMs = onStream(audioMs);
      const turn = turns.get(itemId);
      if (turn !== undefined) turn.endMs = Math.max(turn.startMs, endMs);
      happened({ type: 'turn_over', endMs });
    },

    heard: tell,
    notHeard: (itemId: string) => tell(itemId, NOT_TRANSCRIBED),
    /** Whether there are turns whose words have not come. */
    isWaiting: () => turns.size > 0,

    /** The call is over: what has no words will not get any. */
    finish(): void {
      for (const itemId of turns.keys()) tell(itemId, NOT_TRANSCRIBED);
    },
  };
}

export type ProviderTurns = ReturnType<typeof createProviderTurns>;

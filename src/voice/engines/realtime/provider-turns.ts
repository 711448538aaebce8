import { FRAME_MS } from '../../audio/frame.js';
import type { SessionEventBody } from '../../session/reducer/events.js';

/** Transcript text for speech that was not transcribed. */
const NOT_TRANSCRIBED = '(speech)';
/** Longest part of a transcript that is shown before the whole one arrives. */
const MAX_PART_LENGTH = 10_000;
/** Maximum differences that are stored: with one for each frame, those of the last 20 s. */
const MAX_SHIFTS = 1_000;

interface Turn {
  startMs: number;
  endMs?: number;
  /** Whether the provider has made the turn's audio an item of the conversation. */
  isCommitted?: boolean;
  /** The part of the transcript that has arrived. */
  part?: string;
}

/**
 * Converts the provider's turns to session events in stream time. The provider reports the times of turns relative to
 * the audio it received. Transcripts arrive later and in any order.
 */
export function createProviderTurns(dispatch: (what: SessionEventBody) => void) {
  const turns = new Map<string, Turn>();
  /** Differences between the provider's audio time and stream time: from audio time `fromMs` on, add `byMs`. */
  let shifts: { fromMs: number; byMs: number }[] = [];
  let givenMs = 0;
  let transcribed = true;

  function onStream(audioMs: number): number {
    const shift = shifts.findLast(({ fromMs }) => fromMs <= audioMs) ?? shifts[0];
    return audioMs + (shift?.byMs ?? 0);
  }

  function emitTurn(itemId: string, text: string): void {
    const turn = turns.get(itemId);
    turns.delete(itemId);
    if (turn === undefined || text.trim() === '') return;
    const endMs = Math.max(turn.startMs + FRAME_MS, turn.endMs ?? onStream(givenMs));
    const times = { startMs: Math.round(turn.startMs), endMs: Math.round(endMs) };
    dispatch({ type: 'turn_words', text: text.trim(), ...times });
  }

  return {
    /** Records that a frame was sent to the provider. */
    onFrameSent(timestampMs: number): void {
      const byMs = timestampMs - givenMs;
      if (shifts.at(-1)?.byMs !== byMs) shifts.push({ fromMs: givenMs, byMs });
      if (shifts.length > MAX_SHIFTS) shifts.shift();
      givenMs += FRAME_MS;
    },

    /** Call this when a new provider session starts: audio time restarts at 0, and earlier turns get no transcript. */
    begin(): void {
      for (const itemId of turns.keys()) emitTurn(itemId, NOT_TRANSCRIBED);
      shifts = [];
      givenMs = 0;
    },

    /** @param audioMs position in the sent audio, without the prefix that the provider keeps before speech */
    started(itemId: string, audioMs: number): void {
      const startMs = Math.max(0, onStream(audioMs));
      turns.set(itemId, { startMs });
      dispatch({ type: 'voice_started', startMs, streamMs: Math.max(startMs, onStream(givenMs)) });
    },

    /** @param audioMs position in the sent audio, without the silence that ended the turn */
    stopped(itemId: string, audioMs: number): void {
      const endMs = onStream(audioMs);
      const turn = turns.get(itemId);
      if (turn !== undefined) turn.endMs = Math.max(turn.startMs, endMs);
      dispatch({ type: 'turn_over', endMs });
      if (!transcribed) emitTurn(itemId, NOT_TRANSCRIBED);
    },

    /** Call this when the provider will not transcribe the turns. */
    expectNoTranscripts: () => void (transcribed = false),

    /**
     * The provider made the audio of a turn an item of the conversation. If we requested this before it detected the end
     * of the turn, the item may have another id than the one announced when the turn started.
     */
    committed(itemId: string): void {
      const announced = [...turns].findLast(([, { isCommitted }]) => isCommitted !== true)?.[0] ?? itemId;
      const id = turns.has(itemId) ? itemId : announced;
      const turn = turns.get(id);
      if (turn === undefined) return;
      turn.isCommitted = true;
      if (id === itemId) return;
      turns.delete(id);
      turns.set(itemId, turn);
    },

    /** @returns the transcript of the turn so far; empty if the turn is unknown */
    onTranscriptPart(itemId: string, words: string): string {
      const turn = turns.get(itemId);
      if (turn === undefined) return '';
      turn.part = `${turn.part ?? ''}${words}`.slice(0, MAX_PART_LENGTH);
      return turn.part;
    },

    onTranscript: emitTurn,
    onTranscriptionFailed: (itemId: string) => emitTurn(itemId, NOT_TRANSCRIBED),
    /** Whether transcripts are missing. */
    isWaiting: () => transcribed && turns.size > 0,

    /** Call this at the end of the call. Turns without a transcript are marked as not transcribed. */
    finish(): void {
      for (const itemId of turns.keys()) emitTurn(itemId, NOT_TRANSCRIBED);
    },
  };
}

export type ProviderTurns = ReturnType<typeof createProviderTurns>;

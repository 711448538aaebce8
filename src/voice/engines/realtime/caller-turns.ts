import { setTimeout as sleep } from 'node:timers/promises';
import type { TranscriptTurn } from '../port.js';

/** Stands for words that were not transcribed. */
const NOT_TRANSCRIBED = '(speech)';
const FRAME_MS = 20;

interface Turn {
  startMs: number;
  endMs?: number;
  ended: boolean;
}

/**
 * The caller's turns: the provider tells their times by the audio it was given, their words later and in any order. Each
 * becomes a turn of the transcript once both are known.
 */
export function createProviderTurns(onTurn: (turn: TranscriptTurn) => void) {
  const turns = new Map<string, Turn>();
  /** Where audio given to the provider stood on the stream: from this ms of it, so much later. */
  let shifts: { fromMs: number; byMs: number }[] = [];
  let givenMs = 0;
  let told = 0;

  function onStream(audioMs: number): number {
    const shift = shifts.findLast(({ fromMs }) => fromMs <= audioMs) ?? shifts[0];
    return audioMs + (shift?.byMs ?? 0);
  }

  function tell(itemId: string, text: string): void {
    const turn = turns.get(itemId);
    turns.delete(itemId);
    if (turn === undefined || text.trim() === '') return;
    told += 1;
    const endMs = Math.max(turn.startMs + FRAME_MS, turn.endMs ?? onStream(givenMs));
    onTurn({ speaker: 'caller', text: text.trim(), startMs: Math.round(turn.startMs), endMs: Math.round(endMs) });
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
      turns.set(itemId, { startMs: Math.max(0, onStream(audioMs)), ended: false });
    },

    /**
     * @param audioMs of the audio given, without the silence that ended it
     * @returns when the last word ended, ms of the stream
     */
    stopped(itemId: string, audioMs: number): number {
      const endMs = onStream(audioMs);
      const turn = turns.get(itemId);
      if (turn !== undefined) {
        turn.endMs = Math.max(turn.startMs, endMs);
        turn.ended = true;
      }
      return endMs;
    },

    heard: tell,
    notHeard: (itemId: string) => tell(itemId, NOT_TRANSCRIBED),
    /** Resolves when the words of all turns have come, after `ms`, or when none will come any more. */
    async allHeard(ms: number, mayCome: () => boolean): Promise<void> {
      const until = performance.now() + ms;
      while (mayCome() && turns.size > 0 && performance.now() < until) await sleep(20);
    },
    /** A turn that goes on. */
    isOpen: () => Array.from(turns.values()).some(({ ended }) => !ended),
    /** How many turns have been told. */
    told: () => told,

    /** The call is over: what has no words will not get any. */
    finish(): void {
      for (const itemId of turns.keys()) tell(itemId, NOT_TRANSCRIBED);
    },
  };
}

export type ProviderTurns = ReturnType<typeof createProviderTurns>;

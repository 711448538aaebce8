import type { TranscriptTurn } from '../engines/port.js';
import type { StoredTurn } from './model.js';
import type { Redactor } from './redactor.js';

/** Maximum turns of a call: more than people say in four hours, the longest call, but small enough for a document. */
const MAX_TURNS = 20_000;
const MAX_TEXT_BYTES = 2 * 1_024 * 1_024;
/** People dictate a number in parts, and hear a word of the agent between them. */
const MAX_TURNS_OF_NUMBER = 6;
const CUT = '(The transcript is cut here: it is too long to be stored.)';

export type TurnLog = ReturnType<typeof createTurnLog>;

/**
 * The turns of a call in conversation order, as many as a document can store.
 * @param offsetMs start of this stream, in ms from the start of the call's first stream
 * @param before the turns of earlier streams
 * @param redactor changes the words that are stored; by default they stay as they are
 */
export function createTurnLog(offsetMs: number, before: readonly StoredTurn[], redactor?: Redactor) {
  let earlier = before;
  const own: StoredTurn[] = [];
  let ownBytes = 0;
  let earlierBytes = bytesOf(before);
  /** Turns of earlier streams in which a number began that this stream completed. */
  const changedEarlier = new Map<number, { before: string; after: StoredTurn }>();
  let isCut = before.at(-1)?.text === CUT;

  const turnAt = (index: number) => (index < earlier.length ? earlier[index] : own[index - earlier.length]);

  /** The positions of the last turns of a speaker, in order, also in earlier streams. */
  function lastTurnsOf(speaker: StoredTurn['speaker']): number[] {
    const found: number[] = [];
    for (let index = earlier.length + own.length - 1; index >= 0 && found.length < MAX_TURNS_OF_NUMBER; index--) {
      if (turnAt(index)?.speaker === speaker) found.unshift(index);
    }
    return found;
  }

  /**
   * Returns the words of a turn as they are stored. Changes earlier turns of the speaker if a number began in them; they are
   * stored again.
   */
  function redacted(speaker: StoredTurn['speaker'], text: string): string {
    if (redactor === undefined) return text;
    const indexes = lastTurnsOf(speaker);
    const texts = redactor.redactTurns([...indexes.map((index) => turnAt(index)?.text ?? ''), text]);
    for (const [n, index] of indexes.entries()) {
      const [turn, stored = ''] = [turnAt(index), texts[n]];
      if (turn !== undefined && turn.text !== stored) replace(index, { ...turn, text: stored });
    }
    return texts.at(-1) ?? '';
  }

  function replace(index: number, turn: StoredTurn): void {
    if (index >= earlier.length) {
      own[index - earlier.length] = turn;
      return;
    }
    const before = changedEarlier.get(index)?.before ?? earlier[index]?.text ?? '';
    changedEarlier.set(index, { before, after: turn });
    earlier = earlier.with(index, turn);
  }

  return {
    /**
     * Adds a turn as a single line of text, so that its text cannot look like another speaker's line in a transcript.
     */
    add({ speaker, text: said, startMs, endMs }: TranscriptTurn): void {
      if (isCut) return;
      const text = redacted(speaker, said.replace(/\s+/g, ' ').trim());
      const bytes = Buffer.byteLength(text);
      isCut = earlier.length + own.length >= MAX_TURNS || earlierBytes + ownBytes + bytes > MAX_TEXT_BYTES;
      const turn = { startMs: startMs + offsetMs, endMs: endMs + offsetMs };
      if (isCut) {
        // Place the notice that the transcript is cut after all turns stored so far.
        const lastMs = Math.max(turn.startMs, own.at(-1)?.startMs ?? 0);
        own.push({ speaker: 'agent', text: CUT, startMs: lastMs, endMs: lastMs });
        return;
      }
      ownBytes += bytes;
      insert(own, { speaker, text, ...turn });
    },

    /**
     * Replaces the turns of earlier streams, because the previous stream may have written more since they were read.
     */
    replaceEarlier(turns: readonly StoredTurn[]): void {
      earlier = turns.map((turn, index) => {
        const changed = changedEarlier.get(index);
        return changed !== undefined && changed.before === turn.text ? changed.after : turn;
      });
      earlierBytes = bytesOf(turns);
    },

    /** All turns in order. Unchanged turns stay the same objects, as `changedItems` requires. */
    all: (): StoredTurn[] => [...earlier, ...own],
  };
}

/** Inserts a turn by start time; most arrive in order. */
function insert(turns: StoredTurn[], turn: StoredTurn): void {
  let at = turns.length;
  while (at > 0 && (turns[at - 1]?.startMs ?? 0) > turn.startMs) at -= 1;
  turns.splice(at, 0, turn);
}

function bytesOf(turns: readonly StoredTurn[]): number {
  return turns.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
}

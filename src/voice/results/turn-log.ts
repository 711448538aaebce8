import type { TranscriptTurn } from '../engines/port.js';
import type { StoredTurn } from './model.js';

/** More than people say in four hours, the longest call, and little enough for a document. */
const MAX_TURNS = 20_000;
const MAX_TEXT_BYTES = 2 * 1_024 * 1_024;
const CUT = '(The transcript is cut here: it is too long to be stored.)';

export type TurnLog = ReturnType<typeof createTurnLog>;

/**
 * The turns of a call in the order of the talk, as many as can be stored.
 * @param offsetMs when this stream started, in ms from the start of the call's first one
 * @param before the turns of the streams before this one
 */
export function createTurnLog(offsetMs: number, before: readonly StoredTurn[]) {
  let earlier = before;
  const own: StoredTurn[] = [];
  let ownBytes = 0;
  let earlierBytes = bytesOf(before);
  let isCut = before.at(-1)?.text === CUT;

  return {
    /** Its text becomes one line: no line of a transcript may pass for another speaker's. */
    add({ speaker, text: said, startMs, endMs }: TranscriptTurn): void {
      if (isCut) return;
      const text = said.replace(/\s+/g, ' ').trim();
      const bytes = Buffer.byteLength(text);
      isCut = earlier.length + own.length >= MAX_TURNS || earlierBytes + ownBytes + bytes > MAX_TEXT_BYTES;
      const turn = { startMs: startMs + offsetMs, endMs: endMs + offsetMs };
      if (isCut) {
        // Behind whatever started later than this one.
        const lastMs = Math.max(turn.startMs, own.at(-1)?.startMs ?? 0);
        own.push({ speaker: 'agent', text: CUT, startMs: lastMs, endMs: lastMs });
        return;
      }
      ownBytes += bytes;
      insert(own, { speaker, text, ...turn });
    },

    /** What the stream before wrote since it was read. */
    replaceEarlier(turns: readonly StoredTurn[]): void {
      earlier = turns;
      earlierBytes = bytesOf(turns);
    },

    /** A turn stays the same object as long as it stays the same. */
    all: (): StoredTurn[] => [...earlier, ...own],
  };
}

/** Most come in order; one that comes late is put in its place. */
function insert(turns: StoredTurn[], turn: StoredTurn): void {
  let at = turns.length;
  while (at > 0 && (turns[at - 1]?.startMs ?? 0) > turn.startMs) at -= 1;
  turns.splice(at, 0, turn);
}

function bytesOf(turns: readonly StoredTurn[]): number {
  return turns.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
}

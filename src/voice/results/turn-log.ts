import type { TranscriptTurn } from '../engines/port.js';
import type { StoredTurn } from './model.js';

/** Maximum turns of a call: more than people say in four hours, the longest call, but small enough for a document. */
const MAX_TURNS = 20_000;
const MAX_TEXT_BYTES = 2 * 1_024 * 1_024;
const CUT = '(The transcript is cut here: it is too long to be stored.)';

export type TurnLog = ReturnType<typeof createTurnLog>;

/**
 * The turns of a call in conversation order, as many as a document can store.
 * @param offsetMs start of this stream, in ms from the start of the call's first stream
 * @param before the turns of earlier streams
 */
export function createTurnLog(offsetMs: number, before: readonly StoredTurn[]) {
  let earlier = before;
  const own: StoredTurn[] = [];
  let ownBytes = 0;
  let earlierBytes = bytesOf(before);
  let isCut = before.at(-1)?.text === CUT;

  return {
    /**
     * Adds a turn as a single line of text, so that its text cannot look like another speaker's line in a transcript.
     */
    add({ speaker, text: said, startMs, endMs }: TranscriptTurn): void {
      if (isCut) return;
      const text = said.replace(/\s+/g, ' ').trim();
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
      earlier = turns;
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

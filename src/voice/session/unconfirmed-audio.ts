import { FRAME_BYTES, FRAME_MS } from '../audio/frame.js';

/** Frames between two marks (200 ms). The carrier returns each mark when it has played the audio before it. */
const FRAMES_PER_MARK = 10;

/** Audio between two marks. */
interface Section {
  mark: string;
  itemId: string;
  audio: SentAudio;
  playedMs: number;
  complete: boolean;
}

/**
 * Sent frames in one block of memory, which is reused. Frames wait long for their mark, so separate buffers would move
 * to the old generation of the heap, where garbage collection delays all calls of the process.
 */
interface SentAudio {
  bytes: Uint8Array;
  frames: number;
  /** The first frame, and each frame that follows a gap in the audio. */
  starts: { frame: number; atMs: number }[];
}

/** Receives whole consecutive frames and the time of the first one. The memory is reused after the call returns. */
export type OnAudioPlayed = (mulaw: Uint8Array, atMs: number) => void;

/** Tracks frames sent to the carrier that no mark has confirmed as played. */
export function createUnconfirmedAudio(onAudioPlayed: OnAudioPlayed) {
  /** Sections of audio, each with a mark that was sent and has not returned, oldest first. */
  let sections: Section[] = [];
  const spare: SentAudio[] = [];
  let open = noAudio();
  let markCount = 0;

  function recycle(audio: SentAudio): void {
    spare.push(Object.assign(audio, { frames: 0, starts: [] }));
  }

  function reportPlayed({ bytes, frames, starts }: SentAudio): void {
    for (const [index, { frame, atMs }] of starts.entries()) {
      const end = starts[index + 1]?.frame ?? frames;
      onAudioPlayed(bytes.subarray(frame * FRAME_BYTES, end * FRAME_BYTES), atMs);
    }
  }

  return {
    /** Buffer for the next frame. */
    nextFrame(): Uint8Array {
      const at = open.frames * FRAME_BYTES;
      return open.bytes.subarray(at, at + FRAME_BYTES);
    },

    /** Records that the next frame was sent, to be played at `atMs`. @returns whether a mark is due after it */
    sent(atMs: number): boolean {
      const last = open.starts.at(-1);
      const follows = last !== undefined && last.atMs + (open.frames - last.frame) * FRAME_MS === atMs;
      if (!follows) open.starts.push({ frame: open.frames, atMs });
      open.frames += 1;
      return open.frames >= FRAMES_PER_MARK;
    },

    /**
     * Ends the audio since the last mark with a new mark. When the new mark returns, `playedMs` of the item were
     * played. @returns the mark's name
     */
    mark(itemId: string, playedMs: number, complete: boolean): string {
      markCount += 1;
      const mark = `m${markCount}`;
      sections.push({ mark, itemId, audio: open, playedMs, complete });
      open = spare.pop() ?? noAudio();
      return mark;
    },

    /** Handles a returned mark. @param tell called for each section of audio up to the mark, in order */
    confirm(mark: string, tell: (section: Pick<Section, 'itemId' | 'playedMs' | 'complete'>) => void): void {
      const index = sections.findIndex((section) => section.mark === mark);
      if (index < 0) return;
      for (const section of sections.splice(0, index + 1)) {
        reportPlayed(section.audio);
        recycle(section.audio);
        tell(section);
      }
    },

    /** Forgets all unconfirmed audio, because the carrier's buffer was cleared. */
    forget(): void {
      for (const { audio } of sections) recycle(audio);
      recycle(open);
      sections = [];
      open = spare.pop() ?? noAudio();
    },

    /** Ids of items with unconfirmed marks. */
    itemIds: () => sections.map(({ itemId }) => itemId),
    isEmpty: () => sections.length === 0,
  };
}

function noAudio(): SentAudio {
  return { bytes: new Uint8Array(FRAMES_PER_MARK * FRAME_BYTES), frames: 0, starts: [] };
}

import { FRAME_BYTES, FRAME_MS } from '../audio/frame.js';

/** A mark after every 200 ms of audio tells how far the far end has come. */
const FRAMES_PER_MARK = 10;

/** What stands between two marks on the line. */
interface Section {
  mark: string;
  itemId: string;
  audio: SentAudio;
  playedMs: number;
  complete: boolean;
}

/**
 * Frames on their way, in one piece of memory: they wait for their mark so long that a new piece for each would be
 * carried to the old part of the heap, and collecting garbage there holds up all calls of the process.
 */
interface SentAudio {
  bytes: Uint8Array;
  frames: number;
  /** Where frames begin that do not follow the one before them on the line: the first, and those after a pause. */
  starts: { frame: number; atMs: number }[];
}

/** Whole frames, one behind the other, and where the first stood on the line. Of use only until this returns. */
export type OnAudioPlayed = (mulaw: Uint8Array, atMs: number) => void;

/** What the carrier was sent and has not proven played: the frames since each mark. */
export function createAudioOnTheWay(onAudioPlayed: OnAudioPlayed) {
  /** Marked and not echoed yet, oldest first. */
  let sections: Section[] = [];
  const spare: SentAudio[] = [];
  let open = noAudio();
  let markCount = 0;

  function recycle(audio: SentAudio): void {
    spare.push(Object.assign(audio, { frames: 0, starts: [] }));
  }

  function tellPlayed({ bytes, frames, starts }: SentAudio): void {
    for (const [index, { frame, atMs }] of starts.entries()) {
      const end = starts[index + 1]?.frame ?? frames;
      onAudioPlayed(bytes.subarray(frame * FRAME_BYTES, end * FRAME_BYTES), atMs);
    }
  }

  return {
    /** Where the next frame is to be written. */
    nextFrame(): Uint8Array {
      const at = open.frames * FRAME_BYTES;
      return open.bytes.subarray(at, at + FRAME_BYTES);
    },

    /** The next frame was sent, to be played at this time. @returns whether a mark is due behind it */
    sent(atMs: number): boolean {
      const last = open.starts.at(-1);
      const follows = last !== undefined && last.atMs + (open.frames - last.frame) * FRAME_MS === atMs;
      if (!follows) open.starts.push({ frame: open.frames, atMs });
      open.frames += 1;
      return open.frames >= FRAMES_PER_MARK;
    },

    /** @returns the name of the mark behind what was sent so far: this much of an item */
    mark(itemId: string, playedMs: number, complete: boolean): string {
      markCount += 1;
      const mark = `m${markCount}`;
      sections.push({ mark, itemId, audio: open, playedMs, complete });
      open = spare.pop() ?? noAudio();
      return mark;
    },

    /** A mark came back. @param tell is told of each section up to it, in order */
    proven(mark: string, tell: (section: Pick<Section, 'itemId' | 'playedMs' | 'complete'>) => void): void {
      const index = sections.findIndex((section) => section.mark === mark);
      if (index < 0) return;
      for (const section of sections.splice(0, index + 1)) {
        tellPlayed(section.audio);
        recycle(section.audio);
        tell(section);
      }
    },

    /** Nothing of it will be proven any more. */
    forget(): void {
      for (const { audio } of sections) recycle(audio);
      recycle(open);
      sections = [];
      open = spare.pop() ?? noAudio();
    },

    /** Items with a mark that has not come back. */
    itemIds: () => sections.map(({ itemId }) => itemId),
    isEmpty: () => sections.length === 0,
  };
}

function noAudio(): SentAudio {
  return { bytes: new Uint8Array(FRAMES_PER_MARK * FRAME_BYTES), frames: 0, starts: [] };
}

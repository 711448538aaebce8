import { FRAME_BYTES, FRAME_MS } from '../audio/frame.js';
import { MULAW_SILENCE } from '../audio/mulaw.js';

/** Audio is handed to the carrier up to this much ahead: enough for jitter, little to throw away on a barge-in. */
const LEAD_MS = 360;
/** A mark after every 200 ms of audio tells how far the far end has come. */
const FRAMES_PER_MARK = 10;

/** What playback may send to the carrier. */
export interface PlaybackLine {
  /** @param frame of use only until this returns: its memory is used again */
  media(frame: Uint8Array): void;
  mark(name: string): void;
  clear(): void;
}

export interface PlaybackDeps {
  line: PlaybackLine;
  /** Ms since the start of the stream, from a clock that never steps. */
  now: () => number;
  /** How much of an item was heard, in ms; `complete` when all of it was. */
  onPlayed: (itemId: string, playedMs: number, complete: boolean) => void;
  /**
   * Whole frames, one behind the other, that the carrier has proven played, and where the first stood on the line. Of use
   * only until this returns: their memory is used again.
   */
  onAudioPlayed: (mulaw: Uint8Array, atMs: number) => void;
}

interface Item {
  id: string;
  waiting: Uint8Array[];
  /** Bytes of the first of them that are on their way. */
  takenOfFirst: number;
  waitingBytes: number;
  sentMs: number;
  ended: boolean;
}

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

export type Playback = ReturnType<typeof createPlayback>;

/**
 * The agent's side of the line: cuts audio to frames of 20 ms, paces them, and keeps account of what was really heard.
 * Only marks prove that; the carrier also echoes the marks that a clear threw away, so those are forgotten first.
 */
export function createPlayback({ line, now, onPlayed, onAudioPlayed }: PlaybackDeps) {
  let items: Item[] = [];
  /** Marked and not echoed yet, oldest first. */
  let sections: Section[] = [];
  const spare: SentAudio[] = [];
  let open = noAudio();
  let lineEndsAtMs = 0;
  let markCount = 0;
  const dropped = new Set<string>();
  const playedMs = new Map<string, number>();

  function itemOf(id: string): Item | undefined {
    if (dropped.has(id)) return undefined;
    const known = items.find((item) => item.id === id);
    if (known !== undefined) return known;
    const item = { id, waiting: [], takenOfFirst: 0, waitingBytes: 0, sentMs: 0, ended: false };
    items.push(item);
    return item;
  }

  function recycle(audio: SentAudio): void {
    spare.push(Object.assign(audio, { frames: 0, starts: [] }));
  }

  function mark(item: Item, complete: boolean): void {
    const name = `m${++markCount}`;
    sections.push({ mark: name, itemId: item.id, audio: open, playedMs: item.sentMs, complete });
    open = spare.pop() ?? noAudio();
    line.mark(name);
  }

  /** Sends the next frame; false when there is none to send now. */
  function sendNext(): boolean {
    const item = items[0];
    if (item === undefined) return false;
    const at = open.frames * FRAME_BYTES;
    const frame = open.bytes.subarray(at, at + FRAME_BYTES);
    if (!takeFrame(item, frame)) {
      if (!item.ended) return false;
      mark(item, true);
      items.shift();
      return true;
    }
    line.media(frame);
    const last = open.starts.at(-1);
    const follows = last !== undefined && last.atMs + (open.frames - last.frame) * FRAME_MS === lineEndsAtMs;
    if (!follows) open.starts.push({ frame: open.frames, atMs: lineEndsAtMs });
    open.frames += 1;
    lineEndsAtMs += FRAME_MS;
    item.sentMs += FRAME_MS;
    if (open.frames >= FRAMES_PER_MARK) mark(item, false);
    return true;
  }

  return {
    /** Queues audio behind what is queued; audio of an item that was cleared is dropped. */
    enqueue(itemId: string, mulaw: Uint8Array): void {
      const item = itemOf(itemId);
      if (item === undefined || item.ended || mulaw.length === 0) return;
      item.waiting.push(mulaw);
      item.waitingBytes += mulaw.length;
    },

    endItem(itemId: string): void {
      const item = itemOf(itemId);
      if (item !== undefined) item.ended = true;
    },

    /**
     * Sends what is due. To be called every 20 to 100 ms.
     * @param nowMs the even beat that calls it, where there is one: by the uneven time at which a timer really fires, a
     *   frame would now and then be left to the next beat
     */
    pump(nowMs = now()): void {
      lineEndsAtMs = Math.max(lineEndsAtMs, nowMs);
      while (lineEndsAtMs - nowMs < LEAD_MS && sendNext());
    },

    /** The carrier echoed a mark: everything before it was played, unless it was cleared. */
    onMark(name: string): void {
      const index = sections.findIndex((section) => section.mark === name);
      if (index < 0) return;
      for (const section of sections.splice(0, index + 1)) {
        const { audio } = section;
        for (const [index, { frame, atMs }] of audio.starts.entries()) {
          const end = audio.starts[index + 1]?.frame ?? audio.frames;
          onAudioPlayed(audio.bytes.subarray(frame * FRAME_BYTES, end * FRAME_BYTES), atMs);
        }
        recycle(audio);
        playedMs.set(section.itemId, section.playedMs);
        if (section.complete) playedMs.delete(section.itemId);
        onPlayed(section.itemId, section.playedMs, section.complete);
      }
    },

    /** Drops everything not proven played, here and at the carrier. */
    clear(): void {
      const ids = new Set([...sections.map((section) => section.itemId), ...items.map((item) => item.id)]);
      if (ids.size === 0) return;
      items = [];
      for (const { audio } of sections) recycle(audio);
      recycle(open);
      sections = [];
      open = spare.pop() ?? noAudio();
      lineEndsAtMs = now();
      line.clear();
      for (const id of ids) {
        dropped.add(id);
        onPlayed(id, playedMs.get(id) ?? 0, false);
        playedMs.delete(id);
      }
    },

    /** Nothing is queued and nothing is on the way to the far end's ear. */
    isIdle(): boolean {
      return items.length === 0 && sections.length === 0;
    },

    /** Ms until all that is queued has been heard, if the carrier plays as it should. */
    remainingMs(): number {
      const queued = items.reduce((bytes, item) => bytes + item.waitingBytes, 0) / (FRAME_BYTES / FRAME_MS);
      return Math.max(0, lineEndsAtMs - now()) + queued;
    },
  };
}

function noAudio(): SentAudio {
  return { bytes: new Uint8Array(FRAMES_PER_MARK * FRAME_BYTES), frames: 0, starts: [] };
}

/** Fills a frame with the next 160 bytes, after the last ones of an ended item with silence. @returns false for none */
function takeFrame(item: Item, frame: Uint8Array): boolean {
  if (item.waitingBytes === 0 || (item.waitingBytes < FRAME_BYTES && !item.ended)) return false;
  let filled = 0;
  while (filled < FRAME_BYTES && item.waitingBytes > 0) {
    const [head] = item.waiting;
    if (head === undefined) break;
    const part = head.subarray(item.takenOfFirst, item.takenOfFirst + FRAME_BYTES - filled);
    frame.set(part, filled);
    filled += part.length;
    item.takenOfFirst += part.length;
    item.waitingBytes -= part.length;
    if (item.takenOfFirst < head.length) break;
    item.waiting.shift();
    item.takenOfFirst = 0;
  }
  frame.fill(MULAW_SILENCE, filled);
  return true;
}

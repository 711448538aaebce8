import { MULAW_SILENCE } from '../audio/mulaw.js';

export const FRAME_BYTES = 160;
export const FRAME_MS = 20;
/** Audio is handed to the carrier up to this much ahead: enough for jitter, little to throw away on a barge-in. */
const LEAD_MS = 360;
/** A mark after every 200 ms of audio tells how far the far end has come. */
const FRAMES_PER_MARK = 10;

/** What playback may send to the carrier. */
export interface PlaybackLine {
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
  /** A frame that the carrier has proven played, and where it stood on the line. */
  onFramePlayed: (frame: Uint8Array, atMs: number) => void;
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
  frames: { frame: Uint8Array; atMs: number }[];
  playedMs: number;
  complete: boolean;
}

export type Playback = ReturnType<typeof createPlayback>;

/**
 * The agent's side of the line: cuts audio to frames of 20 ms, paces them, and keeps account of what was really heard.
 * Only marks prove that; the carrier also echoes the marks that a clear threw away, so those are forgotten first.
 */
export function createPlayback({ line, now, onPlayed, onFramePlayed }: PlaybackDeps) {
  let items: Item[] = [];
  /** Marked and not echoed yet, oldest first. */
  let sections: Section[] = [];
  let open: Section['frames'] = [];
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

  function mark(item: Item, complete: boolean): void {
    const name = `m${++markCount}`;
    sections.push({ mark: name, itemId: item.id, frames: open, playedMs: item.sentMs, complete });
    open = [];
    line.mark(name);
  }

  /** Sends the next frame; false when there is none to send now. */
  function sendNext(): boolean {
    const item = items[0];
    if (item === undefined) return false;
    const frame = takeFrame(item);
    if (frame === undefined) {
      if (!item.ended) return false;
      mark(item, true);
      items.shift();
      return true;
    }
    line.media(frame);
    open.push({ frame, atMs: lineEndsAtMs });
    lineEndsAtMs += FRAME_MS;
    item.sentMs += FRAME_MS;
    if (open.length >= FRAMES_PER_MARK) mark(item, false);
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
        for (const { frame, atMs } of section.frames) onFramePlayed(frame, atMs);
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
      sections = [];
      open = [];
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

/** The next 160 bytes; the last ones of an ended item are filled up with silence. */
function takeFrame(item: Item): Uint8Array | undefined {
  if (item.waitingBytes === 0 || (item.waitingBytes < FRAME_BYTES && !item.ended)) return undefined;
  const frame = new Uint8Array(FRAME_BYTES);
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
  return filled < FRAME_BYTES ? frame.fill(MULAW_SILENCE, filled) : frame;
}

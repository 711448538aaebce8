import type { BackgroundSound } from '../audio/background-sound.js';
import { FRAME_BYTES, FRAME_MS } from '../audio/frame.js';
import { MULAW_SILENCE } from '../audio/mulaw.js';
import { createUnconfirmedAudio, type OnAudioPlayed } from './unconfirmed-audio.js';

/** How far ahead audio is sent to the carrier: enough to bridge jitter, but little to discard on a barge-in. */
const LEAD_MS = 360;
/** How far ahead the background of a pause is sent: little, because the agent's next words wait behind it. */
const PAUSE_LEAD_MS = 60;

/** The messages that playback sends to the carrier. */
export interface PlaybackLine {
  /** @param frame valid only until this returns; its memory is reused */
  media(frame: Uint8Array): void;
  mark(name: string): void;
  clear(): void;
}

export interface PlaybackDeps {
  line: PlaybackLine;
  /** Time in ms since the start of the stream, on a monotonic clock. */
  now: () => number;
  /** Reports how much of an item was played, in ms; `complete` when all of it was. */
  onPlayed: (itemId: string, playedMs: number, complete: boolean) => void;
  /** Sent under the agent's voice and in its pauses; absent if the agent has none. */
  background?: BackgroundSound | undefined;
  /** Receives audio that the carrier has confirmed as played, without background; its memory is reused. */
  onAudioPlayed: OnAudioPlayed;
}

interface Item {
  id: string;
  waiting: Uint8Array[];
  /** How many bytes of the first waiting chunk were already sent. */
  takenOfFirst: number;
  waitingBytes: number;
  sentMs: number;
  ended: boolean;
}

export type Playback = ReturnType<typeof createPlayback>;

/**
 * Plays the agent's audio: splits it into frames of 20 ms, paces them, and tracks what was really played. Only marks
 * confirm playback. The carrier returns the marks of cleared audio, too, so `clear` forgets these marks first.
 */
export function createPlayback({ line, now, background, onPlayed, onAudioPlayed }: PlaybackDeps) {
  let items: Item[] = [];
  const unconfirmed = createUnconfirmedAudio(onAudioPlayed);
  let lineEndsAtMs = 0;
  let firstSentAtMs: number | undefined;
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
    line.mark(unconfirmed.mark(item.id, item.sentMs, complete));
  }

  /** Sends the next frame or the final mark of an item; false if nothing can be sent now. */
  function sendNext(): boolean {
    const item = items[0];
    if (item === undefined) return false;
    const frame = unconfirmed.nextFrame();
    if (!takeFrame(item, frame)) {
      if (!item.ended) return false;
      mark(item, true);
      items.shift();
      return true;
    }
    line.media(background === undefined ? frame : background.under(frame));
    firstSentAtMs ??= now();
    const isMarkDue = unconfirmed.sent(lineEndsAtMs);
    lineEndsAtMs += FRAME_MS;
    item.sentMs += FRAME_MS;
    if (isMarkDue) mark(item, false);
    return true;
  }

  /** Sends the background of a pause. No mark confirms it, and a barge-in clears it with the rest. */
  function fillPause(nowMs: number, sound: BackgroundSound): void {
    for (; lineEndsAtMs - nowMs < PAUSE_LEAD_MS; lineEndsAtMs += FRAME_MS) line.media(sound.alone());
  }

  return {
    /** Queues audio; drops audio of an item that was cleared. */
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
     * Sends the frames that are due. Call it every 20 to 100 ms.
     * @param nowMs the time at which the frame clock's tick was due. With the current time, a frame would sometimes
     * wait for the next tick, because timers fire up to some ms late.
     */
    pump(nowMs = now()): void {
      lineEndsAtMs = Math.max(lineEndsAtMs, nowMs);
      while (lineEndsAtMs - nowMs < LEAD_MS && sendNext());
      if (background !== undefined) fillPause(nowMs, background);
    },

    /** Whether the first audio was sent at least this long ago. */
    hasSentFor: (ms: number): boolean => firstSentAtMs !== undefined && now() - firstSentAtMs >= ms,

    /** Handles a mark from the carrier, which says that all audio before the mark was played or cleared. */
    onMark(name: string): void {
      unconfirmed.confirm(name, ({ itemId, playedMs: itemPlayedMs, complete }) => {
        if (complete) playedMs.delete(itemId);
        else playedMs.set(itemId, itemPlayedMs);
        onPlayed(itemId, itemPlayedMs, complete);
      });
    },

    /** Drops all audio that is not confirmed as played, both queued audio and audio buffered by the carrier. */
    clear(): void {
      const ids = new Set([...unconfirmed.itemIds(), ...items.map((item) => item.id)]);
      if (ids.size === 0) return;
      items = [];
      unconfirmed.forget();
      lineEndsAtMs = now();
      line.clear();
      for (const id of ids) {
        dropped.add(id);
        onPlayed(id, playedMs.get(id) ?? 0, false);
        playedMs.delete(id);
      }
    },

    /** Whether no audio is queued or unconfirmed. */
    isIdle(): boolean {
      return items.length === 0 && unconfirmed.isEmpty();
    },

    /** Time in ms until all queued audio has been played, if the carrier plays without delay. */
    remainingMs(): number {
      const queued = items.reduce((bytes, item) => bytes + item.waitingBytes, 0) / (FRAME_BYTES / FRAME_MS);
      return Math.max(0, lineEndsAtMs - now()) + queued;
    },
  };
}

/** Fills a frame with the next 160 bytes, padding the end of an item with silence. @returns false if none are ready */
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

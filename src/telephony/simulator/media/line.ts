import { FRAME_BYTES } from '../../../voice/audio/frame.js';
import { MULAW_SILENCE } from '../../../voice/audio/mulaw.js';
import type { FarEnd } from '../far-ends/port.js';
import type { Ticker } from './ticker.js';

/** Receives the events of a line; implemented by a media stream. */
export interface LineListener {
  /** 20 ms of the remote party's audio. */
  frame(frame: Uint8Array): void;
  /** The remote party pressed a DTMF key. */
  digit(digit: string): void;
  /** The audio queued before the mark was played or cleared. */
  mark(name: string): void;
}

/** The audio line to the remote party while the call is answered. It plays and records in real time. */
export interface Line {
  open(): void;
  close(): void;
  /** @returns a function that detaches the listener and discards the audio that is still queued */
  attach(listener: LineListener): () => void;
  /** Queues mu-law audio; false when the buffer is full. */
  play(mulaw: Uint8Array): boolean;
  mark(name: string): void;
  clear(): void;
  press(digit: string): void;
  /**
   * Connects the remote party with another one instead of playing queued audio. @returns a function that disconnects
   * them
   */
  bridge(other: FarEnd): () => void;
  /** The audio that the remote party has heard, as mu-law, limited to the first ten minutes. */
  heard(): Buffer;
  /** Discards the recording and stops recording. */
  forget(): void;
}

type Item = { mark: string } | { audio: Uint8Array; at: number };

const MAX_QUEUED_BYTES = 600 * 8_000;
const MAX_HEARD_BYTES = 600 * 8_000;

export function createLine(deps: {
  farEnd: FarEnd;
  ticker: Ticker;
  /** Whether the next frame to the remote party is lost. */
  losesFrame(): boolean;
}): Line {
  const queue: Item[] = [];
  const heard: Uint8Array[] = [];
  const silence = new Uint8Array(FRAME_BYTES).fill(MULAW_SILENCE);
  let queuedBytes = 0;
  let heardBytes = 0;
  let listener: LineListener | undefined;
  let other: FarEnd | undefined;
  let stop: (() => void) | undefined;

  /** Returns the marks at the head of the queue, which have no audio left before them. */
  function echoMarks(): void {
    for (let head = queue[0]; head !== undefined && 'mark' in head; head = queue[0]) {
      queue.shift();
      listener?.mark(head.mark);
    }
  }

  /** The next 20 ms to play. A frame ends at a mark, so that no mark returns before its audio is played. */
  function nextFrame(): Uint8Array | undefined {
    echoMarks();
    if (queue.length === 0) return undefined;
    const frame = new Uint8Array(FRAME_BYTES).fill(MULAW_SILENCE);
    let filled = 0;
    for (let head = queue[0]; head !== undefined && 'audio' in head && filled < FRAME_BYTES; head = queue[0]) {
      const part = head.audio.subarray(head.at, head.at + FRAME_BYTES - filled);
      frame.set(part, filled);
      filled += part.length;
      head.at += part.length;
      if (head.at >= head.audio.length) queue.shift();
    }
    queuedBytes -= filled;
    return frame;
  }

  function tick(): void {
    const playing = other === undefined ? received(nextFrame()) : other.speak();
    if (heardBytes < MAX_HEARD_BYTES) {
      heard.push(playing ?? silence);
      heardBytes += FRAME_BYTES;
    }
    deps.farEnd.hear(playing);
    const said = deps.farEnd.speak();
    other?.hear(said);
    listener?.frame(said ?? silence);
  }

  function received(frame: Uint8Array | undefined): Uint8Array | undefined {
    return frame !== undefined && deps.losesFrame() ? silence : frame;
  }

  function clear(): void {
    const marks = queue.filter((item) => 'mark' in item);
    queue.length = 0;
    queuedBytes = 0;
    deps.farEnd.cleared();
    for (const item of marks) listener?.mark(item.mark);
  }

  return {
    open() {
      stop ??= deps.ticker.add(tick);
    },
    close() {
      stop?.();
      stop = undefined;
      listener = undefined;
      deps.farEnd.close();
    },
    attach(next) {
      listener = next;
      return () => {
        if (listener !== next) return;
        listener = undefined;
        queue.length = 0;
        queuedBytes = 0;
      };
    },
    play(mulaw) {
      if (queuedBytes + mulaw.length > MAX_QUEUED_BYTES) return false;
      queue.push({ audio: mulaw, at: 0 });
      queuedBytes += mulaw.length;
      return true;
    },
    mark(name) {
      queue.push({ mark: name });
      echoMarks();
    },
    clear,
    press: (digit) => listener?.digit(digit),
    bridge(party) {
      other = party;
      return () => {
        if (other === party) other = undefined;
        party.close();
      };
    },
    heard: () => Buffer.concat(heard),
    forget() {
      heard.length = 0;
      heardBytes = MAX_HEARD_BYTES;
    },
  };
}

import { FRAME_BYTES } from '../../../voice/audio/frame.js';
import { MULAW_SILENCE } from '../../../voice/audio/mulaw.js';
import type { RemoteParty } from '../remote-parties/port.js';
import type { LineRecording } from './line-recordings.js';
import type { Ticker } from './ticker.js';

/** Receives the events of an audio line; implemented by a media stream. */
export interface LineListener {
  /** Receives 20 ms of the remote party's audio. */
  frame(frame: Uint8Array): void;
  /** The remote party pressed a DTMF key. */
  digit(digit: string): void;
  /** The audio queued before this mark was played or cleared. */
  mark(name: string): void;
}

/** The audio connection to the remote party of an answered call. It plays and records in real time. */
export interface Line {
  open(): void;
  close(): void;
  /** @returns a function that detaches the listener and discards the audio that is still queued */
  attach(listener: LineListener): () => void;
  /** Queues mu-law audio. Returns false when the buffer is full. */
  play(mulaw: Uint8Array): boolean;
  mark(name: string): void;
  clear(): void;
  pressDigit(digit: string): void;
  /**
   * Connects the remote party with another one. Queued audio is not played meanwhile. @returns a function that
   * disconnects them
   */
  bridge(other: RemoteParty): () => void;
  /** Returns what the remote party has heard and is still kept. */
  recordedAudio(): Buffer;
}

type Item = { mark: string } | { audio: Uint8Array; at: number };

const MAX_QUEUED_BYTES = 600 * 8_000;

export function createLine(deps: {
  remoteParty: RemoteParty;
  ticker: Ticker;
  recording: LineRecording;
  /** Whether the next frame to the remote party is lost. */
  isFrameLost(): boolean;
}): Line {
  const queue: Item[] = [];
  const silence = new Uint8Array(FRAME_BYTES).fill(MULAW_SILENCE);
  let queuedBytes = 0;
  let listener: LineListener | undefined;
  let other: RemoteParty | undefined;
  let stop: (() => void) | undefined;

  /** Reports the marks at the start of the queue, which have no audio before them. */
  function echoMarks(): void {
    for (let head = queue[0]; head !== undefined && 'mark' in head; head = queue[0]) {
      queue.shift();
      listener?.mark(head.mark);
    }
  }

  /** Returns the next 20 ms to play. A frame ends at a mark, so that no mark is reported before its audio is played. */
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
    const playing = other === undefined ? withPacketLoss(nextFrame()) : other.nextFrame();
    deps.recording.add(playing ?? silence);
    deps.remoteParty.receiveFrame(playing);
    const said = deps.remoteParty.nextFrame();
    other?.receiveFrame(said);
    listener?.frame(said ?? silence);
  }

  function withPacketLoss(frame: Uint8Array | undefined): Uint8Array | undefined {
    return frame !== undefined && deps.isFrameLost() ? silence : frame;
  }

  function clear(): void {
    const marks = queue.filter((item) => 'mark' in item);
    queue.length = 0;
    queuedBytes = 0;
    deps.remoteParty.playbackCleared();
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
      deps.remoteParty.close();
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
    pressDigit: (digit) => listener?.digit(digit),
    bridge(party) {
      other = party;
      return () => {
        if (other === party) other = undefined;
        party.close();
      };
    },
    recordedAudio: () => deps.recording.audio(),
  };
}

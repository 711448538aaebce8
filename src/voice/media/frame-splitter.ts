import { FRAME_BYTES, FRAME_MS } from '../audio/frame.js';
import { MULAW_SILENCE } from '../audio/mulaw.js';

export interface CallerFrame {
  frame: Uint8Array;
  /** Time of the frame, in ms since the start of the stream. */
  atMs: number;
}

/** If a timestamp differs from our clock by more than this, it does not count from the start of the stream. */
const BELIEVABLE_MS = 10_000;

/**
 * Splits the carrier's audio into frames of 20 ms, with times from the start of the stream. Uses the carrier's
 * timestamps. If they do not count from the start of the stream, they are shifted so that the first one is the time of
 * its arrival.
 */
export function createFrameSplitter(now: () => number): (mulaw: Uint8Array, timestampMs: number) => CallerFrame[] {
  let base: number | undefined;

  return (mulaw, timestampMs) => {
    const nowMs = now();
    base ??= Math.abs(timestampMs - nowMs) > BELIEVABLE_MS ? timestampMs - nowMs : 0;
    let atMs = timestampMs - base;
    if (atMs < 0 || atMs > nowMs + BELIEVABLE_MS) atMs = nowMs;
    const frames: CallerFrame[] = [];
    for (let offset = 0; offset < mulaw.length; offset += FRAME_BYTES, atMs += FRAME_MS) {
      frames.push({ frame: padded(mulaw.subarray(offset, offset + FRAME_BYTES)), atMs });
    }
    return frames;
  };
}

function padded(part: Uint8Array): Uint8Array {
  if (part.length === FRAME_BYTES) return part;
  const frame = new Uint8Array(FRAME_BYTES).fill(MULAW_SILENCE);
  frame.set(part);
  return frame;
}

import { FRAME_BYTES, FRAME_MS } from '../audio/frame.js';
import { MULAW_SILENCE } from '../audio/mulaw.js';

export interface CallerFrame {
  frame: Uint8Array;
  /** Ms from the start of the stream. */
  atMs: number;
}

/** A timestamp further from our own clock than this is not counted from the stream's start. */
const BELIEVABLE_MS = 10_000;

/**
 * Cuts the carrier's chunks into frames of 20 ms on the stream's time line. The carrier's timestamps lead; where they do
 * not count from the start of the stream, the first one is taken as the time it arrived at.
 */
export function framesOf(now: () => number): (mulaw: Uint8Array, timestampMs: number) => CallerFrame[] {
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

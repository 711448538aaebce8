import { FRAME_BYTES, FRAME_MS } from '../audio/frame.js';
import { MULAW_SILENCE } from '../audio/mulaw.js';

export interface CallerFrame {
  frame: Uint8Array;
  /** Ms from the start of the stream. */
  atMs: number;
}

/** If a timestamp differs from our clock by more than this, it does not count from the start of the stream. */
const BELIEVABLE_MS = 10_000;

/**
 * Splits the carrier's audio into frames of 20 ms on the stream's timeline, by the carrier's timestamps. If those do
 * not count from the start of the stream, the first one is taken as its time of arrival.
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

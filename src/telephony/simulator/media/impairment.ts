import { MULAW_SILENCE } from '../../../voice/audio/mulaw.js';
import type { StreamFaults } from '../scenario.js';

/**
 * Simulates what networks and carriers do to the audio of one call: packet loss, jitter, stalls, silence that is not
 * sent and wrong timestamps. The random sequence is the same in every run, so that faults are reproducible.
 */
export interface Impairment {
  isFrameLost(): boolean;
  /** Whether the carrier does not send this frame of the remote party, because it is silent. */
  isFrameOmitted(frame: Uint8Array): boolean;
  /** Delay of the next message in ms. @param streamMs time since the start of the stream */
  delayMs(streamMs: number): number;
  /** The timestamp of a frame. @param streamMs its time since the start of the stream */
  timestampOf(streamMs: number): number;
}

const SEED = 0x5eed;

/** @param timeScale factor for the times of a stall and of a jump of the timestamps */
export function createImpairment(faults: StreamFaults, timeScale = 1): Impairment {
  const { lossPercent, jitterMs, omitsSilence, stall, timestampJump } = faults;
  const losses = createRandom(SEED);
  const delays = createRandom(SEED + 1);
  const scaledMs = (seconds: number) => seconds * 1_000 * timeScale;
  const stallMs = stall && {
    from: scaledMs(stall.afterSeconds),
    to: scaledMs(stall.afterSeconds + stall.forSeconds),
  };
  const jumpMs = timestampJump && { from: scaledMs(timestampJump.afterSeconds), by: timestampJump.byMs };
  return {
    isFrameLost: () => lossPercent > 0 && losses() * 100 < lossPercent,
    isFrameOmitted: (frame) => omitsSilence && frame.every((byte) => byte === MULAW_SILENCE),
    delayMs(streamMs) {
      const isStalled = stallMs !== undefined && streamMs >= stallMs.from && streamMs < stallMs.to;
      return (isStalled ? stallMs.to - streamMs : 0) + (jitterMs > 0 ? delays() * jitterMs : 0);
    },
    timestampOf(streamMs) {
      const byMs = jumpMs !== undefined && streamMs >= jumpMs.from ? jumpMs.by : 0;
      return Math.max(0, streamMs + byMs);
    },
  };
}

/**
 * Marsaglia's 32-bit xorshift generator.
 * @returns a function that returns numbers from 0 (inclusive) to 1 (exclusive)
 */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 0x1_0000_0000;
  };
}

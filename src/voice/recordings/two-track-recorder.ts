import { MULAW_SILENCE } from '../audio/mulaw.js';
import type { RecordingWriter } from './recording-writer.js';

const SAMPLES_PER_MS = 8;
const BYTES_PER_SAMPLE_PAIR = 2;
const BLOCK_MS = 1_000;
const BLOCK_SAMPLES = BLOCK_MS * SAMPLES_PER_MS;
const BLOCK_BYTES = BLOCK_SAMPLES * BYTES_PER_SAMPLE_PAIR;
/**
 * How many blocks, of one second each, a frame may be ahead of the block to be written next. A frame further ahead is
 * dropped as implausible.
 */
const MAX_BLOCKS_AHEAD = 60;
/** Delay before a block is written, so that late frames fit in. Jitter and the round trip of marks make frames late. */
const HOLD_BACK_MS = 2_000;

type Track = 'caller' | 'agent';
const OFFSET: Record<Track, number> = { caller: 0, agent: 1 };

export type TwoTrackRecorder = ReturnType<typeof createTwoTrackRecorder>;

/** Writes a stereo recording: the caller on the left, the agent on the right, and silence where no audio arrived. */
export function createTwoTrackRecorder(writer: RecordingWriter) {
  const blocks = new Map<number, Uint8Array>();
  /** Buffers to reuse, because a new one per second and call would keep the garbage collector busy. */
  const spare: Uint8Array[] = [];
  let written = 0;

  function blockAt(index: number): Uint8Array {
    const known = blocks.get(index);
    if (known !== undefined) return known;
    const block = (spare.pop() ?? new Uint8Array(BLOCK_BYTES)).fill(MULAW_SILENCE);
    blocks.set(index, block);
    return block;
  }

  function writeNext(bytes = BLOCK_BYTES): void {
    const block = blockAt(written);
    writer.write(block.subarray(0, bytes));
    blocks.delete(written);
    spare.push(block);
    written += 1;
  }

  return {
    /**
     * Adds a frame at its time, in ms since the start of the stream. Drops a frame that is too late or far too early.
     */
    put(track: Track, mulaw: Uint8Array, atMs: number): void {
      const first = Math.round(atMs * SAMPLES_PER_MS);
      for (let done = 0; done < mulaw.length;) {
        const index = Math.floor((first + done) / BLOCK_SAMPLES);
        const start = first + done - index * BLOCK_SAMPLES;
        const count = Math.min(mulaw.length - done, BLOCK_SAMPLES - start);
        if (index >= written && index <= written + MAX_BLOCKS_AHEAD) {
          lay(mulaw, done, count, blockAt(index), start * BYTES_PER_SAMPLE_PAIR + OFFSET[track]);
        }
        done += count;
      }
    },

    /**
     * Writes the next second of audio once no late frame can change it. Call it many times a second. Each call writes
     * at most one second, because after the process was blocked, this may run before the frames that arrived meanwhile
     * are read.
     */
    advance(nowMs: number): void {
      if ((written + 1) * BLOCK_MS + HOLD_BACK_MS <= nowMs) writeNext();
    },

    /** Writes the rest, up to the length of the call in ms. @throws the errors of the writer */
    async close(lengthMs: number): Promise<void> {
      while ((written + 1) * BLOCK_MS <= lengthMs) writeNext();
      const rest = Math.round((lengthMs - written * BLOCK_MS) * SAMPLES_PER_MS) * BYTES_PER_SAMPLE_PAIR;
      if (rest > 0) writeNext(rest);
      await writer.close();
    },
  };
}

/** Copies mu-law bytes to every second byte of a block. Its loop must be fast: it copies 16,000 bytes a second for each call. */
function lay(mulaw: Uint8Array, from: number, count: number, block: Uint8Array, at: number): void {
  for (let i = from, offset = at; i < from + count; i++, offset += BYTES_PER_SAMPLE_PAIR) {
    block[offset] = mulaw[i] ?? MULAW_SILENCE;
  }
}

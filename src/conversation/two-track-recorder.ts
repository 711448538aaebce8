import { decodeMulaw } from '../audio/mulaw.js';
import type { RecordingWriter } from '../store/recording-writer.js';

const SAMPLES_PER_MS = 8;
const BYTES_PER_SAMPLE_PAIR = 4;
const BLOCK_MS = 1_000;
const BLOCK_BYTES = BLOCK_MS * SAMPLES_PER_MS * BYTES_PER_SAMPLE_PAIR;
/** A block is kept back this long for frames that come late: the carrier's jitter, the way of a mark. */
const HOLD_BACK_MS = 2_000;

type Track = 'caller' | 'agent';
const OFFSET: Record<Track, number> = { caller: 0, agent: 2 };

export type TwoTrackRecorder = ReturnType<typeof createTwoTrackRecorder>;

/** Lays both sides of a call on one time line: left the caller, right the agent, silence where nothing came. */
export function createTwoTrackRecorder(writer: RecordingWriter) {
  const blocks = new Map<number, Buffer>();
  let written = 0;

  function blockAt(index: number): Buffer {
    const known = blocks.get(index);
    if (known !== undefined) return known;
    const block = Buffer.alloc(BLOCK_BYTES);
    blocks.set(index, block);
    return block;
  }

  function writeNext(bytes = BLOCK_BYTES): void {
    writer.write((blocks.get(written) ?? Buffer.alloc(BLOCK_BYTES)).subarray(0, bytes));
    blocks.delete(written);
    written += 1;
  }

  return {
    /** Lays a frame at its time, in ms from the start of the stream; one that is too late or absurdly early is dropped. */
    put(track: Track, mulaw: Uint8Array, atMs: number): void {
      const first = Math.round(atMs * SAMPLES_PER_MS);
      const samplesPerBlock = BLOCK_MS * SAMPLES_PER_MS;
      decodeMulaw(mulaw).forEach((sample, i) => {
        const index = Math.floor((first + i) / samplesPerBlock);
        if (index < written || index > written + 60) return;
        const offset = ((first + i) % samplesPerBlock) * BYTES_PER_SAMPLE_PAIR + OFFSET[track];
        blockAt(index).writeInt16LE(sample, offset);
      });
    },

    /** Hands on what no frame can change any more. */
    advance(nowMs: number): void {
      while ((written + 1) * BLOCK_MS + HOLD_BACK_MS <= nowMs) writeNext();
    },

    /** Writes the rest up to the length of the call. @throws as the writer does */
    async close(lengthMs: number): Promise<void> {
      while ((written + 1) * BLOCK_MS <= lengthMs) writeNext();
      const rest = Math.round((lengthMs - written * BLOCK_MS) * SAMPLES_PER_MS) * BYTES_PER_SAMPLE_PAIR;
      if (rest > 0) writeNext(rest);
      await writer.close();
    },
  };
}

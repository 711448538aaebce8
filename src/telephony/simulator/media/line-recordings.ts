/** The recording of what a remote party hears, as mu-law. */
export interface LineRecording {
  /** Adds 20 ms. */
  add(frame: Uint8Array): void;
  /** Returns the recording, at most its first ten minutes; nothing if it was dropped. */
  audio(): Buffer;
}

/** The recordings of all lines, in memory. */
export interface LineRecordings {
  start(): LineRecording;
}

/** One second. Memory is allocated in blocks, because a frame by itself takes four times the size of its audio. */
const BLOCK_BYTES = 8_000;
const MAX_BYTES_OF_LINE = 600 * BLOCK_BYTES;
/** All recordings together: 100 minutes. */
export const MAX_RECORDED_BYTES = 6_000 * BLOCK_BYTES;

/**
 * Creates the recordings. When they are full, the oldest one is dropped, and what follows of its line is not recorded.
 * @param maxBytes of all recordings together; 0: nothing is recorded
 */
export function createLineRecordings(maxBytes: number): LineRecordings {
  /** The blocks of each recording with audio, oldest first. */
  const kept = new Set<Uint8Array[]>();
  let bytes = 0;

  function grow(blocks: Uint8Array[]): void {
    kept.add(blocks);
    blocks.push(new Uint8Array(BLOCK_BYTES));
    bytes += BLOCK_BYTES;
    for (const oldest of kept) {
      if (bytes <= maxBytes) return;
      kept.delete(oldest);
      bytes -= oldest.length * BLOCK_BYTES;
      oldest.length = 0;
    }
  }

  return {
    start() {
      const blocks: Uint8Array[] = [];
      let length = 0;
      const isDropped = () => length > 0 && blocks.length === 0;
      return {
        add(frame) {
          if (isDropped() || length >= MAX_BYTES_OF_LINE) return;
          if (length % BLOCK_BYTES === 0) grow(blocks);
          blocks.at(-1)?.set(frame, length % BLOCK_BYTES);
          length += frame.length;
        },
        audio: () => (isDropped() ? Buffer.alloc(0) : Buffer.concat(blocks).subarray(0, length)),
      };
    },
  };
}

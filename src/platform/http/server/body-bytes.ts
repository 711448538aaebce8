/** Initial size of the buffer, in bytes. */
const RESERVED = 1_024;

/**
 * Collects the bytes of a body in one buffer that grows. A list of the received chunks could take 330 times the memory
 * of their bytes, because a chunk may have only one byte.
 */
export function createBodyBytes() {
  let buffer = Buffer.alloc(0);
  let size = 0;
  return {
    size: () => size,
    add(piece: Uint8Array): void {
      if (size + piece.length > buffer.length) {
        const larger = Buffer.allocUnsafe(Math.max(RESERVED, 2 * buffer.length, size + piece.length));
        buffer.copy(larger, 0, 0, size);
        buffer = larger;
      }
      buffer.set(piece, size);
      size += piece.length;
    },
    /** Discards all bytes. */
    clear(): void {
      buffer = Buffer.alloc(0);
      size = 0;
    },
    /** @returns all bytes so far, in memory that later bytes share */
    bytes: () => buffer.subarray(0, size),
  };
}

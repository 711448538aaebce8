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

/**
 * Reads a body to its end, so that its sender receives the response.
 * @returns undefined if the body is larger than `limit` bytes
 */
export async function readBodyUpTo(
  limit: number,
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<Buffer | undefined> {
  const collected = createBodyBytes();
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size <= limit) collected.add(chunk);
  }
  return size > limit ? undefined : collected.bytes();
}

/** Number of body chunks that a connection may send at once, whatever their size. */
const AT_ONCE = 500;
/** A connection may send one more chunk each time it has sent this many bytes. */
const BYTES_PER_PIECE = 64;
/** Number of small chunks per second that are always allowed, for a client that streams slowly. */
const PER_SECOND = 64;

/**
 * Limits the number of chunks in one connection's request bodies. A chunk of one byte takes six bytes on the wire, as
 * much time as a large one, and 330 bytes of memory until the body is read.
 * @param now a clock in ms
 */
export function createPieceAllowance(now: () => number = () => performance.now()) {
  let left = AT_ONCE;
  let at = now();
  return {
    /** @returns whether the connection has sent no more chunks than its bytes and its time allow */
    take(pieces: number, bytes: number): boolean {
      const earlier = at;
      at = now();
      const earned = bytes / BYTES_PER_PIECE + ((at - earlier) / 1_000) * PER_SECOND;
      left = Math.min(AT_ONCE, left + earned) - pieces;
      return left >= 0;
    },
  };
}

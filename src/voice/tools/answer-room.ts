/** What answers of tools may hold at once, as JSON, and how much room each minute gives back. */
const BYTES_AT_ONCE = 65_536;
const BYTES_PER_MINUTE = 32_768;
const MINUTE_MS = 60_000;

export type AnswerRoom = ReturnType<typeof createAnswerRoom>;

/**
 * How much of what servers answer a model may read in one call: it is sent all of it again at each round, at the operator's
 * cost, while the call is paid by the minute. Room that is not used does not add up beyond the first.
 * @param now ms
 */
export function createAnswerRoom(now: () => number) {
  let left = BYTES_AT_ONCE;
  let atMs = now();
  return {
    /** Takes room for an answer. @returns false, and takes none, when there is too little */
    takes(answer: unknown): boolean {
      const minutes = (now() - atMs) / MINUTE_MS;
      atMs = now();
      left = Math.min(BYTES_AT_ONCE, left + minutes * BYTES_PER_MINUTE);
      const bytes = Buffer.byteLength(JSON.stringify(answer));
      if (bytes > left) return false;
      left -= bytes;
      return true;
    },
  };
}

/** Budget for tool results in bytes of JSON: the initial maximum, and what each minute adds. */
const BYTES_AT_ONCE = 65_536;
const BYTES_PER_MINUTE = 32_768;
const MINUTE_MS = 60_000;

export type AnswerRoom = ReturnType<typeof createAnswerRoom>;

/**
 * Limits the tool results that a model reads in one call: each round sends all of them to the model again, at the
 * operator's cost, while the call is billed by the minute. The unused budget never exceeds the initial maximum.
 * @param now current time in ms
 */
export function createAnswerRoom(now: () => number) {
  let left = BYTES_AT_ONCE;
  let atMs = now();
  return {
    /** Charges a result to the budget. @returns false, and charges nothing, if the budget is too small */
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

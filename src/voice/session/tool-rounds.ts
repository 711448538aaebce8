/** Rounds of tools that a call may have at once, and how many each full minute of talk adds. */
const ROUNDS_AT_START = 20;
const ROUNDS_PER_MINUTE = 10;
const MINUTE_MS = 60_000;

export type ToolRounds = ReturnType<typeof createToolRounds>;

/**
 * Counts the rounds of tools of one call. After each the model is sent the whole prompt again, at the operator's cost,
 * while the call is paid by the minute: so the number of rounds grows with the talk.
 * @param now ms since the talk began
 */
export function createToolRounds(now: () => number) {
  let used = 0;
  return {
    /** Whether the model may call tools now. */
    hasRoom: () => used < ROUNDS_AT_START + ROUNDS_PER_MINUTE * Math.floor(now() / MINUTE_MS),
    /** The model is asked once more after tools were called. */
    count(): void {
      used += 1;
    },
  };
}
